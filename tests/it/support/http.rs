//! HTTP as raw bytes.

use serde_json::Value;

/// Is one request, to be sent as bytes.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// Returns a header as a pair.
fn header(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

impl Call {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self {
            method: method.into(),
            path: path.into(),
            headers: vec![header("host", "ackdrop.test")],
            body: Vec::new(),
        }
    }

    pub(crate) fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    pub(crate) fn post(path: &str) -> Self {
        Self::new("POST", path)
    }

    /// Charges 1099 with a test card and a test key.
    pub(crate) fn charge() -> Self {
        Self::stripe("/v1/charges", "amount=1099&currency=usd&source=tok_visa")
    }

    /// Posts a form with a test key.
    pub(crate) fn stripe(path: &str, form: &str) -> Self {
        Self::post(path)
            .header("authorization", "Bearer sk_test_123")
            .form(form)
    }

    pub(crate) fn order(reference: &str) -> Self {
        Self::post("/orders").json(&serde_json::json!({"reference": reference}))
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push(header(name, value));
        self
    }

    pub(crate) fn key(self, key: &str) -> Self {
        self.header("idempotency-key", key)
    }

    /// Makes the call in a scope of its own.
    pub(crate) fn in_scope(self, scope: &str) -> Self {
        self.header("x-ackdrop-scope", scope)
    }

    pub(crate) fn fault(self, fault: &str) -> Self {
        self.header("x-ackdrop-fault", fault)
    }

    pub(crate) fn form(mut self, form: &str) -> Self {
        self.body = form.into();
        self.header("content-type", "application/x-www-form-urlencoded")
    }

    pub(crate) fn json(mut self, json: &Value) -> Self {
        self.body = json.to_string().into();
        self.header("content-type", "application/json")
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Returns the head alone, which announces the body.
    pub(crate) fn head(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        if !self.body.is_empty() || self.method == "POST" {
            head += &format!("content-length: {}\r\n", self.body.len());
        }
        (head + "\r\n").into()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// Is one answer as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn parse(head: &[u8]) -> Self {
        let head = String::from_utf8(head.to_vec()).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(n, v)| header(n, v))
            .collect();
        Self {
            status,
            headers,
            body: Vec::new(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, v)| v.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }
}
