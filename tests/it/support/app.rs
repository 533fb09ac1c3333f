//! A suite for one test, and what must be true of it afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use ackdrop::Suite;
use ackdrop::admin::Stats;
use ackdrop::ledger::{Counts, Entry, Outcome};
use ackdrop::store::Scope;
use ackdrop::suite::Builder;
use serde_json::Value;

use super::{Answer, Call, Conn};

/// How long anything may take that should happen soon.
const SOON: Duration = Duration::from_secs(20);

/// Waits for what should happen soon.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future)
        .await
        .unwrap_or_else(|_| panic!("{what} did not happen in time"))
}

/// Is a running suite with clients for it.
pub(crate) struct App {
    pub(crate) suite: Suite,
}

/// Runs a test against a suite of its own, and checks the invariants afterwards.
pub(crate) async fn with(build: impl FnOnce(Builder) -> Builder, test: impl AsyncFnOnce(&App)) {
    let suite = build(Suite::builder()).start().await.expect("the suite starts");
    let app = App { suite };
    test(&app).await;
    app.settled().await;
    app.check();
    assert!(app.suite.stop().await, "everything ended when the suite stopped");
}

impl App {
    pub(crate) fn http(&self) -> SocketAddr {
        self.suite.addresses().http().unwrap()
    }

    /// Opens a plain HTTP connection.
    pub(crate) async fn connect(&self) -> Conn {
        Conn::plain(self.http()).await
    }

    /// Opens a TLS connection to a listener that serves it.
    pub(crate) async fn connect_tls(&self, addr: SocketAddr) -> Conn {
        Conn::tls(addr, self.suite.ca_pem(), "api.stripe.com").await
    }

    /// Opens a plain connection, and one inside TLS.
    pub(crate) async fn connect_both(&self) -> [Conn; 2] {
        let https = self.suite.addresses().https().unwrap();
        [self.connect().await, self.connect_tls(https).await]
    }

    /// Makes one call on a connection of its own and returns the answer.
    pub(crate) async fn call(&self, call: Call) -> Answer {
        let mut conn = self.connect().await;
        conn.send(&call.bytes()).await;
        conn.answer().await
    }

    /// Makes an admin call that must succeed, and returns its JSON.
    pub(crate) async fn admin(&self, call: Call) -> Value {
        let answer = self.call(call).await;
        assert!(answer.status < 300, "{answer:?}");
        answer.json()
    }

    /// Arms a rule by the API.
    pub(crate) async fn fault(&self, rule: Value) -> String {
        let rule = self.admin(Call::post("/_faults").json(&rule)).await;
        rule["id"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the counts of a provider over all scopes, those of answers that were just read included.
    pub(crate) async fn counts(&self, provider: &str) -> Counts {
        self.suite.ledger().settle_answers().await;
        self.now(provider)
    }

    /// Returns the counts of a provider as they are this moment.
    pub(crate) fn now(&self, provider: &str) -> Counts {
        self.suite.stats().providers[provider].counts
    }

    /// Returns the counts of one scope as they are this moment.
    pub(crate) fn of(&self, scope: &str) -> Counts {
        self.suite.stats_of(&Scope::parse(scope).unwrap()).total
    }

    /// Returns the ids of what is held, of one scope or all.
    pub(crate) fn held(&self, scope: Option<&str>) -> Vec<String> {
        self.suite.holds().list(scope).into_iter().map(|held| held.id).collect()
    }

    /// Waits until so many are held, and returns their ids.
    pub(crate) async fn until_held(&self, n: usize) -> Vec<String> {
        self.until("the hold", |app| app.held(None).len() == n).await;
        self.held(None)
    }

    /// Lets a hold go, as the admin API is asked to.
    pub(crate) async fn release(&self, id: &str, then: Value) -> Answer {
        self.call(Call::post(&format!("/_holds/{id}/release")).json(&then))
            .await
    }

    /// Returns how many effects of a kind there are.
    pub(crate) fn effects(&self, kind: &str) -> u64 {
        self.suite.stats().effects.get(kind).copied().unwrap_or_default()
    }

    /// Waits until the journal shows what is wanted.
    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&App) -> bool) {
        let mut changed = self.suite.ledger().subscribe();
        let mut held = self.suite.holds().subscribe();
        let wait = async {
            while !holds(self) {
                tokio::select! {
                    _ = changed.changed() => {}
                    _ = held.changed() => {}
                }
            }
        };
        within(what, wait).await;
    }

    /// Waits until no attempt is in flight or open.
    pub(crate) async fn settled(&self) {
        let settled = |app: &App| {
            let total = app.suite.stats().total;
            total.in_flight == 0 && total.open == 0
        };
        self.until("the end of every attempt", settled).await;
    }

    /// Returns all entries of the journal.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.suite.ledger().changed_since(0, usize::MAX, |_| true).0
    }

    /// Checks what must hold after every test: both sums, per operation, provider and scope, and counts that are the fold of the journal.
    pub(crate) fn check(&self) {
        let stats = self.suite.stats();
        assert!(stats.total.balanced(), "{:?}", stats.total);
        for (name, provider) in &stats.providers {
            assert!(provider.counts.balanced(), "{name}: {:?}", provider.counts);
            let mut sum = Counts::default();
            for (operation, counts) in &provider.operations {
                assert!(counts.balanced(), "{operation}: {counts:?}");
                sum.add(counts);
            }
            assert_eq!(sum, provider.counts, "{name} is the sum of its operations");
        }
        if stats.journal_trimmed.entries == 0 {
            self.check_fold();
        }
    }

    /// Looks at counts and journal in one moment: where something happened between the two looks, it looks again.
    fn counts_and_entries(&self) -> (BTreeMap<String, Stats>, Vec<Entry>) {
        for _ in 0..1000 {
            let before = self.suite.stats();
            let entries = self.entries();
            let scopes: BTreeSet<String> = entries.iter().map(|e| e.scope.to_string()).collect();
            let counts = scopes.into_iter().map(|scope| {
                let stats = self.suite.stats_of(&Scope::parse(&scope).unwrap());
                (scope, stats)
            });
            let counts = counts.collect();
            let after = self.suite.stats();
            if (before.generation, before.total) == (after.generation, after.total) {
                return (counts, entries);
            }
        }
        panic!("the counts never stand still");
    }

    fn check_fold(&self) {
        type Fold = (BTreeMap<(String, String), (u64, u64)>, BTreeMap<String, u64>);
        let mut folds: BTreeMap<String, Fold> = BTreeMap::new();
        let (stats, entries) = self.counts_and_entries();
        for entry in entries {
            let (operations, effects) = folds.entry(entry.scope.to_string()).or_default();
            let key = (entry.arrival.provider.to_string(), entry.arrival.operation.to_string());
            let (received, accepted) = operations.entry(key).or_default();
            *received += 1;
            *accepted += u64::from(entry.outcome == Some(Outcome::Accepted));
            for effect in entry.effects {
                *effects.entry(effect.kind.to_string()).or_default() += effect.count;
            }
        }
        for (scope, (operations, effects)) in folds {
            let stats = &stats[&scope];
            for ((provider, operation), fold) in operations {
                let counts = stats.providers[&*provider].operations[&*operation];
                assert_eq!((counts.received, counts.accepted), fold, "{scope} {operation}");
            }
            let counted: BTreeMap<String, u64> = stats.effects.iter().map(|(k, n)| (k.to_string(), *n)).collect();
            assert_eq!(counted, effects, "{scope}");
        }
    }
}
