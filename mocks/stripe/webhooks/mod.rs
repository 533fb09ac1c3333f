//! Webhooks: what Stripe sends by itself. A provider of its own in the counts, for here the application is the one that accepts.

pub(crate) mod delivery;
pub(crate) mod types;

use std::sync::Arc;

use time::OffsetDateTime;

use super::failure::pretty;
use super::objects::{Event, Thing};
use crate::attempt::{About, End, Kind, Operation, Outbox, Post, Seal};
use crate::deliver::{Parcel, Scheme, Secret, Sender, Target};
use crate::ledger::Class;
use crate::store::Tx;
use delivery::Delivery;

/// Is what sends Stripe's events; all its state stands in the store.
#[derive(Clone, Copy, Debug, Default)]
pub struct Webhooks;

/// The name of what sends them.
pub(crate) const NAME: &str = "stripe-webhooks";

const SENDER: Sender = Sender {
    provider: NAME,
    operation: "events.deliver",
    effect: "delivery",
};

static ABOUT: About = About {
    name: SENDER.provider,
    class: Class::KeyAdvisory,
    operations: &[Operation {
        name: SENDER.operation,
        kind: Kind::Write,
        effects: &["delivery"],
    }],
};

/// Makes the secret of an endpoint.
pub(crate) fn new_secret(tx: &mut Tx<'_>) -> Arc<str> {
    // An id has 24 letters, a secret 32.
    let long = format!("{}{}", tx.new_id("whsec_"), tx.new_id(""));
    long[.."whsec_".len() + 32].into()
}

impl Outbox for Webhooks {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn sender(&self) -> Sender {
        SENDER
    }

    fn due(&self, tx: &mut Tx<'_>, most: usize) -> Vec<Post> {
        let due: Vec<_> = tx.due::<Delivery>().take(most).collect();
        let mut posts = Vec::with_capacity(due.len());
        for (_, account, delivery) in due {
            tx.enter(&account);
            match post(tx, &delivery) {
                Some(post) => posts.push(post),
                // The endpoint is gone or disabled, or the event too old to be kept.
                None => tx.remove::<Delivery>(&delivery.id),
            }
        }
        posts
    }

    fn is_due(&self, tx: &mut Tx<'_>, post: &Post) -> bool {
        let now = tx.now();
        find(tx, post).is_some_and(|delivery| delivery.is_due(now))
    }

    fn take(&self, tx: &mut Tx<'_>, post: &Post, tries: u32) {
        if let Some(delivery) = find(tx, post) {
            delivery.take(tx, tries);
        }
    }

    fn is_taken(&self, tx: &mut Tx<'_>, post: &Post) -> bool {
        find(tx, post).is_some_and(|delivery| delivery.is_taken())
    }

    fn settle(&self, tx: &mut Tx<'_>, post: &Post, end: End) {
        // Of several copies the first that is accepted delivers it, and is the last that finds it.
        let Some(delivery) = find(tx, post) else { return };
        match end {
            End::Delivered => delivery.delivered(tx),
            End::Failed => delivery.failed(tx),
            End::Forgotten => tx.remove::<Delivery>(&delivery.id),
        }
    }

    fn reached(&self, tx: &mut Tx<'_>, post: &Post) -> u64 {
        tx.enter(&post.partition);
        delivery::reached(tx, &post.receiver)
    }

    fn parcel(&self, post: &Post, seal: Seal, now: OffsetDateTime) -> Parcel {
        let (secret, at) = match seal {
            Seal::Right => (Arc::clone(&post.secret), now),
            Seal::WrongSecret => (format!("{}_wrong", post.secret).into(), now),
            Seal::Aged(age) => (Arc::clone(&post.secret), now.saturating_sub(age)),
        };
        let mut parcel = Parcel::post(post.body.clone());
        let mut header = |name: &str, value: &str| {
            parcel.header(name, value).expect("a header of ours can be sent");
        };
        header("accept", "*/*; q=0.5, application/xml");
        header("cache-control", "no-cache");
        header("content-type", "application/json; charset=utf-8");
        header("user-agent", "Stripe/1.0 (+https://stripe.com/docs/webhooks)");
        // A secret that is given is checked when it is, so that what cannot be read here is none.
        if let Ok(secret) = Secret::parse(Scheme::Stripe, &secret) {
            for (name, value) in secret.headers("", at.unix_timestamp(), &post.body) {
                header(name, &value);
            }
        }
        parcel
    }
}

fn find(tx: &mut Tx<'_>, post: &Post) -> Option<Arc<Delivery>> {
    tx.enter(&post.partition);
    tx.get::<Delivery>(&post.id)
}

/// Makes of a delivery what is to be sent; none where there is nothing to send any more.
fn post(tx: &mut Tx<'_>, delivery: &Delivery) -> Option<Post> {
    let endpoint = delivery.endpoint(tx)?;
    let event = tx.get::<Event>(&delivery.event)?;
    let account = Arc::clone(tx.partition());
    let told = Event {
        api_version: endpoint.api_version.clone().or_else(|| event.api_version.clone()),
        account: delivery.connect.then(|| Arc::clone(&account)),
        ..Event::clone(&event)
    };
    Some(Post {
        partition: account,
        id: Arc::clone(&delivery.id),
        receiver: Arc::clone(&delivery.endpoint),
        target: Target::parse(&endpoint.url).ok()?,
        body: pretty(&Thing::Event(told.into()).plain()).into(),
        secret: Arc::clone(&endpoint.secret),
    })
}
