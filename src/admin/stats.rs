//! `GET /_stats`: the counts.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;

use super::ask::Ask;
use super::{Admin, Error};
use crate::faults::Totals;
use crate::ledger::{Counts, Summary, rfc3339};
use crate::store::Scope;

/// Is all that is counted, of one scope or of all.
#[derive(Clone, Debug, Serialize)]
pub struct Stats {
    /// How often it was reset, and one.
    pub generation: u64,
    /// Since when it counts, RFC 3339.
    pub since: Option<String>,
    /// The sums by provider.
    pub providers: BTreeMap<Arc<str>, Summary>,
    /// The sum over all providers.
    pub total: Counts,
    /// Effects over all providers, by kind.
    pub effects: BTreeMap<Cow<'static, str>, u64>,
    /// Rules that are armed, and how often any has fired.
    pub faults: Totals,
    /// Requests that no provider knows.
    pub unmatched: u64,
    /// The last of them, oldest first.
    pub unmatched_last: Vec<String>,
    /// Hosts that the proxy refused, with their ports, and how often.
    pub refused_hosts: BTreeMap<String, u64>,
    /// What the journal has let go; no count changes by it.
    pub journal_trimmed: Trimmed,
}

/// Says what the journal has let go.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Trimmed {
    /// Whole entries.
    pub entries: u64,
    /// Recorded bodies.
    pub bodies: u64,
}

/// Counts one scope, or all; an unknown scope is all zeros.
#[must_use]
pub fn stats(admin: &Admin, scope: Option<&Scope>) -> Stats {
    let store = &admin.way.store;
    let snapshot = scope.map_or_else(|| store.total(), |scope| store.snapshot(scope));
    let mut providers = snapshot.providers;
    for about in admin.providers() {
        providers
            .entry(about.name.into())
            .or_insert_with(|| Summary::new(about.class));
    }
    let mut total = Counts::default();
    let mut effects: BTreeMap<Cow<'static, str>, u64> = BTreeMap::new();
    for summary in providers.values() {
        total.add(&summary.counts);
        for (kind, n) in &summary.effects {
            *effects.entry(kind.clone()).or_default() += n;
        }
    }
    let name = scope.map(Scope::as_str);
    let (entries, bodies) = store.ledger().trimmed();
    Stats {
        generation: snapshot.generation,
        since: rfc3339(Some(snapshot.since)),
        providers,
        total,
        effects,
        faults: admin.way.rules.totals(name),
        unmatched: admin.strays.count(name),
        unmatched_last: admin.strays.last(name),
        refused_hosts: admin.strays.refused_hosts(name),
        journal_trimmed: Trimmed { entries, bodies },
    }
}

pub(super) async fn get(State(admin): State<Admin>, ask: Ask) -> Result<Response, Error> {
    ask.only(&["scope"])?;
    admin.way.store.ledger().settle_answers().await;
    let stats = stats(&admin, ask.scope()?.as_ref());
    Ok(super::answer(StatusCode::OK, &stats))
}
