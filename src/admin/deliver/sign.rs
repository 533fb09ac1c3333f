//! Signs the events of one call.

use serde_json::Value;
use time::OffsetDateTime;

use super::asked::{Invalid, invalid, only};
use crate::attempt::{Seal, Sealer};
use crate::deliver::{Parcel, Scheme, Secret};
use crate::ledger::secrets;

const SIGN_FIELDS: &str = "scheme, secret, timestamp, id";

/// Is how events are signed.
#[derive(Clone, Debug)]
pub(super) struct Sign {
    secret: Secret,
    timestamp: i64,
    id: Option<String>,
}

/// Is how the events of one call are signed, if they are.
#[derive(Clone, Debug)]
pub(super) struct Signed(pub(super) Option<Sign>);

impl Sealer for Signed {
    fn reseal(&self, parcel: &Parcel, seal: Seal) -> Option<Parcel> {
        Some(self.0.as_ref()?.again(parcel, seal))
    }
}

impl Sign {
    pub(super) fn read(value: &Value, events: usize) -> Result<Self, Invalid> {
        let hidden = Value::from("…");
        let allowed = format!("an object of {SIGN_FIELDS}");
        let fields = value.as_object().ok_or_else(|| invalid("sign", &hidden, &allowed))?;
        only(fields, "sign.", SIGN_FIELDS)?;
        let get = |field: &str| fields.get(field).filter(|value| !value.is_null());
        let scheme = match get("scheme").map(|value| (value.as_str(), value)) {
            Some((Some("stripe"), _)) => Scheme::Stripe,
            Some((Some("standard"), _)) => Scheme::Standard,
            Some((_, value)) => return Err(invalid("sign.scheme", value, "stripe, standard")),
            None => return Err(invalid("sign.scheme", &Value::Null, "stripe, standard")),
        };
        let text = get("secret").and_then(Value::as_str);
        let secret = match text.map(|text| (Secret::parse(scheme, text), text)) {
            Some((Ok(secret), _)) => secret,
            Some((Err(allowed), text)) => {
                let mark = Value::from(secrets::mark(text.as_bytes()));
                return Err(invalid("sign.secret", &mark, allowed));
            }
            None => return Err(invalid("sign.secret", &hidden, "a text like `whsec_…`")),
        };
        let now = || OffsetDateTime::now_utc().unix_timestamp();
        let timestamp = get("timestamp").map(|value| {
            let seconds = value.as_i64().filter(|seconds| *seconds >= 0);
            seconds.ok_or_else(|| invalid("sign.timestamp", value, "seconds since 1970"))
        });
        let id = get("id").map(|value| match (value.as_str(), scheme, events) {
            (_, Scheme::Stripe, _) => Err(invalid("sign.id", value, "none with scheme stripe, which signs no id")),
            (_, _, 2..) => {
                let allowed = "none with several events; give each a webhook-id header, or let it be made";
                Err(invalid("sign.id", value, allowed))
            }
            (Some(id), ..) if (1..=256).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic()) => {
                Ok(id.to_owned())
            }
            _ => Err(invalid("sign.id", value, "1 to 256 visible ASCII characters")),
        });
        Ok(Self {
            secret,
            timestamp: timestamp.transpose()?.unwrap_or_else(now),
            id: id.transpose()?,
        })
    }

    /// Signs each event; all its copies have the one signature, as a message that is delivered again has its first id.
    pub(super) fn all(&self, parcels: &mut [Parcel]) -> Result<(), Invalid> {
        for parcel in parcels {
            let id = self.id_of(parcel)?;
            parcel.headers.remove("webhook-id");
            for (name, value) in self.secret.headers(&id, self.timestamp, &parcel.body) {
                let given = parcel.headers.contains_key(name);
                if given || parcel.header(name, &value).is_err() {
                    let allowed = format!("no `{name}` beside `sign`, which makes it");
                    return Err(invalid("headers", &Value::from(name), &allowed));
                }
            }
        }
        Ok(())
    }

    /// Signs again what was signed, under the same id.
    fn again(&self, parcel: &Parcel, seal: Seal) -> Parcel {
        let (secret, timestamp) = match seal {
            Seal::Right => (self.secret.clone(), self.timestamp),
            Seal::WrongSecret => (self.secret.wrong(), self.timestamp),
            Seal::Aged(age) => (self.secret.clone(), self.timestamp.saturating_sub(age.whole_seconds())),
        };
        let mut parcel = parcel.clone();
        let id = parcel.header_str("webhook-id").unwrap_or_default().to_owned();
        for (name, value) in secret.headers(&id, timestamp, &parcel.body) {
            parcel.headers.remove(name);
            // What was sent once can be sent again: only digits and letters are others.
            drop(parcel.header(name, &value));
        }
        parcel
    }

    fn id_of(&self, parcel: &Parcel) -> Result<String, Invalid> {
        let given = parcel.header_str("webhook-id");
        match (&self.id, given) {
            (Some(_), Some(given)) => {
                let allowed = "the id in one place: `sign.id` or the header";
                Err(invalid("headers.webhook-id", &Value::from(given), allowed))
            }
            (Some(id), None) => Ok(id.clone()),
            (None, Some(given)) => Ok(given.to_owned()),
            (None, None) => {
                let letters = std::iter::repeat_with(fastrand::alphanumeric).take(24);
                Ok(format!("msg_{}", letters.collect::<String>()))
            }
        }
    }
}
