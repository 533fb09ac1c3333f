//! A target and its deliveries, as the world keeps them.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use time::OffsetDateTime;

use super::settings::{Change, Settings};
use crate::attempt::HttpRequest;
use crate::ledger::{Body, Ledger, secrets};
use crate::store::{Object, Tx};

const LONGEST_NAME: usize = 200;

static PARTITION: LazyLock<Arc<str>> = LazyLock::new(|| "webhook".into());

/// Is a target: what stands behind `/hooks/`.
#[derive(Clone, Debug)]
pub struct Target {
    /// The name.
    pub name: Arc<str>,
    /// How many deliveries it got.
    pub deliveries: u64,
    /// When it got the last one, on the world's clock.
    pub last: Option<OffsetDateTime>,
    /// What it is told.
    pub settings: Settings,
}

impl Object for Target {
    const TABLE: &'static str = "hook_targets";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }
}

/// Is one delivery. It never changes, and is never removed but by a reset.
#[derive(Debug)]
pub struct Delivery {
    /// The id.
    pub id: Arc<str>,
    /// When it was appended, on the world's clock.
    pub arrived: OffsetDateTime,
    /// The verdict on its signature; none where no secret is configured.
    pub signature: Option<Cow<'static, str>>,
    /// What was sent.
    pub sent: Arc<Sent>,
}

impl Object for Delivery {
    const TABLE: &'static str = "deliveries";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

/// Is what was sent, cleaned of secrets.
#[derive(Debug)]
pub struct Sent {
    /// The target's name.
    pub target: Arc<str>,
    /// The method.
    pub method: http::Method,
    /// The path, as sent.
    pub path: Box<str>,
    /// The query, as sent.
    pub query: Box<str>,
    /// The headers, one a line, names in lower case. They stay when the body is let go, so that a delivery can always be found by them.
    pub headers: Box<str>,
    /// The body.
    pub body: Body,
}

impl Sent {
    /// Reads a request, and keeps its body within the ledger's budget.
    pub(super) fn new(target: Arc<str>, request: &HttpRequest, ledger: &Ledger) -> Self {
        let mut headers = String::new();
        for (name, value) in &request.headers {
            let value = String::from_utf8_lossy(value.as_bytes());
            headers.push_str(name.as_str());
            headers.push_str(": ");
            headers.push_str(&secrets::clean_header(name.as_str(), &value));
            headers.push('\n');
        }
        let body = match secrets::clean_bytes(&request.body) {
            // Nothing was hidden: the bytes are shared, not copied.
            clean if *clean == *request.body => request.body.clone(),
            clean => clean.into_owned().into(),
        };
        Self {
            target,
            method: request.method.clone(),
            path: secrets::clean(&request.path).into(),
            query: secrets::clean(&request.query).into(),
            headers: headers.into(),
            body: ledger.keep(bytes::Bytes::new(), body, false),
        }
    }

    /// Iterates over the headers.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.lines().filter_map(|line| line.split_once(": "))
    }

    /// Says whether a header has a value; a secret is found by itself and by its mark.
    #[must_use]
    pub fn has_header(&self, name: &str, value: &str) -> bool {
        let clean = secrets::clean_header(name, value);
        self.headers()
            .any(|(n, v)| n.eq_ignore_ascii_case(name) && (v == value || v == clean))
    }
}

/// Says that a text names no target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a target has 1 to {LONGEST_NAME} characters")]
pub struct InvalidName;

/// Reads a target's name from the rest of a path, decoded.
///
/// # Errors
///
/// Fails if nothing is left without the slashes at the end, or too much.
pub fn name(rest: &str) -> Result<Arc<str>, InvalidName> {
    let rest = rest.trim_end_matches('/');
    if !(1..=LONGEST_NAME).contains(&rest.chars().count()) {
        return Err(InvalidName);
    }
    Ok(secrets::clean(rest).into())
}

/// Finds a target.
#[must_use]
pub fn find(tx: &mut Tx<'_>, name: &str) -> Option<Arc<Target>> {
    tx.enter(&PARTITION);
    tx.get::<Target>(name)
}

/// Lists the targets by name.
#[must_use]
pub fn all(tx: &mut Tx<'_>) -> Vec<Arc<Target>> {
    tx.enter(&PARTITION);
    let mut targets: Vec<_> = tx.list::<Target>().collect();
    targets.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    targets
}

/// Moves to the partition in which the deliveries of a target are, each target's in the order of their arrival.
pub fn enter(tx: &mut Tx<'_>, name: &str) {
    tx.enter(&format!("webhook:{name}").into());
}

/// Changes what a target is told.
pub fn change(tx: &mut Tx<'_>, name: &Arc<str>, change: &Change) -> Arc<Target> {
    let target = find(tx, name);
    let mut target = target.map_or_else(|| fresh(name), |t| (*t).clone());
    target.settings = target.settings.changed(change);
    tx.put(target)
}

/// Tells a target nothing any more; its deliveries stay.
pub fn clear(tx: &mut Tx<'_>, name: &Arc<str>) -> Arc<Target> {
    let target = find(tx, name);
    let mut target = target.map_or_else(|| fresh(name), |t| (*t).clone());
    target.settings = Settings::default();
    if target.deliveries == 0 {
        tx.remove::<Target>(name);
        return Arc::new(target);
    }
    tx.put(target)
}

/// Appends a delivery: one more of its target, and an effect.
pub(super) fn append(tx: &mut Tx<'_>, sent: &Arc<Sent>, request: &HttpRequest) -> (Arc<Delivery>, Settings) {
    let target = find(tx, &sent.target);
    let mut target = target.map_or_else(|| fresh(&sent.target), |t| (*t).clone());
    let (arrived, settings) = (tx.now(), target.settings.clone());
    target.deliveries += 1;
    target.last = Some(arrived);
    tx.put(target);
    enter(tx, &sent.target);
    let delivery = tx.new_id("whd_");
    tx.effect("delivery", &delivery);
    let delivery = tx.put(Delivery {
        id: delivery,
        arrived,
        signature: settings
            .secret
            .as_ref()
            .map(|s| s.verdict(&request.headers, &request.body, arrived)),
        sent: Arc::clone(sent),
    });
    (delivery, settings)
}

fn fresh(name: &Arc<str>) -> Target {
    Target {
        name: Arc::clone(name),
        deliveries: 0,
        last: None,
        settings: Settings::default(),
    }
}
