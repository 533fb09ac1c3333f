//! Signatures of deliveries, made and judged: Standard Webhooks and Stripe.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use time::OffsetDateTime;

use crate::ledger::secrets;

/// How far a timestamp may be off, both ways, in seconds: the default of both schemes' libraries.
const TOLERANCE: u64 = 300;
const LONGEST_SECRET: usize = 256;

/// Names the way in which a delivery is signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// `webhook-signature: v1,BASE64` over id, timestamp and body.
    #[default]
    Standard,
    /// `Stripe-Signature: t=SECONDS,v1=HEX` over timestamp and body.
    Stripe,
}

type Judged = Result<&'static str, Cow<'static, str>>;

/// Is the secret of a target; it is shown as a mark and never as it is.
#[derive(Clone)]
pub struct Secret {
    scheme: Scheme,
    key: Arc<[u8]>,
    mark: Arc<str>,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.scheme, self.mark)
    }
}

impl Secret {
    /// Reads a secret.
    ///
    /// # Errors
    ///
    /// Says what is allowed if the text is no secret of the scheme.
    pub fn parse(scheme: Scheme, text: &str) -> Result<Self, &'static str> {
        let key = match scheme {
            Scheme::Standard => {
                let encoded = text.strip_prefix("whsec_");
                let key = encoded.and_then(|e| STANDARD.decode(e).ok()).filter(|k| !k.is_empty());
                key.ok_or("`whsec_` and base64")?
            }
            // Stripe's key is the whole text, prefix included.
            Scheme::Stripe => text.as_bytes().to_vec(),
        };
        if !(1..=LONGEST_SECRET).contains(&text.len()) {
            return Err("1 to 256 bytes");
        }
        Ok(Self {
            scheme,
            key: key.into(),
            mark: secrets::mark(text.as_bytes()).into(),
        })
    }

    /// Returns another secret of the same scheme, which no receiver has.
    #[must_use]
    pub fn wrong(&self) -> Self {
        let key: Vec<u8> = self.key.iter().copied().chain(*b"_wrong").collect();
        Self {
            mark: secrets::mark(&key).into(),
            key: key.into(),
            ..self.clone()
        }
    }

    /// Returns the scheme.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Returns the mark that stands for the secret.
    #[must_use]
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// Judges a delivery's signature: `valid`, `missing`, `stale` (it matches, its time does not) or `invalid: …`.
    #[must_use]
    pub fn verdict(&self, headers: &HeaderMap, body: &[u8], now: OffsetDateTime) -> Cow<'static, str> {
        let judged = match self.scheme {
            Scheme::Standard => self.standard(headers, body, now),
            Scheme::Stripe => self.stripe(headers, body, now),
        };
        judged.map_or_else(|fault| fault, Cow::Borrowed)
    }

    /// Signs a body: returns the headers to send with it. Standard Webhooks signs the id too; Stripe has none beside the body's own.
    #[must_use]
    pub fn headers(&self, id: &str, timestamp: i64, body: &[u8]) -> Vec<(&'static str, String)> {
        let time = timestamp.to_string();
        match self.scheme {
            Scheme::Standard => {
                let message = [id.as_bytes(), b".", time.as_bytes(), b".", body];
                let signature = STANDARD.encode(self.mac(&message).finalize().into_bytes());
                vec![
                    ("webhook-id", id.to_owned()),
                    ("webhook-timestamp", time),
                    ("webhook-signature", format!("v1,{signature}")),
                ]
            }
            Scheme::Stripe => {
                let signature = self.mac(&[time.as_bytes(), b".", body]).finalize().into_bytes();
                let hex: String = signature.iter().map(|byte| format!("{byte:02x}")).collect();
                vec![("stripe-signature", format!("t={time},v1={hex}"))]
            }
        }
    }

    fn mac(&self, message: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("HMAC takes a key of any length");
        for part in message {
            mac.update(part);
        }
        mac
    }

    fn standard(&self, headers: &HeaderMap, body: &[u8], now: OffsetDateTime) -> Judged {
        let header = |name| text(headers, name).ok_or(Cow::Borrowed("missing"));
        let (id, timestamp) = (header("webhook-id")?, header("webhook-timestamp")?);
        let mut given = header("webhook-signature")?
            .split(' ')
            .filter_map(|s| STANDARD.decode(s.strip_prefix("v1,")?).ok())
            .peekable();
        if given.peek().is_none() {
            return Err("invalid: webhook-signature has no `v1,BASE64`".into());
        }
        let message = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body];
        self.judge(&message, given, timestamp, now)
    }

    fn stripe(&self, headers: &HeaderMap, body: &[u8], now: OffsetDateTime) -> Judged {
        let header = text(headers, "stripe-signature").ok_or("missing")?;
        let items = || header.split(',').filter_map(|item| item.trim().split_once('='));
        let timestamp = items().rfind(|(name, _)| *name == "t");
        let (_, timestamp) = timestamp.ok_or("invalid: Stripe-Signature has no `t=SECONDS`")?;
        let mut given = items()
            .filter(|(name, _)| *name == "v1")
            .filter_map(|(_, hex)| unhex(hex))
            .peekable();
        if given.peek().is_none() {
            return Err("invalid: Stripe-Signature has no `v1=HEX`".into());
        }
        self.judge(&[timestamp.as_bytes(), b".", body], given, timestamp, now)
    }

    fn judge(
        &self,
        message: &[&[u8]],
        mut given: impl Iterator<Item = Vec<u8>>,
        timestamp: &str,
        now: OffsetDateTime,
    ) -> Judged {
        let signed: i64 = timestamp
            .parse()
            .map_err(|_| "invalid: the timestamp is no number of seconds")?;
        let mac = self.mac(message);
        if !given.any(|signature| mac.clone().verify_slice(&signature).is_ok()) {
            return Err("invalid: no signature matches".into());
        }
        if signed.abs_diff(now.unix_timestamp()) > TOLERANCE {
            return Err("stale".into());
        }
        Ok("valid")
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs
        .iter()
        .map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the Standard Webhooks specification's reference libraries.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const SIGNED: i64 = 1_614_265_330;
    const BODY: &str = r#"{"test": 2432232314}"#;
    const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    fn given(headers: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = headers.iter().map(|(n, v)| (n.parse().unwrap(), v.parse().unwrap()));
        pairs.collect()
    }

    fn standard(signature: &str, body: &'static str, late: i64) -> String {
        let headers = [
            ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
            ("webhook-timestamp", "1614265330"),
            ("webhook-signature", signature),
        ];
        let secret = Secret::parse(Scheme::Standard, SECRET).expect("a secret");
        let now = OffsetDateTime::from_unix_timestamp(SIGNED + late).expect("a time");
        secret.verdict(&given(&headers), body.as_bytes(), now).into_owned()
    }

    #[test]
    fn the_vector_of_standard_webhooks_is_valid() {
        assert_eq!(standard(SIGNATURE, BODY, 0), "valid");
        let among = format!("v1,AAAA v1a,xyz {SIGNATURE}");
        assert_eq!(standard(&among, BODY, 300), "valid");
        assert_eq!(standard(SIGNATURE, BODY, -300), "valid");
    }

    #[test]
    fn what_is_signed_is_what_others_sign() {
        let standard = Secret::parse(Scheme::Standard, SECRET).expect("a secret");
        assert_eq!(
            standard.headers("msg_p5jXN8AQM9LWM0D4loKWxJek", SIGNED, BODY.as_bytes()),
            [
                ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek".to_owned()),
                ("webhook-timestamp", SIGNED.to_string()),
                ("webhook-signature", SIGNATURE.to_owned()),
            ]
        );
        let stripe = Secret::parse(Scheme::Stripe, "whsec_test_secret").expect("a secret");
        let value = format!("t={SIGNED},v1=10c96c6fd3f320fcfc264cdc4f476c15060ede8e8a08404cea2ddf3b72544a9c");
        assert_eq!(
            stripe.headers("ignored", SIGNED, BODY.as_bytes()),
            [("stripe-signature", value)]
        );
    }

    #[test]
    fn what_does_not_match_or_is_old_is_told_apart() {
        assert_eq!(standard(SIGNATURE, BODY, 301), "stale");
        assert_eq!(standard(SIGNATURE, BODY, -301), "stale");
        assert_eq!(
            standard(SIGNATURE, r#"{"test": 1}"#, 301),
            "invalid: no signature matches"
        );
        assert_eq!(
            standard("v2,AAAA", BODY, 0),
            "invalid: webhook-signature has no `v1,BASE64`"
        );
        let secret = Secret::parse(Scheme::Standard, SECRET).expect("a secret");
        assert_eq!(
            secret.verdict(&HeaderMap::new(), BODY.as_bytes(), OffsetDateTime::UNIX_EPOCH),
            "missing"
        );
    }

    #[test]
    fn stripe_signs_with_the_whole_secret() {
        let text = "whsec_test_secret";
        let mut mac = Hmac::<Sha256>::new_from_slice(text.as_bytes()).expect("any length");
        mac.update(format!("{SIGNED}.{BODY}").as_bytes());
        let good: String = mac.finalize().into_bytes().iter().map(|b| format!("{b:02x}")).collect();
        // Made with `openssl dgst -sha256 -hmac`, so that this does not only agree with itself.
        assert_eq!(good, "10c96c6fd3f320fcfc264cdc4f476c15060ede8e8a08404cea2ddf3b72544a9c");
        let secret = Secret::parse(Scheme::Stripe, text).expect("a secret");
        let judge = |header: &str, late: i64| {
            let now = OffsetDateTime::from_unix_timestamp(SIGNED + late).expect("a time");
            secret
                .verdict(&given(&[("stripe-signature", header)]), BODY.as_bytes(), now)
                .into_owned()
        };
        assert_eq!(judge(&format!("t={SIGNED},v1={good}"), 0), "valid");
        assert_eq!(judge(&format!("t={SIGNED},v1=00,v1={good},v0=ff"), 0), "valid");
        assert_eq!(judge(&format!("t={SIGNED},v1={good}"), 301), "stale");
        assert_eq!(
            judge(&format!("t={},v1={good}", SIGNED + 1), 0),
            "invalid: no signature matches"
        );
        assert_eq!(
            judge(&format!("v1={good}"), 0),
            "invalid: Stripe-Signature has no `t=SECONDS`"
        );
        assert_eq!(
            judge(&format!("t={SIGNED},v1=xyz"), 0),
            "invalid: Stripe-Signature has no `v1=HEX`"
        );
        assert_eq!(
            judge(&format!("t=soon,v1={good}"), 0),
            "invalid: the timestamp is no number of seconds"
        );
    }

    #[test]
    fn a_secret_has_a_form_and_is_never_shown() {
        for bad in ["", "whsec_", "whsec_!!", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] {
            assert!(Secret::parse(Scheme::Standard, bad).is_err(), "{bad}");
        }
        assert!(Secret::parse(Scheme::Stripe, "").is_err());
        let secret = Secret::parse(Scheme::Standard, SECRET).expect("a secret");
        assert!(!format!("{secret:?} {}", secret.mark()).contains("MfKQ"));
    }
}
