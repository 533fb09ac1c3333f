//! n8n's Stripe node and Stripe Trigger, byte for byte: `requests.http` holds what n8n 2.41 sent when its own code ran, every operation
//! once, and each is answered with what the node reads. Requests are kept with LF; an id that the answer before has made stands as
//! `{source}` or `{endpoint}`.

mod counted;
mod operations;

use serde_json::{Value, json};

use crate::support::{Answer, App, Call, Conn, with};

const RECORDED: &str = include_str!("requests.http");

/// Is a suite with the objects that the recorded requests name, as one listener serves it.
struct Shop<'a> {
    app: &'a App,
    secure: bool,
}

/// Runs a test against both listeners, each in a suite of its own.
async fn replayed(test: impl AsyncFn(&Shop<'_>)) {
    for secure in [false, true] {
        with(
            |b| b,
            async |app: &App| {
                let shop = Shop { app, secure };
                shop.stock().await;
                test(&shop).await;
            },
        )
        .await;
    }
}

impl Shop<'_> {
    /// Puts what the recorded requests name.
    async fn stock(&self) {
        let card = json!({"name": "N", "email": "n@example.com", "source": "tok_visa"});
        self.put("customers/cus_n8n", card).await;
        self.put("customers/cus_leaving", json!({})).await;
        self.put(
            "sources/src_n8n",
            json!({"type": "wechat", "amount": 1500, "currency": "usd"}),
        )
        .await;
        self.put("customers/cus_source", json!({"source": "src_n8n"})).await;
        for i in 1..=12 {
            let many = json!({"name": "Many", "email": "many@example.com"});
            self.put(&format!("customers/cus_many_{i:02}"), many).await;
            self.put(
                &format!("charges/ch_n8n_{i:02}"),
                json!({"amount": 1000, "currency": "usd"}),
            )
            .await;
        }
        self.put("charges/ch_n8n", json!({"amount": 1000, "currency": "usd"}))
            .await;
    }

    async fn put(&self, path: &str, fields: Value) {
        let call = Call::new("PUT", &format!("/_objects/stripe/{path}")).json(&fields);
        self.app.admin(call).await;
    }

    async fn connect(&self) -> Conn {
        match self.app.connect_both().await {
            [_, secure] if self.secure => secure,
            [plain, _] => plain,
        }
    }

    /// Sends a recorded request, and reads the answer.
    async fn ask(&self, name: &str) -> Answer {
        self.ask_with(name, "", "").await
    }

    /// Sends a recorded request with an id in its place.
    async fn ask_with(&self, name: &str, place: &str, id: &str) -> Answer {
        self.try_with(name, place, id).await.expect("an answer")
    }

    /// Sends a recorded request; none if no answer comes.
    async fn try_with(&self, name: &str, place: &str, id: &str) -> Option<Answer> {
        let mut conn = self.connect().await;
        conn.send(&recorded(name, place, id)).await;
        conn.try_answer().await
    }

    /// Sends a recorded request that must succeed, and returns the JSON that the node gets.
    async fn read(&self, name: &str) -> Value {
        let answer = self.ask(name).await;
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
        assert_eq!(answer.header("content-type"), Some("application/json"), "{name}");
        answer.json()
    }

    /// Reads a page as the node does, which takes the last id of every one: there is none that is empty.
    async fn page(&self, name: &str) -> (Vec<String>, bool) {
        let page = self.read(name).await;
        let data = page["data"].as_array().expect("a list").iter();
        let ids: Vec<String> = data.map(|o| o["id"].as_str().expect("an id").to_owned()).collect();
        assert!(!ids.is_empty(), "{name}");
        (ids, page["has_more"].as_bool().expect("a flag"))
    }

    /// Says whether the provider has an operation.
    async fn has(&self, operation: &str) -> bool {
        let providers = self.app.call(Call::get("/_providers")).await.text();
        providers.contains(&format!("\"{operation}\""))
    }
}

/// Lists the names of the recorded requests, in the order in which they were sent.
fn names() -> impl Iterator<Item = &'static str> {
    RECORDED.lines().filter_map(|line| line.strip_prefix("### "))
}

/// Returns the bytes of a recorded request.
fn recorded(name: &str, place: &str, id: &str) -> Vec<u8> {
    let start = format!("### {name}\n");
    let (_, rest) = RECORDED
        .split_once(&start)
        .unwrap_or_else(|| panic!("`{name}` is recorded"));
    let block = rest.split("\n### ").next().unwrap_or_default().trim_end();
    let filled = if place.is_empty() {
        block.to_owned()
    } else {
        block.replace(place, id)
    };
    let (head, body) = filled.split_once("\n\n").unwrap_or((&filled, ""));
    let head = head.replace('\n', "\r\n");
    let announced = head
        .split("\r\n")
        .find_map(|line| line.strip_prefix("Content-Length: "));
    let announced = announced.map_or(0, |length| length.parse().expect("a number"));
    assert_eq!(announced, body.len(), "`{name}` is as long as it was");
    format!("{head}\r\n\r\n{body}").into()
}
