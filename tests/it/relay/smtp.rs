//! The SMTP relay, before a server that this project did not write.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use ackdrop::Suite;
use ackdrop::ledger::Outcome;
use mailin::response::OK;
use mailin::{Action, Handler, Response, SessionBuilder};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::support::{Raw, spec};
use crate::support::{App, Call, Conn, End, Mailer, letter, starttls, with};

/// Counts what a server takes.
#[derive(Clone, Default)]
struct Taken(Arc<Mutex<Vec<Mail>>>);

#[derive(Clone, Default, Debug)]
struct Mail {
    recipients: Vec<String>,
    content: Vec<u8>,
}

/// Is one session's handler: a mail is taken at the end of its data.
#[derive(Clone, Default)]
struct Session {
    taken: Taken,
    mail: Mail,
}

impl Handler for Session {
    fn mail(&mut self, _: IpAddr, _: &str, from: &str) -> Response {
        self.mail = Mail::default();
        match from {
            "banned@client.test" => mailin::response::NO_MAILBOX,
            _ => OK,
        }
    }

    fn rcpt(&mut self, to: &str) -> Response {
        if to.starts_with("nobody@") {
            return mailin::response::NO_MAILBOX;
        }
        self.mail.recipients.push(to.to_owned());
        OK
    }

    fn data(&mut self, buf: &[u8]) -> std::io::Result<()> {
        self.mail.content.extend_from_slice(buf);
        Ok(())
    }

    fn data_end(&mut self) -> Response {
        if self.mail.content.windows(6).any(|w| w == b"refuse") {
            return mailin::response::NO_MAILBOX;
        }
        self.taken.0.lock().unwrap().push(std::mem::take(&mut self.mail));
        OK
    }
}

impl Taken {
    /// Starts a server, a thread a session.
    fn serve(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let taken = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let handler = Session {
                    taken: taken.clone(),
                    ..Session::default()
                };
                std::thread::spawn(move || drop(session(&stream, handler)));
            }
        });
        addr
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    fn recipients(&self) -> usize {
        self.0.lock().unwrap().iter().map(|mail| mail.recipients.len()).sum()
    }
}

fn session(stream: &TcpStream, handler: Session) -> std::io::Result<()> {
    let mut session = SessionBuilder::new("mailin.test").build(stream.peer_addr()?.ip(), handler);
    let (mut reader, mut writer) = (BufReader::new(stream), stream);
    session.greeting().write_to(&mut writer)?;
    loop {
        let mut line = Vec::new();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let response = session.process(&line);
        match response.action {
            Action::NoReply => {}
            Action::Close => return response.write_to(&mut writer),
            Action::Reply | Action::UpgradeTls => response.write_to(&mut writer)?,
        }
        writer.flush()?;
    }
}

impl App {
    async fn knock_at(&self, relay: &str) -> Mailer {
        Mailer {
            conn: Conn::plain(self.relay(relay)).await,
        }
    }

    async fn mailer_to(&self, relay: &str) -> Mailer {
        let mut mailer = self.knock_at(relay).await;
        mailer.expect("", "220").await;
        mailer.expect("EHLO client.test", "250").await;
        mailer
    }
}

async fn with_relay(test: impl AsyncFnOnce(&App, &Taken)) {
    let taken = Taken::default();
    let url = format!("smtp://{}", taken.serve());
    with(
        |b| b.relay(spec("post", &url, "")),
        async |app: &App| {
            test(app, &taken).await;
            app.settled().await;
            let counts = app.suite.stats().providers["post"].counts;
            assert_eq!(
                counts.accepted as usize,
                taken.count(),
                "the ledger counts as the server does"
            );
            assert_eq!(app.effects("message") as usize, taken.count());
            assert_eq!(app.effects("recipient") as usize, taken.recipients());
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mails_pass_as_the_upstream_decides() {
    with_relay(async |app, taken| {
        let mut mailer = app.mailer_to("post").await;
        mailer.expect("MAIL FROM:<banned@client.test>", "550").await;
        mailer.expect("MAIL FROM:<a@client.test>", "250").await;
        mailer.expect("RCPT TO:<nobody@server.test>", "550").await;
        mailer.expect("RCPT TO:<b@server.test>", "250").await;
        mailer.expect("RCPT TO:<c@server.test>", "250").await;
        mailer.expect("DATA", "354").await;
        let content = "Message-ID: <1@x>\r\nX-Ackdrop-Fault: pass\r\nSubject: s\r\n\r\n..dot\r\n...\r\n";
        mailer.dot(content).await;
        assert!(mailer.reply().await.starts_with("250"));
        mailer.expect("MAIL FROM:<a@client.test>", "250").await;
        mailer.expect("RSET", "250").await;
        mailer.expect("WIBBLE", "500").await;
        mailer.expect("QUIT", "221").await;
        assert_eq!(mailer.rest().await, (String::new(), End::Orderly));
        // A session of its own: this server takes all for content that follows its refusal of a mail.
        let mut mailer = app.mailer_to("post").await;
        mailer.open("b@server.test").await;
        mailer.dot("Subject: refuse\r\n\r\nx\r\n").await;
        assert!(mailer.reply().await.starts_with("550"));
        let counts = app.counts("post").await;
        assert_eq!(
            (counts.received, counts.accepted, counts.refused, counts.incomplete),
            (4, 1, 2, 1)
        );
        assert_eq!(counts.answered, 4);
        let mails = taken.0.lock().unwrap().clone();
        let text = String::from_utf8(mails[0].content.clone()).unwrap();
        assert!(
            text.ends_with("Subject: s\r\n\r\n.dot\r\n..\r\n") && !text.contains("Ackdrop"),
            "{text}"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_at_the_dot_and_at_the_commit() {
    with_relay(async |app, taken| {
        let cases = [
            ("pass", "250", 1, "accepted"),
            ("fail-before-forward", "", 0, "failed"),
            ("fail-before-forward; how=reset", "", 0, "failed"),
            ("fail-before-forward; status=451", "451", 0, "failed"),
            ("forward-then-drop-response", "", 1, "accepted"),
            ("forward-then-drop-response; how=reset", "", 1, "accepted"),
            ("forward-then-drop-response; how=truncate; bytes=2", "25", 1, "accepted"),
            ("error-after-commit", "451", 1, "accepted"),
            ("refuse; status=550", "550", 0, "refused"),
            ("delay; at=before; delay=30ms", "250", 1, "accepted"),
            ("delay; at=after; delay=30ms", "250", 1, "accepted"),
        ];
        for (n, (fault, said, more, outcome)) in cases.into_iter().enumerate() {
            let before = taken.count();
            let mut mailer = app.mailer_to("post").await;
            mailer.open("b@server.test").await;
            let content = format!(
                "X-Ackdrop-Fault: {fault}\r\n{}",
                letter(&format!("{n}@x"), &format!("body {n}"))
            );
            mailer.dot(&content).await;
            if said.len() == 3 {
                assert!(mailer.reply().await.starts_with(said), "{fault}");
                // The session goes on, with another connection to the upstream if the fault has cost the first.
                mailer.expect("NOOP", "250").await;
            } else {
                assert_eq!(mailer.rest().await.0, said, "{fault}");
            }
            app.settled().await;
            assert_eq!(taken.count() - before, more, "{fault}");
            let entry = app.entries().pop().unwrap();
            assert_eq!(entry.outcome.unwrap().as_str(), outcome, "{fault}");
        }
        for mode in ["hold-before-commit", "hold-after-commit"] {
            for then in [json!({}), json!({"then": "drop"})] {
                let before = taken.count();
                let mut mailer = app.mailer_to("post").await;
                mailer.open("b@server.test").await;
                let content = format!(
                    "X-Ackdrop-Fault: {mode}\r\n{}",
                    letter(&format!("{mode}{then}@x"), &then.to_string())
                );
                mailer.dot(&content).await;
                let id = app.until_held(1).await.remove(0);
                assert_eq!(
                    taken.count() - before,
                    usize::from(mode == "hold-after-commit"),
                    "{mode}"
                );
                app.release(&id, then.clone()).await;
                if then == json!({}) {
                    assert!(mailer.reply().await.starts_with("250"));
                } else {
                    assert_eq!(mailer.rest().await.0, "");
                }
                app.settled().await;
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_step_can_be_lost_and_refused() {
    with_relay(async |app, taken| {
        // A step; what is said before it; what is said at it.
        let steps: [(&str, &[&str], &str); 9] = [
            ("connect", &[], ""),
            ("greeting", &[], ""),
            ("ehlo", &[""], "EHLO client.test"),
            ("auth", &["", "EHLO client.test"], "AUTH PLAIN AGEAYg=="),
            ("quit", &["", "EHLO client.test"], "QUIT"),
            ("mail", &["", "EHLO client.test"], "MAIL FROM:<a@client.test>"),
            (
                "rcpt",
                &["", "EHLO client.test", "MAIL FROM:<a@client.test>"],
                "RCPT TO:<b@server.test>",
            ),
            (
                "data",
                &[
                    "",
                    "EHLO client.test",
                    "MAIL FROM:<a@client.test>",
                    "RCPT TO:<b@server.test>",
                ],
                "DATA",
            ),
            (
                "mid-data",
                &[
                    "",
                    "EHLO client.test",
                    "MAIL FROM:<a@client.test>",
                    "RCPT TO:<b@server.test>",
                    "DATA",
                ],
                "Subject: x\r\n\r\nbody\r\n.",
            ),
        ];
        for (step, before, at) in steps {
            for rule in [
                json!({"provider": "post", "step": step, "mode": "fail-before-forward", "how": "reset", "on": 1}),
                json!({"provider": "post", "step": step, "mode": "refuse", "status": 452, "on": 1}),
                json!({"provider": "post", "step": step, "mode": "delay", "at": "before", "delay": "10ms", "on": 1}),
            ] {
                let mode = rule["mode"].as_str().unwrap().to_owned();
                let id = app.fault(rule).await;
                // The first reset may come before the connection is looked at.
                let Ok(conn) = Conn::try_plain(app.relay("post")).await else {
                    assert!(before.is_empty() && mode == "fail-before-forward", "{step} {mode}");
                    app.admin(Call::new("DELETE", &format!("/_faults/{id}"))).await;
                    continue;
                };
                let mut mailer = Mailer { conn };
                for line in before {
                    let reply = mailer.say(line).await;
                    assert!(reply.starts_with(['2', '3']), "{step}: {line} {reply}");
                }
                if !at.is_empty() {
                    mailer.send(at).await;
                }
                match mode.as_str() {
                    "fail-before-forward" => assert_eq!(mailer.rest().await, (String::new(), End::Reset), "{step}"),
                    "refuse" => assert!(mailer.reply().await.starts_with("452"), "{step}"),
                    _ => assert!(!mailer.reply().await.starts_with("452"), "{step}"),
                }
                drop(mailer);
                app.settled().await;
                let faults = app.admin(Call::get("/_faults")).await;
                assert_eq!(faults["faults"][0]["fired"], 1, "{step} {mode}");
                app.admin(Call::new("DELETE", &format!("/_faults/{id}"))).await;
            }
        }
        assert_eq!(taken.count(), 1, "the delayed one alone");
        let counts = app.counts("post").await;
        assert_eq!((counts.failed, counts.accepted), (4, 1), "{counts:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_after_the_dot_has_sent_its_mail() {
    with_relay(async |app, taken| {
        app.fault(json!({"provider": "post", "mode": "delay", "at": "before", "delay": "100ms"}))
            .await;
        let mut mailer = app.mailer_to("post").await;
        mailer.open("b@server.test").await;
        mailer.dot(&letter("1@x", "body")).await;
        app.until("the whole mail", |app| {
            app.entries().last().is_some_and(|e| !e.fired.is_empty())
        })
        .await;
        drop(mailer);
        app.settled().await;
        let counts = app.counts("post").await;
        assert_eq!((counts.accepted, counts.lost, taken.count()), (1, 1, 1));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_is_told_from_another_mail() {
    with_relay(async |app, _| {
        let mut mailer = app.mailer_to("post").await;
        for (id, body) in [("1@x", "one"), ("1@x", "one"), ("2@x", "one"), ("3@x", "other")] {
            mailer.post("b@server.test", &letter(id, body)).await;
        }
        let summary = app.suite.stats().providers["post"].clone();
        assert_eq!((summary.counts.accepted, summary.counts.duplicates), (4, 2));
        assert_eq!(
            (summary.duplicates_by["message-id"], summary.duplicates_by["content"]),
            (1, 1)
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn starttls_and_logins_pass_or_are_set() {
    let sink = Suite::builder().smtp(starttls()).start().await.unwrap();
    let ca = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(ca.path(), sink.ca_pem()).unwrap();
    let plain = sink.addresses().smtp().unwrap();
    let inside = sink.addresses().smtps().unwrap();
    with(
        |b| {
            b.upstream_ca(ca.path())
                .relay(spec("passed", &format!("smtp://{plain}"), ""))
                .relay(spec("set", &format!("smtp://user:p%40ss@{plain}"), ""))
                .relay(spec("inside", &format!("smtps://{inside}"), ";scope=bob"))
        },
        async |app: &App| {
            let mut mailer = app.mailer_to("passed").await;
            mailer.expect("STARTTLS", "220").await;
            let conn = mailer.conn.secure(app.suite.ca_pem(), "localhost").await;
            let mut mailer = Mailer { conn };
            let offer = mailer.expect("EHLO client.test", "250").await;
            assert!(!offer.contains("CHUNKING") && !offer.contains("STARTTLS"), "{offer}");
            assert!(mailer.log_in("someone", "x").await.starts_with("235"));
            mailer.post("b@server.test", &letter("1@x", "one")).await;

            let mut mailer = app.knock_at("set").await;
            mailer.expect("", "220").await;
            let offer = mailer.expect("EHLO client.test", "250").await;
            assert!(!offer.contains("STARTTLS"), "{offer}");
            assert!(mailer.log_in("~alice", "any").await.starts_with("235"));
            mailer.post("b@server.test", &letter("2@x", "two")).await;

            let mut mailer = app.mailer_to("inside").await;
            mailer.post("b@server.test", &letter("3@x", "three")).await;
            let of = |scope: &str| app.of(scope).accepted;
            assert_eq!((of("default"), of("alice"), of("bob")), (1, 1, 1));
        },
    )
    .await;
    assert_eq!(sink.stats().effects["message"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_in_trouble_is_told_of() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let deaf = Raw::start(|_stream| std::future::pending()).await;
    let rude = Raw::start(|mut stream| async move {
        stream.write_all(b"220 x\r\n").await.unwrap();
        let mut said = Vec::new();
        while !said.ends_with(b"\r\n.\r\n") {
            if said.ends_with(b"DATA\r\n") {
                stream.write_all(b"354 go\r\n").await.unwrap();
            } else if said.ends_with(b"\r\n") && !said.ends_with(b"x\r\n") {
                stream.write_all(b"250 x\r\n").await.unwrap();
            }
            said.push(stream.read_u8().await.unwrap());
        }
    })
    .await;
    with(
        |b| {
            b.relay(spec("down", &format!("smtp://{free}"), ""))
                .relay(spec("deaf", &format!("smtp://{}", deaf.addr), ";timeout=100ms"))
                .relay(spec("rude", &format!("smtp://{}", rude.addr), ""))
        },
        async |app: &App| {
            for name in ["down", "deaf"] {
                let mut mailer = app.knock_at(name).await;
                let said = mailer.reply().await;
                assert!(
                    said.starts_with("421") && said.contains(&format!("relay `{name}`")),
                    "{said}"
                );
                assert_eq!(mailer.rest().await.1, End::Orderly);
            }
            let mut mailer = app.mailer_to("rude").await;
            mailer.open("b@server.test").await;
            mailer.dot("x\r\n").await;
            let said = mailer.reply().await;
            assert!(said.starts_with("451") && said.contains("broke off"), "{said}");
            assert_eq!(app.entries().pop().unwrap().outcome, Some(Outcome::Unknown));
            assert_eq!(app.effects("message"), 0);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_followed_is_relayed_as_it_is_and_noted() {
    let echo = Raw::start(|mut stream| async move {
        stream.write_all(b"220 x\r\n").await.unwrap();
        let (mut reader, mut writer) = stream.split();
        drop(tokio::io::copy(&mut reader, &mut writer).await);
    })
    .await;
    with(
        |b| b.relay(spec("echo", &format!("smtp://{}", echo.addr), "")),
        async |app: &App| {
            for rule in [
                json!({"provider": "echo", "mode": "drop-after-commit"}),
                json!({"mode": "hold-after-commit", "scope": "default"}),
                json!({"provider": "echo", "mode": "drop-after-commit", "scope": "alice"}),
                json!({"provider": "stripe", "mode": "drop-after-commit"}),
                json!({"mode": "duplicate"}),
            ] {
                app.fault(rule).await;
            }
            let blind = async || {
                let listed = app.admin(Call::get("/_faults")).await["faults"].clone();
                let rules = listed.as_array().unwrap().iter();
                rules.map(|rule| rule["blind"].is_string()).collect::<Vec<_>>()
            };
            assert_eq!(blind().await, [false; 5]);
            for (n, garbage) in [
                "BDAT x\r\nanything\r\n",
                "WIBBLE\r\nand more\0\r\n",
                "BDAT 5 LAST\r\nhello",
            ]
            .into_iter()
            .enumerate()
            {
                let mut mailer = app.knock_at("echo").await;
                mailer.expect("", "220").await;
                for byte in garbage.as_bytes() {
                    mailer.conn.send(&[*byte]).await;
                }
                let back = mailer.conn.read_exact(garbage.len()).await;
                assert_eq!(String::from_utf8(back).unwrap(), garbage);
                mailer.conn.half_close().await;
                assert_eq!(mailer.rest().await, (String::new(), End::Orderly));
                app.settled().await;
                let entries = app.entries();
                assert_eq!(entries.len(), n + 1);
                assert!(
                    entries[n].notes[0].contains("cannot be followed"),
                    "{:?}",
                    entries[n].notes
                );
                assert_eq!(entries[n].outcome, Some(Outcome::Unknown));
            }
            assert_eq!(blind().await, [true, true, false, false, false]);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_ends_nothing_but_its_own_session() {
    with_relay(async |app, taken| {
        let mut random = fastrand::Rng::with_seed(17);
        for _ in 0..60 {
            let words: [&[u8]; 8] = [
                b"EHLO x\r\n",
                b"MAIL FROM:<a@b>\r\n",
                b"RCPT TO:<c@d>\r\n",
                b"DATA\r\n",
                b"\r\n.\r\n",
                b"RSET\r\n",
                b"\xff\0 \r\n",
                b"AUTH LOGIN\r\n",
            ];
            let mut conn = app.to("post").await;
            for _ in 0..random.usize(..12) {
                let word = words[random.usize(..words.len())];
                let at = random.usize(..=word.len());
                if conn.send_lossy(&word[..at]).await.is_err() || conn.send_lossy(&word[at..]).await.is_err() {
                    break;
                }
            }
            drop(conn);
        }
        app.settled().await;
        let before = taken.count();
        let mut mailer = app.mailer_to("post").await;
        mailer.post("b@server.test", &letter("last@x", "last")).await;
        assert_eq!(taken.count(), before + 1);
    })
    .await;
}
