//! Answers that never end: whoever waits for their end waits a bounded time.

use std::time::Duration;

use ackdrop::Suite;
use ackdrop::ledger::{Fate, Outcome};
use tokio::io::AsyncWriteExt;

use super::support::{Raw, read_head, spec};
use crate::support::{App, Call, End, with, within};

/// Says a head, and then one more piece as often as it can.
async fn endless() -> Raw {
    Raw::start(|mut stream| async move {
        read_head(&mut stream).await;
        let head = b"HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n";
        let mut said = stream.write_all(head).await;
        while said.is_ok() {
            // It is never silent, and never done.
            tokio::time::sleep(Duration::from_millis(10)).await;
            said = stream.write_all(b"2\r\nok\r\n").await;
        }
    })
    .await
}

fn call(fault: &str) -> Call {
    Call::post("/").fault(fault).body("x")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_waits_no_longer_than_an_upstream_may_be_silent() {
    let raw = endless().await;
    with(
        |b| b.relay(spec("pay", &raw.url(), ";timeout=300ms")),
        async |app: &App| {
            for (fault, end) in [
                ("drop-after-commit", End::Orderly),
                ("drop-after-commit; how=reset", End::Reset),
            ] {
                let mut conn = app.to("pay").await;
                conn.send(&call(fault).bytes()).await;
                assert_eq!(conn.rest().await, (vec![], end), "{fault}");
            }
            let answer = app.through("pay", call("error-after-commit; status=503")).await;
            assert_eq!(answer.status, 503);
            let counts = app.counts("pay").await;
            assert_eq!((counts.accepted, counts.withheld, app.effects("request")), (3, 3, 3));
            // The harness stops the suite while what is left still comes, and finds that everything ended.
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_is_taken_in_no_longer_than_a_hang_lasts() {
    let raw = endless().await;
    with(
        |b| {
            b.hang_cap(Duration::from_millis(200))
                .relay(spec("pay", &raw.url(), ";timeout=1s"))
        },
        async |app: &App| {
            let mut conn = app.to("pay").await;
            conn.send(&call("drop-after-commit").bytes()).await;
            conn.rest().await;
            app.until("the end of what is left", |app| {
                let notes = app.entries().pop().unwrap().notes;
                notes.iter().any(|note| note.contains("had not said all"))
            })
            .await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_and_a_stop_end_the_waiting() {
    let raw = endless().await;
    let suite = Suite::builder()
        .relay(spec("pay", &raw.url(), ""))
        .start()
        .await
        .unwrap();
    let ledger = suite.ledger().clone();
    let app = App { suite };
    let accepted = |app: &App| app.now("pay").accepted == 1;
    for fault in ["drop-after-commit; how=hang", "error-after-commit"] {
        let mut conn = app.to("pay").await;
        conn.send(&call(fault).bytes()).await;
        app.until("the commit", accepted).await;
        app.suite.reset(None);
        assert_eq!(conn.rest().await.0, b"", "{fault}");
        assert_eq!(app.suite.stats().total.received, 0);
    }
    let mut conn = app.to("pay").await;
    conn.send(&call("drop-after-commit").bytes()).await;
    app.until("the commit", accepted).await;
    assert!(within("the stop", app.suite.stop()).await, "everything ended");
    let entry = ledger.entry(3).unwrap();
    assert_eq!(
        (entry.outcome, entry.fate),
        (Some(Outcome::Accepted), Some(Fate::Withheld))
    );
}
