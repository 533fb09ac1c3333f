//! Disputes: what a card's holder says against a charge.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::{Cause, Expanded, Kind, Link, Resource, Shown, Target};
use crate::mocks::stripe::cards::Card;
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::metadata::Metadata;
use crate::store::{Object, Tx};

/// How many seconds evidence may be handed in.
const OPEN_FOR: i64 = 9 * 24 * 3600;

/// Is a dispute of a charge.
#[derive(Clone, Debug)]
pub(crate) struct Dispute {
    pub(crate) id: Arc<str>,
    pub(crate) created: i64,
    pub(crate) amount: i64,
    pub(crate) currency: Currency,
    pub(crate) charge: Arc<str>,
    pub(crate) intent: Option<Arc<str>>,
    pub(crate) card: Card,
    pub(crate) reason: &'static str,
    /// Whether it began as an inquiry and has withdrawn nothing so far.
    pub(crate) inquiry: bool,
    pub(crate) stage: Stage,
    pub(crate) evidence: Evidence,
    /// How often evidence was handed in.
    pub(crate) submissions: u32,
    pub(crate) metadata: Metadata,
}

/// Says how far a dispute is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    NeedsResponse,
    UnderReview,
    Won,
    Lost,
    /// Of an inquiry: closed without a chargeback.
    Closed,
}

/// Holds what was said for the charge, by the names of [`Evidence::FIELDS`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence(pub(crate) BTreeMap<&'static str, Box<str>>);

impl Evidence {
    pub(crate) const FIELDS: [&'static str; 27] = [
        "access_activity_log",
        "billing_address",
        "cancellation_policy",
        "cancellation_policy_disclosure",
        "cancellation_rebuttal",
        "customer_communication",
        "customer_email_address",
        "customer_name",
        "customer_purchase_ip",
        "customer_signature",
        "duplicate_charge_documentation",
        "duplicate_charge_explanation",
        "duplicate_charge_id",
        "product_description",
        "receipt",
        "refund_policy",
        "refund_policy_disclosure",
        "refund_refusal_explanation",
        "service_date",
        "service_documentation",
        "shipping_address",
        "shipping_carrier",
        "shipping_date",
        "shipping_documentation",
        "shipping_tracking_number",
        "uncategorized_file",
        "uncategorized_text",
    ];
}

impl Object for Dispute {
    const TABLE: &'static str = "stripe.disputes";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Dispute {
    pub(crate) fn status(&self) -> &'static str {
        match (self.inquiry, self.stage) {
            (true, Stage::NeedsResponse) => "warning_needs_response",
            (true, Stage::UnderReview) => "warning_under_review",
            (true, _) => "warning_closed",
            (false, Stage::NeedsResponse) => "needs_response",
            (false, Stage::UnderReview) => "under_review",
            (false, Stage::Won) => "won",
            (false, Stage::Lost | Stage::Closed) => "lost",
        }
    }

    /// Says whether the charge can be refunded: not while its money is withdrawn.
    pub(crate) fn lets_refund(&self) -> bool {
        self.inquiry || self.stage == Stage::Won
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self.stage, Stage::NeedsResponse | Stage::UnderReview)
    }

    /// Lists the ids of its balance transactions.
    fn movements(&self) -> Vec<Arc<str>> {
        let withdrawn = (!self.inquiry).then_some(Cause::Dispute);
        let given_back = (self.stage == Stage::Won && !self.inquiry).then_some(Cause::DisputeReversal);
        let causes = withdrawn.into_iter().chain(given_back);
        causes.map(|cause| cause.id(&self.id).into()).collect()
    }
}

impl Resource for Dispute {
    const WORD: &'static str = "dispute";
    const OBJECT: &'static str = "dispute";
    const LINKS: &'static [(&'static str, Target)] = &[
        ("balance_transactions", Target::Many(Kind::Movement)),
        ("charge", Target::One(Kind::Charge)),
        ("payment_intent", Target::One(Kind::Intent)),
    ];
    const INSIDE: &'static [&'static str] = &["balance_transactions"];

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id)
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn reference(&self, field: &str) -> Option<Arc<str>> {
        match field {
            "charge" => Some(Arc::clone(&self.charge)),
            "payment_intent" => self.intent.clone(),
            _ => None,
        }
    }

    fn members(&self, _: &str) -> Vec<Arc<str>> {
        self.movements()
    }

    fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's {
        Json {
            id: &self.id,
            object: Self::OBJECT,
            amount: self.amount,
            balance_transactions: match shown.expansion("balance_transactions") {
                Some(Expanded::Many(page)) => &page.data,
                _ => &[],
            },
            charge: shown.link_to("charge", &self.charge),
            created: self.created,
            currency: self.currency,
            enhanced_eligibility_types: [],
            evidence: &self.evidence,
            evidence_details: Details {
                due_by: self.is_open().then_some(self.created + OPEN_FOR),
                enhanced_eligibility: Empty {},
                has_evidence: !self.evidence.0.is_empty(),
                past_due: false,
                submission_count: self.submissions,
                submission_method: if self.submissions > 0 {
                    "manual"
                } else {
                    "not_submitted"
                },
            },
            intended_submission_method: (),
            is_charge_refundable: self.lets_refund(),
            livemode: false,
            metadata: &self.metadata,
            payment_intent: shown.link("payment_intent", &self.intent),
            payment_method_details: Method {
                card: ByCard {
                    brand: self.card.test.brand,
                    case_type: if self.inquiry { "inquiry" } else { "chargeback" },
                    network: self.card.test.brand,
                    network_reason_code: match self.reason {
                        "fraudulent" => Some("10.4"),
                        "product_not_received" => Some("13.1"),
                        _ => None,
                    },
                },
                kind: "card",
            },
            reason: self.reason,
            status: self.status(),
        }
    }
}

impl Serialize for Evidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(Some(Self::FIELDS.len() + 1))?;
        for field in Self::FIELDS {
            map.serialize_entry(field, &self.0.get(field))?;
        }
        map.serialize_entry("enhanced_evidence", &Empty {})?;
        map.end()
    }
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    amount: i64,
    balance_transactions: &'s [Shown],
    charge: Link<'s>,
    created: i64,
    currency: Currency,
    enhanced_eligibility_types: [(); 0],
    evidence: &'s Evidence,
    evidence_details: Details,
    intended_submission_method: (),
    is_charge_refundable: bool,
    livemode: bool,
    metadata: &'s Metadata,
    payment_intent: Link<'s>,
    payment_method_details: Method,
    reason: &'static str,
    status: &'static str,
}

#[derive(Serialize)]
struct Details {
    due_by: Option<i64>,
    enhanced_eligibility: Empty,
    has_evidence: bool,
    past_due: bool,
    submission_count: u32,
    submission_method: &'static str,
}

#[derive(Serialize)]
struct Empty {}

#[derive(Serialize)]
struct Method {
    card: ByCard,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct ByCard {
    brand: &'static str,
    case_type: &'static str,
    network: &'static str,
    network_reason_code: Option<&'static str>,
}
