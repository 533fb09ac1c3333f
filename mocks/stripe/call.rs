//! A request as it is understood, before any state is looked at.

use std::sync::Arc;

use time::Duration;

use super::failure::{Failure, Outcome};
use super::form::{self, Fields, Value};
use super::{answer, credentials, refusal, routes, v2};
use crate::attempt::{HttpRequest, Identified, Kind, hash};
use crate::idempotency::Key;
use crate::ledger::{Correlation, Hash, Reply};

/// How long a record is kept.
const KEPT: Duration = Duration::hours(24);
/// The longest key.
const MAX_KEY: usize = 255;

/// Is Stripe's reading of a request.
#[derive(Debug)]
pub struct Call {
    pub(crate) request_id: Arc<str>,
    /// The connected account that is acted for; empty for the platform's own.
    pub(crate) account: Arc<str>,
    /// The value of Idempotency-Key, on whatever method.
    pub(crate) key: Option<Arc<str>>,
    /// The parameters of query and body; empty where they could not be read.
    pub(crate) fields: Fields,
    /// Whether it is of API v2.
    pub(crate) v2: bool,
}

/// Reads a request.
pub(crate) fn identify(request: &HttpRequest) -> Identified<Call> {
    let mut call = Call {
        request_id: new_request_id(),
        account: "".into(),
        key: key_of(request),
        fields: Fields::default(),
        v2: v2::is_v2(&request.path),
    };
    let early = read(request, &mut call).err();
    let early = early.map(|failure| refuse(&failure, request, &call));
    let keyed = early.is_none() && takes_key(&request.method, call.v2);
    let key = call.key.as_ref().filter(|_| keyed);
    let key = key.map(|value| Key {
        partition: partition(&call.account),
        value: Arc::clone(value),
        fingerprint: fingerprint(request, &call, None),
        endpoint: request.path.as_str().into(),
        kept: if call.v2 { v2::KEPT } else { KEPT },
    });
    let writes = early.is_none() && request.operation.kind == Kind::Write;
    let correlation = || Correlation {
        by: "parameters",
        hash: fingerprint(request, &call, Some("expand")),
    };
    Identified {
        correlations: writes.then(correlation).into_iter().collect(),
        name: call.key.clone(),
        key,
        recorded: None,
        early,
        call,
    }
}

/// Reads what has to be right before the key is looked at.
fn read(request: &HttpRequest, call: &mut Call) -> Outcome<()> {
    let matched = routes::find(&request.method, &request.path);
    let keyless = matched.is_some_and(|m| m.route.keyless);
    if !keyless || request.headers.contains_key("authorization") {
        credentials::check(request, matched.is_some_and(|m| m.route.publishable))?;
    }
    call.account = credentials::account(request)?;
    if matched.is_none() {
        return Err(refusal::unrecognized(request));
    }
    if takes_key(&request.method, call.v2)
        && let Some(key) = &call.key
    {
        check_key(key)?;
    }
    call.fields = if call.v2 { v2::fields(request) } else { fields(request) }?;
    if let Some(Value::Text(account)) = call
        .fields
        .get("account")
        .filter(|_| keyless && call.account.is_empty())
    {
        call.account = credentials::named_account(account, request)?;
    }
    Ok(())
}

/// Says whether a key has its effect on this method: POST, and with API v2 also DELETE.
fn takes_key(method: &http::Method, v2: bool) -> bool {
    *method == http::Method::POST || (v2 && *method == http::Method::DELETE)
}

fn fields(request: &HttpRequest) -> Outcome<Fields> {
    let kind = request.header_str("content-type").unwrap_or(FORM);
    let is_form = kind.trim_start().to_ascii_lowercase().starts_with(FORM);
    if !request.body.is_empty() && !is_form {
        return Err(Failure::invalid(
            "Invalid request (check that your POST content type is application/x-www-form-urlencoded). If you have any \
             questions, we can help at https://support.stripe.com/.",
        ));
    }
    let forms = [request.query.as_bytes(), &request.body];
    form::decode(forms).map_err(|malformed| Failure::invalid(malformed.to_string()))
}

const FORM: &str = "application/x-www-form-urlencoded";

/// Returns the key; one that is not UTF-8 byte for byte, so that no two keys become one.
fn key_of(request: &HttpRequest) -> Option<Arc<str>> {
    let bytes = request.headers.get("idempotency-key")?.as_bytes();
    let text = std::str::from_utf8(bytes).map(Arc::from);
    Some(text.unwrap_or_else(|_| bytes.iter().copied().map(char::from).collect::<String>().into()))
}

fn check_key(key: &str) -> Outcome<()> {
    let length = key.chars().count();
    if (1..=MAX_KEY).contains(&length) {
        return Ok(());
    }
    let message = format!(
        "Idempotent key length is {length} characters long, which is outside accepted lengths. Idempotent Keys must be \
         1-{MAX_KEY} characters long. If you're looking for a decent generator, try using a UUID defined by IETF RFC 4122."
    );
    Err(Failure::new(400, "idempotency_error", message))
}

fn partition(account: &str) -> Arc<str> {
    if account.is_empty() {
        "stripe".into()
    } else {
        format!("stripe/{account}").into()
    }
}

/// Hashes what was asked for, in whatever order it was written.
fn fingerprint(request: &HttpRequest, call: &Call, leave_out: Option<&str>) -> Hash {
    let canonical = call.fields.canonical(leave_out);
    let names: Vec<String> = canonical.iter().map(|(path, _)| path.join("][")).collect();
    let head = [request.method.as_str(), &request.path, &call.account];
    let pairs = names
        .iter()
        .zip(&canonical)
        .flat_map(|(name, (_, value))| [name, *value]);
    hash(head.into_iter().chain(pairs).map(str::as_bytes))
}

fn refuse(failure: &Failure, request: &HttpRequest, call: &Call) -> Reply {
    answer::unsaved(answer::failure(failure, call), request, call)
}

fn new_request_id() -> Arc<str> {
    let letters: String = std::iter::repeat_with(fastrand::alphanumeric).take(14).collect();
    format!("req_{letters}").into()
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::takes_key;

    #[test]
    fn a_key_is_for_posts_and_in_v2_for_deletes_too() {
        assert!(takes_key(&Method::POST, false) && takes_key(&Method::POST, true));
        assert!(!takes_key(&Method::DELETE, false) && takes_key(&Method::DELETE, true));
        assert!(!takes_key(&Method::GET, true));
    }
}
