//! What is sent: method, headers, body.

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderName, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request};
use http_body_util::Full;

use super::Target;

/// What the connection itself says. A wrong one would make the request another than the one that is counted.
const OURS: [HeaderName; 6] = [CONTENT_LENGTH, TRANSFER_ENCODING, CONNECTION, TE, TRAILER, UPGRADE];

/// Is a request as it is sent, to whichever target.
#[derive(Clone, Debug, Default)]
pub struct Parcel {
    /// The method.
    pub method: Method,
    /// The headers, in the order in which they go out.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// Says why a header cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(String);

impl Parcel {
    /// Makes a POST of a body.
    #[must_use]
    pub fn post(body: impl Into<Bytes>) -> Self {
        Self {
            method: Method::POST,
            headers: HeaderMap::new(),
            body: body.into(),
        }
    }

    /// Adds a header, beside others of its name.
    ///
    /// # Errors
    ///
    /// Says what is wrong if it is no header, or one that the connection sets itself.
    pub fn header(&mut self, name: &str, value: &str) -> Result<(), Unfit> {
        let name: HeaderName = name
            .parse()
            .map_err(|_| Unfit(format!("`{}` is no header name", name.escape_debug())))?;
        if OURS.contains(&name) {
            return Err(Unfit(format!("`{name}` is set by the connection itself")));
        }
        let value = HeaderValue::from_str(value)
            .or_else(|_| HeaderValue::from_bytes(value.as_bytes()))
            .map_err(|_| {
                Unfit(format!(
                    "the value of `{name}` has a line break or another control sign"
                ))
            })?;
        self.headers.append(name, value);
        Ok(())
    }

    /// Adds a header unless there is one of its name.
    pub fn default_header(&mut self, name: HeaderName, value: &'static str) {
        self.headers.entry(name).or_insert(HeaderValue::from_static(value));
    }

    /// Returns a header's first value, if it is text and not empty.
    #[must_use]
    pub fn header_str(&self, name: &str) -> Option<&str> {
        let value = self.headers.get(name)?.to_str().ok()?.trim();
        (!value.is_empty()).then_some(value)
    }

    pub(super) fn request(&self, target: &Target) -> Result<Request<Full<Bytes>>, http::Error> {
        let mut request = Request::builder().method(&self.method).uri(target.path());
        if let Some(headers) = request.headers_mut() {
            headers.insert(HOST, HeaderValue::try_from(target.authority())?);
            headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
            // A user's own of the same name replaces ours.
            for name in self.headers.keys() {
                headers.remove(name);
            }
            for (name, value) in &self.headers {
                headers.append(name, value.clone());
            }
        }
        request.body(Full::new(self.body.clone()))
    }
}

const AGENT: &str = concat!("ackdrop/", env!("CARGO_PKG_VERSION"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_would_change_the_framing_are_refused() {
        let mut parcel = Parcel::post("x");
        for (name, value, words) in [
            ("Content-Length", "3", "set by the connection"),
            ("transfer-encoding", "chunked", "set by the connection"),
            ("a b", "x", "no header name"),
            ("x-a", "x\r\nx-b: y", "line break"),
        ] {
            let unfit = parcel.header(name, value).expect_err(name).to_string();
            assert!(unfit.contains(words), "{name}: {unfit}");
        }
        assert!(parcel.headers.is_empty());
        parcel.header("x-note", "Grüße").unwrap();
    }

    #[test]
    fn a_users_own_host_and_agent_replace_ours() {
        let target = Target::parse("http://127.0.0.1:3000/a?b").unwrap();
        let mut parcel = Parcel::post("x");
        let names = |parcel: &Parcel| {
            let request = parcel.request(&target).unwrap();
            let of = |name: &str| request.headers()[name].to_str().unwrap().to_owned();
            (request.uri().to_string(), of("host"), of("user-agent"))
        };
        assert_eq!(
            names(&parcel),
            ("/a?b".into(), "127.0.0.1:3000".into(), AGENT.to_owned())
        );
        parcel.header("host", "app.test").unwrap();
        parcel.header("user-agent", "Stripe/1.0").unwrap();
        assert_eq!(names(&parcel), ("/a?b".into(), "app.test".into(), "Stripe/1.0".into()));
    }
}
