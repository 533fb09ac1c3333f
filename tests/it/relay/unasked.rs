//! Replies of an SMTP upstream that nobody has asked for: none is taken for the reply to something else.

use ackdrop::ledger::Outcome;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::support::{Raw, spec};
use crate::support::{App, Conn, Mailer, with};

/// A server that says this to DATA, and that to the final dot.
async fn saying(to_data: &'static str, to_dot: &'static str) -> Raw {
    Raw::start(move |mut stream| async move {
        stream.write_all(b"220 x\r\n").await.unwrap();
        let (mut said, mut content) = (Vec::new(), false);
        while let Ok(byte) = stream.read_u8().await {
            said.push(byte);
            let reply = if content {
                if !said.ends_with(b"\r\n.\r\n") {
                    continue;
                }
                content = false;
                to_dot
            } else if said.ends_with(b"DATA\r\n") {
                content = true;
                to_data
            } else if said.ends_with(b"\r\n") {
                "250 ok\r\n"
            } else {
                continue;
            };
            if stream.write_all(reply.as_bytes()).await.is_err() {
                return;
            }
        }
    })
    .await
}

async fn opened(app: &App, relay: &str) -> Mailer {
    let mut mailer = Mailer {
        conn: Conn::plain(app.relay(relay)).await,
    };
    mailer.expect("", "220").await;
    mailer.expect("EHLO client.test", "250").await;
    mailer.expect("MAIL FROM:<a@client.test>", "250").await;
    mailer.expect("RCPT TO:<b@server.test>", "250").await;
    mailer.expect("DATA", "354").await;
    mailer
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_was_there_before_the_dot_is_not_the_dots() {
    let early = saying("354 go\r\n250 queued\r\n", "554 no\r\n").await;
    with(
        |b| b.relay(spec("post", &format!("smtp://{}", early.addr), "")),
        async |app: &App| {
            let mut mailer = opened(app, "post").await;
            mailer.dot("x\r\n").await;
            let said = mailer.reply().await;
            assert!(
                said.starts_with("451") && said.contains("does not speak SMTP"),
                "{said}"
            );
            app.settled().await;
            assert_eq!(app.entries()[0].outcome, Some(Outcome::Unknown));
            assert_eq!((app.now("post").accepted, app.effects("message")), (0, 0));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_says_that_it_closes_is_heard_as_such() {
    let closing = saying("354 go\r\n421 bye\r\n", "").await;
    with(
        |b| b.relay(spec("post", &format!("smtp://{}", closing.addr), "")),
        async |app: &App| {
            let mut mailer = opened(app, "post").await;
            mailer.dot("x\r\n").await;
            let said = mailer.reply().await;
            assert!(said.starts_with("421"), "{said}");
            app.settled().await;
            assert_eq!(app.entries()[0].outcome, Some(Outcome::Refused));
            assert_eq!(app.effects("message"), 0);
        },
    )
    .await;
}
