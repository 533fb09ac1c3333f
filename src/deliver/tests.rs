//! The courier against receivers that speak raw bytes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::{Allowed, Courier, LARGEST_ANSWER, Letter, Parcel, Report, Sender, Target, Try, What};
use crate::ledger::{Class, Fate, Ledger, Limits, Outcome};
use crate::store::{Scope, Store};

const SENDER: Sender = Sender {
    provider: "deliveries",
    operation: "deliver",
    effect: "delivery",
};
const BODY: &str = r#"{"object": "event", "id": "evt_1"}"#;

struct Desk {
    store: Store,
    courier: Courier,
}

impl Desk {
    fn new() -> Self {
        Self {
            store: Store::new(Ledger::new(Limits::default())),
            courier: Courier::new(Allowed::default(), [])
                .unwrap()
                .timeout(Duration::from_secs(5)),
        }
    }

    fn letter(&self, url: &str) -> Letter {
        let target = Target::parse(url).unwrap();
        Letter::new(self.store.ledger(), SENDER, &target, Parcel::post(BODY))
    }

    async fn deliver(&self, url: &str) -> Report {
        let report = self
            .courier
            .deliver(&self.store, &Scope::default(), &self.letter(url))
            .await
            .unwrap();
        let entry = self.store.ledger().entry(report.attempt).unwrap();
        assert_eq!((entry.outcome, entry.fate), (Some(report.outcome), Some(report.fate)));
        let sums = self.store.total().providers["deliveries"].clone();
        assert!(sums.counts.balanced() && sums.class == Class::KeyAdvisory);
        report
    }
}

/// Listens, and answers one connection by a closure that gets it once the request's head is there.
async fn receiver<F>(answer: impl FnOnce(TcpStream) -> F + Send + 'static) -> String
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(BODY.as_bytes()) {
            head.push(stream.read_u8().await.unwrap());
        }
        answer(stream).await;
    });
    url
}

fn saying(text: impl Into<String>) -> impl FnOnce(TcpStream) -> futures_util::future::BoxFuture<'static, ()> {
    let text = text.into();
    move |mut stream| {
        Box::pin(async move {
            stream.write_all(text.as_bytes()).await.unwrap();
            drop(stream.read(&mut [0; 16]).await);
        })
    }
}

fn said(report: &Report) -> (Outcome, Fate, Option<u16>, Option<What>) {
    let what = report.trouble.as_ref().map(|trouble| trouble.what);
    (report.outcome, report.fate, report.status.map(|s| s.as_u16()), what)
}

#[tokio::test]
async fn a_status_decides_and_a_whole_answer_is_answered() {
    let desk = Desk::new();
    for (line, outcome) in [
        ("200 OK", Outcome::Accepted),
        ("204 No Content", Outcome::Accepted),
        ("302 Found", Outcome::Refused),
        ("409 Conflict", Outcome::Refused),
        ("500 Internal Server Error", Outcome::Refused),
    ] {
        let length = if line.starts_with("204") {
            ""
        } else {
            "content-length: 0\r\n"
        };
        let url = receiver(saying(format!("HTTP/1.1 {line}\r\n{length}\r\n"))).await;
        let report = desk.deliver(&url).await;
        let status = line[..3].parse().unwrap();
        assert_eq!(said(&report), (outcome, Fate::Answered, Some(status), None));
        let times = report.times;
        let order = [
            times.connected,
            times.released,
            times.sent,
            times.first_byte,
            times.done,
        ];
        assert!(order.is_sorted() && order.iter().all(Option::is_some), "{times:?}");
    }
    let sums = desk.store.total().providers["deliveries"].clone();
    assert_eq!(
        (sums.counts.received, sums.counts.accepted, sums.counts.refused),
        (5, 2, 3)
    );
}

#[tokio::test]
async fn the_same_event_accepted_twice_by_one_receiver_is_a_duplicate() {
    let desk = Desk::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            drop(stream.read(&mut [0; 4_096]).await);
            drop(
                stream
                    .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
                    .await,
            );
        }
    });
    for duplicates in 0..3 {
        assert!(desk.deliver(&url).await.accepted());
        let sums = desk.store.total().providers["deliveries"].clone();
        assert_eq!(sums.counts.duplicates, duplicates);
    }
}

#[tokio::test]
async fn bytes_that_left_without_an_answer_are_unknown() {
    let desk = Desk::new();
    let reset = |stream: TcpStream| async move { stream.set_zero_linger().unwrap() };
    let url = receiver(reset).await;
    let got = said(&desk.deliver(&url).await);
    assert_eq!(got, (Outcome::Unknown, Fate::Lost, None, Some(What::Reset)));

    let url = receiver(|stream| async move { drop(stream) }).await;
    let got = said(&desk.deliver(&url).await);
    assert_eq!(got, (Outcome::Unknown, Fate::Lost, None, Some(What::Closed)));

    let url = receiver(saying("SSH-2.0-OpenSSH\r\n")).await;
    let got = said(&desk.deliver(&url).await);
    assert_eq!(got, (Outcome::Unknown, Fate::Lost, None, Some(What::Protocol)));
}

#[tokio::test]
async fn a_head_counts_though_the_body_never_comes_whole() {
    let mut desk = Desk::new();
    let url = receiver(saying(format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{}",
        LARGEST_ANSWER + 1,
        "x".repeat(LARGEST_ANSWER + 1)
    )))
    .await;
    let report = desk.deliver(&url).await;
    assert_eq!(
        said(&report),
        (Outcome::Accepted, Fate::Lost, Some(200), Some(What::TooLarge))
    );
    assert_eq!(report.body.len(), LARGEST_ANSWER);

    let long = "x".repeat(2 * LARGEST_ANSWER);
    let url = receiver(saying(format!("HTTP/1.1 200 OK\r\nx-long: {long}\r\n\r\n"))).await;
    let got = said(&desk.deliver(&url).await);
    assert_eq!(got, (Outcome::Unknown, Fate::Lost, None, Some(What::TooLarge)));

    let cut = "HTTP/1.1 201 Created\r\ncontent-length: 9\r\n\r\nhalf";
    let url = receiver(move |mut stream| async move { stream.write_all(cut.as_bytes()).await.unwrap() }).await;
    let report = desk.deliver(&url).await;
    assert_eq!(
        said(&report),
        (Outcome::Accepted, Fate::Lost, Some(201), Some(What::Closed))
    );

    desk.courier = desk.courier.timeout(Duration::from_millis(150));
    let url = receiver(saying(cut)).await;
    let report = desk.deliver(&url).await;
    assert_eq!(
        said(&report),
        (Outcome::Accepted, Fate::Lost, Some(201), Some(What::Timeout))
    );
    let url = receiver(saying("")).await;
    let got = said(&desk.deliver(&url).await);
    assert_eq!(got, (Outcome::Unknown, Fate::Lost, None, Some(What::Timeout)));
}

#[tokio::test]
async fn what_never_left_has_failed() {
    let desk = Desk::new();
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}/", listener.local_addr().unwrap())
    };
    for (url, what) in [
        (closed.as_str(), What::Refused),
        ("http://no-such-host.invalid/", What::Unresolved),
        ("http://8.8.8.8/", What::Forbidden),
        ("http://[::ffff:8.8.8.8]/", What::Forbidden),
        ("http://169.254.169.254/latest/meta-data/", What::Forbidden),
        // A name without dots, which the resolver reads as 8.8.8.8.
        ("http://134744072/", What::Forbidden),
    ] {
        let report = desk.deliver(url).await;
        assert_eq!(said(&report), (Outcome::Failed, Fate::Lost, None, Some(what)), "{url}");
        assert_eq!(report.times.connected, None);
    }
}

#[tokio::test]
async fn a_receiver_that_leaves_an_open_connection_fails_it_before_a_byte_left() {
    let desk = Desk::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let letter = desk.letter(&format!("http://{}/", listener.local_addr().unwrap()));
    let mut tried = Try::begin(&desk.store, &Scope::default(), &letter, Instant::now()).unwrap();
    let found = desk.courier.find(letter.target()).await.unwrap();
    let mut opened = tried.open(&desk.courier, &found).await.unwrap();
    drop(listener.accept().await.unwrap());
    opened.wait(tokio::time::sleep(Duration::from_millis(100))).await;
    let report = tried.carry(&desk.courier, opened, &letter).await;
    assert_eq!(said(&report), (Outcome::Failed, Fate::Lost, None, Some(What::Closed)));
}

#[tokio::test]
async fn connections_that_are_opened_have_sent_nothing() {
    let desk = Desk::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let letter = Arc::new(desk.letter(&format!("http://{}/", listener.local_addr().unwrap())));
    let found = desk.courier.find(letter.target()).await.unwrap();
    let mut opened = Vec::new();
    let mut streams = Vec::new();
    for _ in 0..10 {
        let mut tried = Try::begin(&desk.store, &Scope::default(), &letter, Instant::now()).unwrap();
        let connection = tried.open(&desk.courier, &found).await.unwrap();
        opened.push((tried, connection));
        streams.push(listener.accept().await.unwrap().0);
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(streams.iter().all(|stream| stream.try_read(&mut [0; 1]).is_err()));
    let sums = desk.store.total().providers["deliveries"].clone();
    assert_eq!(
        (sums.counts.received, sums.counts.in_flight, sums.counts.open),
        (10, 10, 10)
    );
    drop(opened);
    let sums = desk.store.total().providers["deliveries"].clone();
    assert_eq!((sums.counts.failed, sums.counts.lost), (10, 10));
}
