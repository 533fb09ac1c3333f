//! Refusals that no operation makes: an unknown path, a key that cannot be used, what a fault asks for.

use super::Call;
use super::declines::{self, Decline};
use super::failure::Failure;
use crate::attempt::{Conflict, HttpRequest, Refusal};

/// Says that there is no such path.
pub(crate) fn unrecognized(request: &HttpRequest) -> Box<Failure> {
    let path: String = request.path.chars().take(500).collect();
    let message = format!(
        "Unrecognized request URL ({}: {path}). Please see https://stripe.com/docs or we can help at \
         https://support.stripe.com/.",
        request.method
    );
    Failure::new(404, "invalid_request_error", message)
}

/// Says why a key cannot be used now.
pub(crate) fn conflict(request: &HttpRequest, call: &Call, conflict: &Conflict<'_>) -> Box<Failure> {
    let key = call.key.as_deref().unwrap_or_default();
    let other = "Try using a key other than";
    match conflict {
        Conflict::InFlight => {
            let message = format!(
                "There is currently another in-progress request using this Idempotent Key (that probably means you submitted \
                 twice, and the other request is still going through): {key}. Please try again later."
            );
            Failure::new(409, "invalid_request_error", message).code("idempotency_key_in_use")
        }
        Conflict::Mismatch(first) if **first != *request.path => {
            let this = &request.path;
            let message = format!(
                "Keys for idempotent requests can only be used for the same endpoint they were first used for ('{this}' vs \
                 '{first}'). {other} '{key}' if you meant to execute a different request."
            );
            Failure::new(400, "idempotency_error", message)
        }
        Conflict::Mismatch(_) => {
            let message = format!(
                "Keys for idempotent requests can only be used with the same parameters they were first used with. {other} \
                 '{key}' if you meant to execute a different request."
            );
            Failure::new(400, "idempotency_error", message)
        }
    }
}

/// Speaks a refusal that a fault asks for; without a status it is a decline.
pub(crate) fn injected(refusal: &Refusal) -> Box<Failure> {
    let code = refusal.code.as_deref();
    let status = refusal.status.unwrap_or(match code {
        Some("rate_limit") => 429,
        Some("lock_timeout" | "idempotency_key_in_use") => 409,
        _ => 402,
    });
    let (kind, message, usual) = match status {
        402 => return declined(code),
        401 => ("invalid_request_error", "Invalid API Key provided: sk_test_***", None),
        409 => ("invalid_request_error", LOCKED, Some("lock_timeout")),
        429 if code == Some("lock_timeout") => ("invalid_request_error", LOCKED, None),
        429 => ("invalid_request_error", LIMITED, Some("rate_limit")),
        424 => ("api_error", "A request to an external dependency failed.", None),
        400..=499 => ("invalid_request_error", "The request was refused.", None),
        _ => ("api_error", "An unknown error occurred", None),
    };
    let failure = Failure::new(status, kind, message);
    match code.or(usual) {
        Some(code) => failure.code(code.to_owned()),
        None => failure,
    }
}

/// Declines as the issuer would for this code, which may be a decline code.
fn declined(code: Option<&str>) -> Box<Failure> {
    let is_it = |decline: &&Decline| code == Some(decline.code) || code == decline.decline_code;
    match code {
        None | Some("card_declined") => Failure::card(&declines::GENERIC),
        Some(code) => match declines::all().find(is_it) {
            Some(decline) => Failure::card(decline),
            None => Failure::new(402, "card_error", declines::GENERIC.message).code(code.to_owned()),
        },
    }
}

const LIMITED: &str =
    "Request rate limit exceeded. Learn more about rate limits here: https://stripe.com/docs/rate-limits.";
const LOCKED: &str = "This object cannot be accessed right now because another API request or Stripe process is currently \
                      accessing it. If you see this error intermittently, retry the request. If you see this error \
                      frequently and are making multiple concurrent requests to a single object, make your requests \
                      serially or at a lower rate. For more details, see \
                      https://stripe.com/docs/rate-limits#object-lock-timeouts.";
