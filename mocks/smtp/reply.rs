//! Replies that are no acceptance, with enhanced status codes (RFC 3463, RFC 5248).

use crate::attempt::Refusal;
use crate::ledger::Reply;

/// Speaks a refusal: 451 unless another status was asked for.
///
/// A `code` of the form `4.7.1` takes the place of the enhanced code that goes with the status; any other is said in the text.
#[must_use]
pub fn refusal(refusal: &Refusal) -> Reply {
    let status = refusal.status.unwrap_or(451);
    let (usual, text) = enhanced(status);
    let text = match refusal.code.as_deref() {
        Some(code) if is_enhanced(code) => format!("{code} {text}"),
        Some(code) => format!("{usual} {text} ({code})"),
        None => format!("{usual} {text}"),
    };
    Reply::new(status, text.trim_start().to_owned())
}

/// Returns the enhanced code and the text that usually go with a reply code. Only 2yz, 4yz and 5yz have enhanced codes.
fn enhanced(status: u16) -> (&'static str, &'static str) {
    match status {
        421 => ("4.3.2", "Service not available, closing transmission channel"),
        450 => ("4.2.1", "Requested mail action not taken: mailbox unavailable"),
        451 => ("4.3.0", "Requested action aborted: local error in processing"),
        452 => ("4.3.1", "Requested action not taken: insufficient system storage"),
        454 => ("4.7.0", "Temporary authentication failure"),
        455 => ("4.5.4", "Server unable to accommodate parameters"),
        500 => ("5.5.2", "Syntax error, command unrecognized"),
        501 => ("5.5.4", "Syntax error in parameters or arguments"),
        502 => ("5.5.1", "Command not implemented"),
        503 => ("5.5.1", "Bad sequence of commands"),
        504 => ("5.5.4", "Command parameter not implemented"),
        530 => ("5.7.0", "Authentication required"),
        535 => ("5.7.8", "Authentication credentials invalid"),
        550 => ("5.1.1", "Requested action not taken: mailbox unavailable"),
        551 => ("5.1.6", "User not local"),
        552 => ("5.3.4", "Requested mail action aborted: message too big"),
        553 => ("5.1.3", "Requested action not taken: mailbox name not allowed"),
        554 => ("5.6.0", "Transaction failed"),
        555 => (
            "5.5.4",
            "MAIL FROM/RCPT TO parameters not recognized or not implemented",
        ),
        _ => match status / 100 {
            2 => ("2.0.0", "Ok"),
            4 => ("4.0.0", "Requested action not taken"),
            5 => ("5.0.0", "Requested action not taken"),
            _ => ("", "Ok"),
        },
    }
}

/// Says whether a text is an enhanced status code.
fn is_enhanced(code: &str) -> bool {
    let mut parts = code.split('.');
    let class = matches!(parts.next(), Some("2" | "4" | "5"));
    let mut number = || {
        let part = parts.next().unwrap_or_default();
        (1..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
    };
    class && number() && number() && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(status: Option<u16>, code: Option<&str>) -> String {
        let refusal = Refusal {
            status,
            code: code.map(Into::into),
        };
        let reply = super::refusal(&refusal);
        format!("{} {}", reply.status, String::from_utf8_lossy(&reply.content.bytes()))
    }

    #[test]
    fn the_enhanced_code_goes_with_the_status_unless_given() {
        assert!(text(None, None).starts_with("451 4.3.0 Requested"));
        assert!(text(Some(554), None).starts_with("554 5.6.0 "));
        assert!(text(Some(459), None).starts_with("459 4.0.0 "));
        assert!(text(Some(550), Some("5.7.1")).starts_with("550 5.7.1 Requested"));
        assert!(text(Some(550), Some("spam")).ends_with("(spam)"));
        assert!(text(Some(354), None).starts_with("354 Ok"));
        for no in ["5.7", "3.1.1", "5.7.1.1", "5.x.1", "5.1234.1", ""] {
            assert!(!is_enhanced(no), "{no}");
        }
    }
}
