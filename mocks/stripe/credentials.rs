//! API keys and connected accounts. Any test key is right; no live key ever is.

use std::sync::Arc;

use base64::Engine as _;

use super::failure::{Failure, Outcome};
use crate::attempt::HttpRequest;

/// Checks the key of a request.
pub(crate) fn check(request: &HttpRequest, publishable: bool) -> Outcome<()> {
    let Some(key) = api_key(request) else {
        return Err(refuse(
            "You did not provide an API key. You need to provide your API key in the Authorization header, using Bearer \
             auth (e.g. 'Authorization: Bearer YOUR_SECRET_KEY'). See https://stripe.com/docs/api#authentication for \
             details, or we can help at https://support.stripe.com/.",
        ));
    };
    let is = |prefixes: &[&str]| {
        let rest = prefixes.iter().find_map(|p| key.strip_prefix(p));
        rest.is_some_and(|r| !r.is_empty() && r.bytes().all(|b| b.is_ascii_graphic()))
    };
    if is(&["sk_live_", "rk_live_", "pk_live_"]) {
        return Err(refuse(
            "Live API keys are refused here: this is a test double, and nothing is charged. Use a test key (sk_test_... or \
             rk_test_...), and treat the live key that you sent as exposed.",
        ));
    }
    if is(&["sk_test_", "rk_test_"]) || (publishable && is(&["pk_test_"])) {
        return Ok(());
    }
    if is(&["pk_test_"]) {
        return Err(refuse(
            "This API call cannot be made with a publishable API key. Please use a secret API key. You can find a list of \
             your API keys at https://dashboard.stripe.com/account/apikeys.",
        )
        .code("secret_key_required"));
    }
    Err(refuse(format!("Invalid API Key provided: {}", mask(&key))))
}

/// Returns the connected account that a request acts for; empty if it names none.
pub(crate) fn account(request: &HttpRequest) -> Outcome<Arc<str>> {
    let Some(value) = request.headers.get("stripe-account") else {
        return Ok("".into());
    };
    named_account(&String::from_utf8_lossy(value.as_bytes()), request)
}

/// Checks the name of a connected account.
pub(crate) fn named_account(account: &str, request: &HttpRequest) -> Outcome<Arc<str>> {
    const MAX: usize = 64;
    let rest = account.strip_prefix("acct_").unwrap_or_default();
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if (1..=MAX).contains(&rest.len()) && rest.bytes().all(is_word) {
        return Ok(account.into());
    }
    let key = mask(&api_key(request).unwrap_or_default());
    let shown: String = account.chars().take(100).collect();
    let message = format!(
        "The provided key '{key}' does not have access to account '{shown}' (or that account does not exist). Application \
         access may have been revoked."
    );
    Err(Failure::new(403, "invalid_request_error", message).code("account_invalid"))
}

/// Returns the key: a bearer token, or the user's name of Basic.
fn api_key(request: &HttpRequest) -> Option<String> {
    let value = request.headers.get("authorization")?;
    let value = String::from_utf8_lossy(value.as_bytes());
    let (scheme, rest) = value.trim().split_once(' ')?;
    let rest = rest.trim();
    let key = if scheme.eq_ignore_ascii_case("bearer") {
        rest.to_owned()
    } else if scheme.eq_ignore_ascii_case("basic") {
        let decoded = base64::engine::general_purpose::STANDARD.decode(rest).ok()?;
        let decoded = String::from_utf8_lossy(&decoded).into_owned();
        decoded.split(':').next().unwrap_or_default().to_owned()
    } else {
        return None;
    };
    (!key.is_empty()).then_some(key)
}

/// Hides a key, all but what kind it is.
fn mask(key: &str) -> String {
    const KINDS: [&str; 6] = ["sk_test_", "rk_test_", "pk_test_", "sk_live_", "rk_live_", "pk_live_"];
    let kind = KINDS.iter().find(|k| key.starts_with(**k)).unwrap_or(&"");
    format!("{kind}***")
}

fn refuse(message: impl Into<std::borrow::Cow<'static, str>>) -> Box<Failure> {
    Failure::new(401, "invalid_request_error", message)
}
