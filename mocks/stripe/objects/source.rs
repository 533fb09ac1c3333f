//! Sources: the older way to pay by something else than a card.

use std::sync::Arc;

use serde::Serialize;

use super::{Billing, PaymentSource, Resource, Shown, Source};
use crate::mocks::stripe::cards::Card;
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::ids::letters;
use crate::mocks::stripe::metadata::Metadata;
use crate::store::{Object, Tx};

/// Is an object of the Sources API.
#[derive(Clone, Debug)]
pub(crate) struct SourceObject {
    pub(crate) id: Arc<str>,
    pub(crate) created: i64,
    pub(crate) by: By,
    pub(crate) status: Status,
    pub(crate) single_use: bool,
    pub(crate) amount: Option<i64>,
    pub(crate) currency: Option<Currency>,
    pub(crate) customer: Option<Arc<str>>,
    pub(crate) owner: Option<Arc<Billing>>,
    pub(crate) statement_descriptor: Option<Box<str>>,
    pub(crate) metadata: Metadata,
}

/// Says by what it pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    AchCreditTransfer {
        /// Who names the account to which money goes back.
        refunds: &'static str,
    },
    Card(Card),
    Wechat,
}

/// Says whether it can be charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Pending,
    Chargeable,
    Consumed,
}

impl Object for SourceObject {
    const TABLE: &'static str = "stripe.sources";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl By {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::AchCreditTransfer { .. } => "ach_credit_transfer",
            Self::Card(_) => "card",
            Self::Wechat => "wechat",
        }
    }
}

impl Status {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Chargeable => "chargeable",
            Self::Consumed => "consumed",
        }
    }
}

impl SourceObject {
    /// Returns what lets a browser see it.
    pub(crate) fn client_secret(&self) -> String {
        format!(
            "src_client_secret_{}",
            letters(&[b"source secret", self.id.as_bytes()], 24)
        )
    }

    /// Returns the card that can be charged.
    pub(crate) fn card(&self) -> Option<Card> {
        match self.by {
            By::Card(card) if self.status == Status::Chargeable => Some(card),
            _ => None,
        }
    }
}

impl Resource for SourceObject {
    const WORD: &'static str = "source";
    const OBJECT: &'static str = "source";

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id)
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn show<'s>(&'s self, _: &'s Shown) -> impl Serialize + 's {
        self.json()
    }
}

impl SourceObject {
    pub(crate) fn json(&self) -> Json<'_> {
        let id = self.id.as_bytes();
        let made = |what: &[u8], length| letters(&[what, id], length);
        let transfer = match self.by {
            By::AchCreditTransfer { refunds } => Some((Transfer::of(id), Receiver::of(id, refunds))),
            _ => None,
        };
        let (ach_credit_transfer, receiver) = transfer.unzip();
        Json {
            id: &self.id,
            object: "source",
            ach_credit_transfer,
            allow_redisplay: (),
            amount: self.amount,
            card: match self.by {
                By::Card(card) => Some(CardJson::of(&card, self.owner.as_deref())),
                _ => None,
            },
            client_secret: self.client_secret(),
            created: self.created,
            currency: self.currency,
            customer: self.customer.as_deref(),
            flow: if receiver.is_some() { "receiver" } else { "none" },
            livemode: false,
            metadata: &self.metadata,
            owner: Owner::of(self.owner.as_deref()),
            receiver,
            statement_descriptor: self.statement_descriptor.as_deref(),
            status: self.status.as_str(),
            kind: self.by.as_str(),
            usage: if self.single_use { "single_use" } else { "reusable" },
            wechat: (self.by == By::Wechat).then(|| Wechat {
                qr_code_url: format!("weixin://wxpay/bizpayurl?pr={}", made(b"wechat", 7)),
                statement_descriptor: self.statement_descriptor.as_deref().unwrap_or("ACKDROP"),
            }),
        }
    }
}

impl From<Arc<SourceObject>> for PaymentSource {
    fn from(source: Arc<SourceObject>) -> Self {
        Self::Source(source)
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Json<'s> {
    id: &'s str,
    object: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ach_credit_transfer: Option<Transfer>,
    allow_redisplay: (),
    amount: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    card: Option<CardJson<'s>>,
    client_secret: String,
    created: i64,
    currency: Option<Currency>,
    #[serde(skip_serializing_if = "Option::is_none")]
    customer: Option<&'s str>,
    flow: &'static str,
    livemode: bool,
    metadata: &'s Metadata,
    owner: Owner<'s>,
    #[serde(skip_serializing_if = "Option::is_none")]
    receiver: Option<Receiver>,
    statement_descriptor: Option<&'s str>,
    status: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    usage: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    wechat: Option<Wechat<'s>>,
}

#[derive(Debug, Serialize)]
struct Owner<'s> {
    address: Option<&'s super::Address>,
    email: Option<&'s str>,
    name: Option<&'s str>,
    phone: Option<&'s str>,
    verified_address: (),
    verified_email: (),
    verified_name: (),
    verified_phone: (),
}

impl<'s> Owner<'s> {
    fn of(owner: Option<&'s Billing>) -> Self {
        Self {
            address: owner.map(|o| &o.address),
            email: owner.and_then(|o| o.email.as_deref()),
            name: owner.and_then(|o| o.name.as_deref()),
            phone: owner.and_then(|o| o.phone.as_deref()),
            verified_address: (),
            verified_email: (),
            verified_name: (),
            verified_phone: (),
        }
    }
}

#[derive(Debug, Serialize)]
struct Transfer {
    account_number: String,
    bank_name: &'static str,
    fingerprint: String,
    refund_account_holder_name: (),
    refund_account_holder_type: (),
    refund_routing_number: (),
    routing_number: &'static str,
    swift_code: &'static str,
}

impl Transfer {
    fn of(id: &[u8]) -> Self {
        Self {
            account_number: format!("test_{}", letters(&[b"account", id], 12).to_ascii_lowercase()),
            bank_name: "TEST BANK",
            fingerprint: letters(&[b"fingerprint", id], 16),
            refund_account_holder_name: (),
            refund_account_holder_type: (),
            refund_routing_number: (),
            routing_number: "110000000",
            swift_code: "TSTEZ122",
        }
    }
}

#[derive(Debug, Serialize)]
struct Receiver {
    address: String,
    amount_charged: i64,
    amount_received: i64,
    amount_returned: i64,
    refund_attributes_method: &'static str,
    refund_attributes_status: &'static str,
}

impl Receiver {
    fn of(id: &[u8], refunds: &'static str) -> Self {
        Self {
            address: format!("110000000-test_{}", letters(&[b"account", id], 12).to_ascii_lowercase()),
            amount_charged: 0,
            amount_received: 0,
            amount_returned: 0,
            refund_attributes_method: refunds,
            refund_attributes_status: "missing",
        }
    }
}

#[derive(Debug, Serialize)]
struct Wechat<'s> {
    qr_code_url: String,
    statement_descriptor: &'s str,
}

/// Shows a card as a part of a source, where it has no id of its own.
#[derive(Debug, Serialize)]
struct CardJson<'s> {
    address_line1_check: Option<&'static str>,
    address_zip_check: Option<&'static str>,
    brand: &'static str,
    country: &'static str,
    cvc_check: Option<&'static str>,
    dynamic_last4: (),
    exp_month: u8,
    exp_year: u16,
    fingerprint: String,
    funding: &'static str,
    last4: &'static str,
    name: Option<&'s str>,
    three_d_secure: &'static str,
    tokenization_method: (),
}

impl<'s> CardJson<'s> {
    fn of(card: &Card, owner: Option<&'s Billing>) -> Self {
        let lines = owner.map_or([None; 6], Billing::lines);
        Self {
            address_line1_check: lines[2].map(|_| "pass"),
            address_zip_check: card.zip_check(lines[5].is_some()),
            brand: Source::brand(card),
            country: "US",
            cvc_check: card.cvc_check(),
            dynamic_last4: (),
            exp_month: card.exp_month,
            exp_year: card.exp_year,
            fingerprint: card.fingerprint(),
            funding: card.test.funding,
            last4: card.last4(),
            name: owner.and_then(|o| o.name.as_deref()),
            three_d_secure: "optional",
            tokenization_method: (),
        }
    }
}
