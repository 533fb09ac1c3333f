//! Decodes all that ackdrop shows to async-stripe's types.
//!
//! They fail whole objects over one missing field or another type. What they pass over is found in what they have taken (`shown`), and
//! values that their open enumerations do not know in what they warn of. `known.tsv` names what the SDK lacks, each with a reason.

use std::{
    any::type_name,
    fmt::Debug,
    fs, io,
    path::Path,
    sync::{Arc, Mutex},
};

use miniserde::Deserialize;
use serde_json::Value;
use stripe_types::{List, SearchList};

use crate::{Report, known::Known, shown::Shown};

/// What a type has taken of a text, or why it has not.
type Take = fn(&str) -> Result<Shown, String>;

fn take<T: Deserialize + Debug>(body: &str) -> Result<Shown, String> {
    match miniserde::json::from_str::<T>(body) {
        Ok(taken) => Ok(Shown::read(&format!("{taken:?}"))),
        Err(_) => Err(format!("is no {}", type_name::<T>())),
    }
}

/// A row has what takes an object of a kind, a list of them, and what a search finds of them.
macro_rules! kinds {
    ($($kind:literal: $type:ty),* $(,)?) => {
        &[$(($kind, take::<$type>, take::<List<$type>>, take::<SearchList<$type>>)),*]
    };
}

const KINDS: &[(&str, Take, Take, Take)] = kinds! {
    "balance": stripe_core::Balance,
    "balance_transaction": stripe_shared::BalanceTransaction,
    "billing.meter": stripe_billing::BillingMeter,
    "billing.meter_event": stripe_billing::BillingMeterEvent,
    "billing.meter_event_adjustment": stripe_billing::BillingMeterEventAdjustment,
    "card": stripe_shared::Card,
    "charge": stripe_shared::Charge,
    "checkout.session": stripe_shared::CheckoutSession,
    "coupon": stripe_shared::Coupon,
    "customer": stripe_shared::Customer,
    "discount": stripe_shared::Discount,
    "dispute": stripe_shared::Dispute,
    "event": stripe_shared::Event,
    "invoice": stripe_shared::Invoice,
    "invoice_payment": stripe_shared::InvoicePayment,
    "invoiceitem": stripe_billing::InvoiceItem,
    "item": stripe_shared::CheckoutSessionItem,
    "line_item": stripe_shared::InvoiceLineItem,
    "payment_intent": stripe_shared::PaymentIntent,
    "payment_method": stripe_shared::PaymentMethod,
    "price": stripe_shared::Price,
    "product": stripe_shared::Product,
    "promotion_code": stripe_shared::PromotionCode,
    "refund": stripe_shared::Refund,
    "setup_intent": stripe_shared::SetupIntent,
    "source": stripe_shared::Source,
    "subscription": stripe_shared::Subscription,
    "subscription_item": stripe_shared::SubscriptionItem,
    "test_helpers.test_clock": stripe_shared::TestHelpersTestClock,
    "token": stripe_shared::Token,
    "webhook_endpoint": stripe_misc::WebhookEndpoint,
};

/// What is left of what was deleted.
const DELETED: &[(&str, Take)] = &[
    ("coupon", take::<stripe_shared::DeletedCoupon>),
    ("customer", take::<stripe_shared::DeletedCustomer>),
    ("invoiceitem", take::<stripe_billing::DeletedInvoiceitem>),
    ("product", take::<stripe_shared::DeletedProduct>),
    ("webhook_endpoint", take::<stripe_misc::DeletedWebhookEndpoint>),
];

pub(crate) fn run(folder: &Path, report: &mut Report) {
    let (mut known, warned) = (Known::open(), Warned::listen());
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("the folder of shapes")
        .map(|entry| entry.expect("a file of the folder").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    paths.sort();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let body = fs::read(&path).expect("a file of the folder");
        let value = serde_json::from_slice(&body).expect("a shape in JSON");
        let mut found = Vec::new();
        decode(&value, "", &mut found);
        found.extend(warned.take().into_iter().map(|text| (String::new(), text)));
        found.retain(|(place, _)| !known.explains(&format!("{name} {place}")));
        let problems: Vec<_> = found.iter().map(|(place, what)| format!("{place} {what}")).collect();
        report.case(&format!("decode {name}"), &problems);
    }
    for row in known.idle() {
        report.case("decode known.tsv", &[format!("`{row}` explains nothing any more")]);
    }
}

/// A place, and what differs there.
type Found = Vec<(String, String)>;

fn decode(value: &Value, at: &str, found: &mut Found) {
    let taken = match taker(value) {
        Ok(take) => take(&value.to_string()),
        Err(why) => Err(why),
    };
    match taken {
        Ok(taken) => compare(value, &taken, at, found),
        Err(why) => found.push((at.to_owned(), why)),
    }
    // What an event is about is untyped in it.
    let events = match text(value, "object") {
        "event" => vec![(at.to_owned(), value)],
        "list" => {
            let each = value["data"].as_array().into_iter().flatten().enumerate();
            each.map(|(number, each)| (inside(at, &format!("data[{number}]")), each))
                .filter(|(_, each)| text(each, "object") == "event")
                .collect()
        }
        _ => return,
    };
    for (at, event) in events {
        decode(&event["data"]["object"], &inside(&at, "data.object"), found);
    }
}

/// Finds the type that takes a value, by what it says it is.
fn taker(value: &Value) -> Result<Take, String> {
    let object = text(value, "object");
    let kind = match object {
        "list" | "search_result" => value["data"].get(0).map_or("", |first| text(first, "object")),
        kind => kind,
    };
    if value["deleted"] == true {
        let row = DELETED.iter().find(|row| row.0 == kind);
        return row.map(|row| row.1).ok_or(format!("a deleted {kind} has no type"));
    }
    let row = KINDS.iter().find(|row| row.0 == kind);
    let row = row.ok_or(format!("`{kind}` has no type"))?;
    Ok(match object {
        "list" => row.2,
        "search_result" => row.3,
        _ => row.1,
    })
}

/// Finds what a type has passed over. `object` is not kept by any of them: it is what the type says.
fn compare(value: &Value, taken: &Shown, at: &str, found: &mut Found) {
    match (value, taken) {
        (Value::Object(members), Shown::Fields(fields)) => {
            for (name, member) in members.iter().filter(|(name, _)| *name != "object") {
                let at = inside(at, name);
                match fields.get(name).or_else(|| fields.get(&format!("{name}_"))) {
                    Some(field) => compare(member, field, &at, found),
                    None => found.push((at, "is untyped".to_owned())),
                }
            }
        }
        (Value::Array(items), Shown::List(taken)) if items.len() == taken.len() => {
            for (number, (item, taken)) in items.iter().zip(taken).enumerate() {
                compare(item, taken, &format!("{at}[{number}]"), found);
            }
        }
        (Value::Object(members), Shown::Leaf) if members.is_empty() => {}
        (Value::Object(_) | Value::Array(_), _) => found.push((at.to_owned(), "is not taken".to_owned())),
        _ => {}
    }
}

fn inside(at: &str, name: &str) -> String {
    match at {
        "" => name.to_owned(),
        at => format!("{at}.{name}"),
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// Is what the SDK warns of: the values that its enumerations do not know.
#[derive(Clone, Default)]
struct Warned(Arc<Mutex<Vec<u8>>>);

impl Warned {
    fn listen() -> Self {
        let warned = Self::default();
        let writer = warned.clone();
        tracing_subscriber::fmt()
            .with_max_level(tracing::Level::WARN)
            .with_ansi(false)
            .without_time()
            .with_level(false)
            .with_target(false)
            .with_writer(move || writer.clone())
            .init();
        warned
    }

    fn take(&self) -> Vec<String> {
        let text = std::mem::take(&mut *self.0.lock().expect("no thread has panicked"));
        String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
    }
}

impl io::Write for Warned {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no thread has panicked").write(text)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
