//! A provider that panics: its attempt ends, its key is free, and nothing half done is left.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Method};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::*;
use crate::faults::{Rules, parse_header};
use crate::idempotency::{Key, Record};
use crate::ledger::{Arrival, Class, Counts, Ledger, Limits, Peer, Reply};
use crate::store::{Scope, Store, Tx};

static ABOUT: About = About {
    name: "fragile",
    class: Class::KeyEnforced,
    operations: &[Operation {
        name: "things.make",
        kind: Kind::Write,
        effects: &["thing"],
    }],
};

/// Panics in the middle of its work if the path says so.
struct Fragile;

impl Provider for Fragile {
    type Request = HttpRequest;
    type Call = ();

    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn identify(&self, _: &HttpRequest) -> Identified<()> {
        let key = Key {
            partition: "fragile".into(),
            value: "k".into(),
            fingerprint: [7; 16],
            endpoint: "/".into(),
            kept: time::Duration::hours(1),
        };
        Identified {
            call: (),
            name: Some("k".into()),
            key: Some(key),
            correlations: Vec::new(),
            recorded: None,
            early: None,
        }
    }

    fn handle(&self, tx: &mut Tx<'_>, request: &HttpRequest, (): &()) -> Reply {
        tx.effect("thing", "t1");
        assert_ne!(request.path, "/panic", "the bug that is wanted here");
        Reply::new(201, "made")
    }

    fn conflict(&self, _: &HttpRequest, (): &(), _: &Conflict<'_>) -> Reply {
        Reply::new(409, "in progress")
    }

    fn replay(&self, _: &HttpRequest, (): &(), record: &Record) -> Reply {
        Reply::new(record.status, record.content.bytes())
    }

    fn refuse(&self, _: &HttpRequest, (): &(), _: &Refusal) -> Reply {
        Reply::new(500, "no")
    }

    fn keeps(&self, _: &Self::Call, _: u16) -> bool {
        true
    }
}

fn way() -> Way {
    Way {
        store: Store::new(Ledger::new(Limits::default())),
        rules: Rules::new(),
        holds: Holds::default(),
        stop: CancellationToken::new(),
        tasks: TaskTracker::new(),
        hang_cap: Duration::from_secs(60),
    }
}

/// Calls, and returns the status of the answer; none if there was none. Says as well whether the attempt's task panicked.
async fn call(way: &Way, path: &str, fault: Option<&str>) -> (Option<u16>, bool) {
    let operation = &ABOUT.operations[0];
    let arrival = Arrival {
        provider: ABOUT.name.into(),
        class: ABOUT.class,
        operation: operation.name.into(),
        line: path.into(),
        peer: Peer {
            address: ([127, 0, 0, 1], 1).into(),
            connection: 1,
        },
    };
    let ticket = way.store.begin(&Scope::default(), arrival).unwrap();
    let request = HttpRequest {
        operation,
        method: Method::POST,
        path: path.into(),
        query: String::new(),
        base: "http://localhost".into(),
        headers: HeaderMap::new(),
        body: bytes::Bytes::new(),
    };
    let whole = Whole {
        request,
        operation,
        in_request: fault.map(|fault| parse_header(fault).unwrap()).into_iter().collect(),
        exempt: false,
    };
    let (line, delivery) = Line::new(CancellationToken::new());
    let task = tokio::spawn(carry_out(way.clone(), Arc::new(Fragile), whole, ticket, line));
    let status = match delivery.await {
        Ok(Delivery::Answer(outgoing)) => {
            let status = outgoing.reply.status;
            outgoing.sent_whole(0);
            Some(status)
        }
        Ok(Delivery::Lose { .. }) | Err(_) => None,
    };
    (status, task.await.is_err())
}

fn counts(way: &Way) -> (Counts, u64) {
    let summary = &way.store.snapshot(&Scope::default()).providers["fragile"];
    let things = summary.effects.get("thing").copied().unwrap_or_default();
    (summary.counts, things)
}

#[tokio::test]
async fn a_panic_in_the_commit_leaves_no_effect_and_the_key_free() {
    let way = way();
    assert_eq!(call(&way, "/panic", None).await, (None, true));
    let (after, things) = counts(&way);
    assert!(after.balanced(), "{after:?}");
    assert_eq!((after.failed, after.open, after.in_flight, things), (1, 0, 0, 0));
    assert_eq!(call(&way, "/", None).await, (Some(201), false));
    assert_eq!((counts(&way).0.accepted, counts(&way).1), (1, 1));
}

#[tokio::test]
async fn a_panic_gives_up_the_reservation_that_was_made_before() {
    let way = way();
    let mut held = way.holds.subscribe();
    let release = async {
        while way.holds.list(None).is_empty() {
            held.changed().await.unwrap();
        }
        assert_eq!(call(&way, "/", None).await, (Some(409), false), "reserved");
        way.holds.release("h1", Release::Answer).unwrap();
    };
    let (ended, ()) = tokio::join!(call(&way, "/panic", Some("hold-before-commit")), release);
    assert_eq!(ended, (None, true));
    assert_eq!(call(&way, "/", None).await, (Some(201), false));
    let (after, things) = counts(&way);
    assert!(after.balanced(), "{after:?}");
    assert_eq!((after.failed, after.refused, after.accepted, things), (1, 1, 1, 1));
}

#[tokio::test]
async fn a_stop_gives_up_the_reservation_and_commits_nothing() {
    for fault in ["hold-before-commit", "delay; at=before; delay=10m"] {
        let mut way = way();
        let mut changed = way.store.ledger().subscribe();
        let stop = async {
            while way
                .store
                .ledger()
                .changed_since(0, 9, |e| !e.fired.is_empty())
                .0
                .is_empty()
            {
                changed.changed().await.unwrap();
            }
            way.stop.cancel();
        };
        let (ended, ()) = tokio::join!(call(&way, "/", Some(fault)), stop);
        assert_eq!(ended, (None, false), "{fault}");
        assert_eq!(
            (counts(&way).0.failed, counts(&way).0.withheld, counts(&way).1),
            (1, 1, 0)
        );
        way.stop = CancellationToken::new();
        assert_eq!(call(&way, "/", None).await, (Some(201), false), "{fault}");
    }
}
