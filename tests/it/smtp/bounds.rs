//! What one client can make the suite hold: lines, mails, recipients, budgets, time.

use std::time::Duration;

use ackdrop::suite::Limits;
use serde_json::json;

use crate::support::{App, Call, Conn, End, Mailer, codes, letter, with, within};

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_is_too_long_is_a_500_and_the_next_is_read() {
    with(
        |b| b,
        async |app: &App| {
            let mut mailer = app.mailer().await;
            let longest = format!("NOOP {}", "x".repeat(4096 - 7));
            mailer.expect(&longest, "250").await;
            mailer.expect(&format!("{longest}x"), "500 5.5.6").await;
            mailer.expect(&"x".repeat(1 << 20), "500 5.5.6").await;
            mailer.expect("AUTH PLAIN", "334").await;
            mailer.expect(&"A".repeat(20_000), "500").await;
            assert!(
                mailer.post("a@b.test", "x\r\n").await.starts_with("250"),
                "the session goes on"
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_wrong_commands_end_the_session() {
    with(
        |b| b,
        async |app: &App| {
            let mut mailer = app.mailer().await;
            mailer.expect("MAIL FROM:<a@b.test>", "250").await;
            mailer.conn.send("WIBBLE\r\n".repeat(1000).as_bytes()).await;
            let (replies, end) = mailer.rest().await;
            let codes = codes(&replies);
            assert_eq!((codes.len(), codes.last(), end), (20, Some(&"421"), End::Orderly));
            let counts = app.counts("smtp").await;
            assert_eq!((counts.incomplete, counts.answered), (1, 1));
        },
    )
    .await;
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn memory_stays_flat_under_an_endless_line() {
    use tokio::io::{AsyncBufReadExt as _, BufReader};

    // A process of its own: the memory of this one is that of all the tests beside it.
    let mut child = tokio::process::Command::new(env!("CARGO_BIN_EXE_ackdrop"))
        .args([
            "serve",
            "--http",
            "off",
            "--https",
            "off",
            "--smtps",
            "off",
            "--smtp",
            "127.0.0.1:0",
            "--log",
            "off",
        ])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let addr = loop {
        let line = within("the addresses", lines.next_line())
            .await
            .unwrap()
            .expect("an address of SMTP");
        if let Some((_, addr)) = line.split_once("smtp://") {
            break addr.parse().unwrap();
        }
    };
    let id = child.id().unwrap();
    let peak = || {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let mut mailer = Mailer {
        conn: Conn::plain(addr).await,
    };
    mailer.expect("", "220").await;
    mailer.expect("EHLO client.test", "250").await;
    let before = peak();
    let mebibyte = vec![b'x'; 1 << 20];
    for _ in 0..64 {
        mailer.conn.send(&mebibyte).await;
    }
    mailer.send("").await;
    mailer.expect("", "500").await;
    let grown = peak() - before;
    child.kill().await.unwrap();
    assert!(grown < 8 << 10, "{grown} KiB for 64 MiB without a line feed");
}

fn small_mails(limit: u64) -> Limits {
    Limits {
        mail: limit,
        ..Limits::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_over_its_size_is_552_when_it_has_all_come() {
    with(
        |b| b.limits(small_mails(1000)),
        async |app: &App| {
            let mut mailer = app.mailer().await;
            mailer.expect("MAIL FROM:<a@b.test> SIZE=1001", "552 5.3.4").await;
            mailer
                .expect("MAIL FROM:<a@b.test> SIZE=99999999999999999999999", "552")
                .await;
            assert!(
                mailer
                    .post("a@b.test", &format!("{}\r\n", "x".repeat(998)))
                    .await
                    .starts_with("250")
            );
            mailer.open("a@b.test").await;
            let long = format!("{}\r\n", "y".repeat(998)).repeat(1000);
            mailer.conn.send(long.as_bytes()).await;
            assert!(
                mailer.conn.is_silent(Duration::from_millis(30)).await,
                "nothing is said before the dot"
            );
            mailer.dot("").await;
            mailer.expect("", "552 5.3.4").await;
            // A promise that is broken is no way around, and chunks neither.
            mailer.expect("MAIL FROM:<a@b.test> SIZE=1", "250").await;
            mailer.expect("RCPT TO:<a@b.test>", "250").await;
            mailer
                .conn
                .send(format!("BDAT 900\r\n{}", "z".repeat(900)).as_bytes())
                .await;
            mailer.expect("", "250").await;
            mailer
                .conn
                .send(format!("BDAT 900 LAST\r\n{}", "z".repeat(900)).as_bytes())
                .await;
            mailer.expect("", "552").await;
            assert!(
                mailer.post("a@b.test", "fits\r\n").await.starts_with("250"),
                "in step with the client"
            );
            let counts = app.counts("smtp").await;
            assert_eq!(
                (counts.received, counts.accepted, counts.refused, counts.answered),
                (6, 2, 4, 6)
            );
            assert_eq!((app.effects("message"), app.mails("").await.len()), (2, 2));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_recipient_past_a_thousand_is_452_and_the_mail_goes_to_the_others() {
    with(
        |b| b,
        async |app: &App| {
            let mut mailer = app.mailer().await;
            mailer.expect("MAIL FROM:<a@b.test>", "250").await;
            let all: String = (0..1001).map(|n| format!("RCPT TO:<r{n}@b.test>\r\n")).collect();
            mailer.conn.send(all.as_bytes()).await;
            for n in 0..1001 {
                mailer.expect("", if n < 1000 { "250" } else { "452 4.5.3" }).await;
            }
            mailer.expect("DATA", "354").await;
            mailer.dot("x\r\n").await;
            mailer.expect("", "250").await;
            assert_eq!((app.effects("message"), app.effects("recipient")), (1, 1000));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn past_the_budget_of_arriving_bodies_a_mail_is_452_and_no_effect() {
    with(
        |b| b.arriving(10_000),
        async |app: &App| {
            let body = |n: usize| format!("{}\r\n", "x".repeat(n - 2));
            let mut first = app.mailer().await;
            first.open("a@b.test").await;
            first.conn.send(body(6_000).as_bytes()).await;
            app.mails("").await;
            let mut second = app.mailer().await;
            // The first one's bytes have come for sure when a later one does not fit any more.
            let mut refused = 0;
            for _ in 0..50 {
                let reply = second.post("a@b.test", &body(6_000)).await;
                if reply.starts_with("452 4.3.1") {
                    refused += 1;
                    break;
                }
                assert!(reply.starts_with("250"), "{reply}");
            }
            assert_eq!(refused, 1);
            let before = app.effects("message");
            assert!(
                second.post("a@b.test", &body(3_000)).await.starts_with("250"),
                "what fits is taken"
            );
            first.dot("").await;
            first.expect("", "250").await;
            assert!(
                second.post("a@b.test", &body(6_000)).await.starts_with("250"),
                "the budget was given back"
            );
            assert!(second.post("a@b.test", &body(10_001)).await.starts_with("452"));
            assert_eq!(app.effects("message"), before + 3);
            let counts = app.counts("smtp").await;
            assert_eq!((counts.refused, counts.in_flight), (2, 0));
            // A client that leaves gives back what it had brought.
            let mut gone = app.mailer().await;
            gone.open("a@b.test").await;
            gone.conn.send(body(9_000).as_bytes()).await;
            drop(gone);
            app.settled().await;
            assert!(second.post("a@b.test", &body(9_000)).await.starts_with("250"));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn past_the_budget_of_recorded_bodies_the_oldest_mail_lets_its_content_go() {
    let limits = ackdrop::ledger::Limits {
        bodies: 10_000,
        ..Default::default()
    };
    with(
        |b| b.ledger(limits),
        async |app: &App| {
            for n in 0..5 {
                app.post(
                    "ann@example.com",
                    &letter(&format!("{n}@shop.test"), &format!("{n}").repeat(3000)),
                )
                .await;
            }
            let mails = app.mails("").await;
            assert_eq!(mails.len(), 5, "every mail stays listed");
            let gone = app.mails("?message-id=0@shop.test").await.remove(0);
            assert_eq!(
                (&gone["body_let_go"], &gone["subject"]),
                (&json!(true), &json!("Receipt"))
            );
            assert_eq!(gone["envelope"]["recipients"], json!(["ann@example.com"]));
            assert_eq!(
                (gone["size"].as_u64(), gone["sha256"].as_str().unwrap().len()),
                (mails[0]["size"].as_u64(), 64)
            );
            assert!(
                gone["headers"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|h| h["name"] == "Message-ID")
            );
            let id = gone["id"].as_str().unwrap();
            assert_eq!(app.call(Call::get(&format!("/_mail/{id}/raw"))).await.status, 410);
            assert_eq!(app.admin(Call::get(&format!("/_mail/{id}"))).await["body_let_go"], true);
            assert_eq!(
                app.mails("?header=Message-ID:0@shop.test").await.len(),
                1,
                "its header can still be asked for"
            );
            assert_eq!(
                app.raw(&mails[0]).await.len() as u64,
                mails[0]["size"].as_u64().unwrap(),
                "the newest is whole"
            );
            let stats = app.admin(Call::get("/_stats")).await;
            assert!(stats["journal_trimmed"]["bodies"].as_u64().unwrap() >= 2, "{stats}");
            let counts = app.counts("smtp").await;
            assert_eq!((counts.received, counts.accepted, app.effects("message")), (5, 5, 5));
            app.post("ann@example.com", &letter("0@shop.test", &"0".repeat(3000)))
                .await;
            assert_eq!(
                app.counts("smtp").await.duplicates,
                1,
                "a duplicate of what was let go is known"
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_client_is_told_421_and_its_mail_is_incomplete() {
    let idle = Limits {
        idle: Duration::from_millis(150),
        ..Limits::default()
    };
    with(
        |b| b.limits(idle),
        async |app: &App| {
            for sent in [
                "",
                "MAIL FROM:<a@b.test>\r\n",
                "MAIL FROM:<a@b.test>\r\nRCPT TO:<a@b.test>\r\nDATA\r\nhalf",
            ] {
                let mut mailer = app.mailer().await;
                mailer.conn.send(sent.as_bytes()).await;
                let (replies, end) = mailer.rest().await;
                assert_eq!(
                    (codes(&replies).last(), end),
                    (Some(&"421"), End::Orderly),
                    "{sent:?}: {replies}"
                );
            }
            let counts = app.counts("smtp").await;
            assert_eq!((counts.received, counts.incomplete, counts.answered), (2, 2, 2));
        },
    )
    .await;
}
