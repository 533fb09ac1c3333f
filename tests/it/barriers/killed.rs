//! A worker, a process of its own, is killed with SIGKILL while its call is held after the commit: one effect, and its answer is lost.

use std::env;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::support::{App, Call, letter, with};

/// Names what the worker is to send, and to whom.
const SEND: &str = "ACKDROP_TEST_SEND";
const RUNS: u64 = 100;

/// Is the worker: sends what its environment says, and waits for an answer. Without such words it is nobody, and does nothing.
#[test]
fn worker() {
    let Ok(send) = env::var(SEND) else { return };
    let (addr, text) = send.split_once(' ').unwrap();
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    drop(stream.read_to_end(&mut Vec::new()));
}

/// Starts this very binary as the worker.
fn work(addr: std::net::SocketAddr, text: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "barriers::killed::worker"])
        .env(SEND, format!("{addr} {text}"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills a worker in each of a hundred runs, and says what must be true after each.
async fn killed_while_held(app: &App, provider: &str, effect: &str, worker: impl Fn(u64) -> Child) {
    app.fault(json!({"mode": "hold-after-commit", "provider": provider}))
        .await;
    for run in 1..=RUNS {
        let mut child = worker(run);
        app.until_held(1).await;
        assert_eq!(
            app.now(provider).accepted,
            run,
            "it is committed before anybody is killed"
        );
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success());
        app.until("the end of the hold", |app| app.now(provider).open == 0)
            .await;
        let counts = app.now(provider);
        assert_eq!((counts.received, counts.accepted, counts.lost), (run, run, run));
        assert_eq!((app.effects(effect), counts.answered, counts.withheld), (run, 0, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_killed_while_its_charge_is_held_leaves_one_charge_and_a_lost_answer() {
    with(
        |b| b,
        async |app: &App| {
            let charge = |run: u64| Call::charge().key(&format!("k{run}")).bytes();
            let worker = |run| work(app.http(), &String::from_utf8(charge(run)).unwrap());
            killed_while_held(app, "stripe", "charge", worker).await;
            app.admin(Call::new("DELETE", "/_faults")).await;
            let retry = app.call(Call::charge().key("k1")).await;
            assert_eq!(retry.header("idempotent-replayed"), Some("true"), "its retry is safe");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_killed_while_its_mail_is_held_leaves_one_mail_and_a_lost_answer() {
    with(
        |b| b,
        async |app: &App| {
            // All at once: a mailer that pipelines what it may, and this sink takes the rest as well.
            let mail = |run: u64| {
                let letter = letter(&format!("{run}@shop.test"), "Thank you.");
                format!("EHLO a\r\nMAIL FROM:<a@shop.test>\r\nRCPT TO:<b@example.com>\r\nDATA\r\n{letter}.\r\n")
            };
            killed_while_held(app, "smtp", "message", |run| work(app.smtp(), &mail(run))).await;
        },
    )
    .await;
}
