//! An application that is told of events: raw sockets, each request answered as the test says.

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::support::within;

pub(super) struct Receiver(TcpListener);

/// Is one request that waits for its answer.
pub(super) struct Got {
    stream: TcpStream,
    head: String,
    pub(super) body: String,
}

impl Receiver {
    pub(super) async fn open() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/stripe/hook", self.0.local_addr().unwrap())
    }

    /// Takes the next connection, and nothing of a request.
    pub(super) async fn accept(&self) -> TcpStream {
        within("the delivery", self.0.accept()).await.unwrap().0
    }

    /// Takes the next request.
    pub(super) async fn next(&self) -> Got {
        let stream = self.accept().await;
        within("the request", read(stream)).await
    }

    /// Takes the next request and accepts it; returns its event's id.
    pub(super) async fn take(&self) -> String {
        let got = self.next().await;
        let id = got.json()["id"].as_str().unwrap().to_owned();
        got.answer(200).await;
        id
    }
}

pub(super) async fn read(mut stream: TcpStream) -> Got {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_owned();
            let length: usize = header(&head, "content-length").unwrap().parse().unwrap();
            if body.len() >= length {
                let body = body.to_owned();
                return Got { stream, head, body };
            }
        }
        assert!(
            stream.read_buf(&mut bytes).await.unwrap() > 0,
            "it ended early: {bytes:?}"
        );
    }
}

impl Got {
    pub(super) fn line(&self) -> &str {
        self.head.lines().next().unwrap()
    }

    pub(super) fn header(&self, name: &str) -> Option<String> {
        header(&self.head, name)
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Returns when it says that it was signed, if the signature is of this secret.
    pub(super) fn signed(&self, secret: &str) -> Option<i64> {
        let header = self.header("stripe-signature")?;
        let (time, signature) = header.strip_prefix("t=")?.split_once(",v1=")?;
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(format!("{time}.{}", self.body).as_bytes());
        let right: String = mac.finalize().into_bytes().iter().map(|b| format!("{b:02x}")).collect();
        (right == signature).then(|| time.parse().unwrap())
    }

    /// Answers with a status, and waits until the sender has closed.
    pub(super) async fn answer(mut self, status: u16) {
        let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 2\r\n\r\nok");
        self.stream.write_all(answer.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        drop(within("the end", self.stream.read_to_end(&mut rest)).await);
    }
}

fn header(head: &str, name: &str) -> Option<String> {
    let lines = head.lines().filter_map(|line| line.split_once(": "));
    let mut found = lines.filter(|(n, _)| n.eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value.to_owned())
}

impl Receiver {
    /// Takes the next request, answers it, and waits until that is counted; returns its event.
    pub(super) async fn next_of(&self, app: &crate::support::App, status: u16) -> Value {
        let got = self.next().await;
        let event = got.json();
        got.answer(status).await;
        app.settled().await;
        event
    }
}
