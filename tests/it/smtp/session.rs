//! The happy path by raw bytes: what a mail is, however it comes.

use crate::support::{App, End, Over, codes, letter, starttls, with};

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_is_stored_before_its_250_whatever_carries_it() {
    with(
        |b| b.smtp(starttls()),
        async |app: &App| {
            for over in Over::ALL {
                let mut mailer = app.mailer_over(over).await;
                let content = letter(&format!("{over:?}@shop.test"), "Thank you.");
                let reply = mailer.post("ann@example.com", &content).await;
                let mails = app.mails(&format!("?message-id={over:?}@shop.test")).await;
                assert_eq!(mails.len(), 1, "the 250 of {over:?} came before the mail");
                assert!(
                    reply.starts_with("250 2.0.0 ") && reply.contains(mails[0]["id"].as_str().unwrap()),
                    "{reply}"
                );
                assert_eq!(app.raw(&mails[0]).await, content.as_bytes());
                mailer.expect("QUIT", "221").await;
                assert_eq!(mailer.rest().await, (String::new(), End::Orderly));
            }
            let counts = app.counts("smtp").await;
            assert_eq!((counts.received, counts.accepted, counts.answered), (3, 3, 3));
            assert_eq!((app.effects("message"), app.effects("recipient")), (3, 3));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_session_in_one_write_gets_its_replies_in_order() {
    with(
        |b| b,
        async |app: &App| {
            let mut mailer = app.knock(Over::Smtp).await;
            let content = letter("one@shop.test", "Hello");
            let wire = format!(
                "EHLO client.test\r\nMAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\nRCPT TO:<e@f.test>\r\nDATA\r\n{content}.\r\n\
                 MAIL FROM:<>\r\nRCPT TO:<g@h.test>\r\nBDAT 5\r\n.\r\n.\rBDAT 4 LAST\r\n\n.\r\nNOOP\r\nVRFY x\r\nRSET\r\nHELP\r\nQUIT\r\n"
            );
            mailer.conn.send(wire.as_bytes()).await;
            let (replies, _) = mailer.rest().await;
            let expected = [
                "220", "250", "250", "250", "250", "354", "250", "250", "250", "250", "250", "250", "252", "250", "214", "221",
            ];
            assert_eq!(codes(&replies), expected, "{replies}");
            let mails = app.mails("").await;
            assert_eq!(mails[0]["envelope"]["sender"], "", "the null sender");
            assert_eq!(app.raw(&mails[0]).await, b".\r\n.\r\n.\r\n", "chunks are bytes, and their dots are dots");
            assert_eq!(mails[1]["envelope"]["recipients"], serde_json::json!(["c@d.test", "e@f.test"]));
            assert_eq!(app.raw(&mails[1]).await, content.as_bytes());
            let counts = app.counts("smtp").await;
            assert_eq!((counts.received, counts.accepted, counts.answered), (2, 2, 2));
            assert_eq!((app.effects("message"), app.effects("recipient")), (2, 3));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_extensions_are_offered_and_taken() {
    with(
        |b| b,
        async |app: &App| {
            let mut mailer = app.knock(Over::Smtp).await;
            mailer.expect("", "220").await;
            let offered = mailer.expect("EHLO client.test", "250-").await;
            for word in [
                "PIPELINING",
                "SIZE 52428800",
                "8BITMIME",
                "SMTPUTF8",
                "CHUNKING",
                "AUTH PLAIN LOGIN",
            ] {
                assert!(offered.lines().any(|line| line[4..] == *word), "{word}: {offered}");
            }
            assert!(!offered.contains("STARTTLS"));
            mailer.expect("STARTTLS", "502").await;
            mailer
                .expect("MAIL FROM:<grün@münchen.test> SIZE=12 BODY=8BITMIME SMTPUTF8", "250")
                .await;
            mailer.expect("RCPT TO:<öl@münchen.test>", "250").await;
            mailer.expect("DATA", "354").await;
            let content = "Subject: Grüße\r\n\r\nÄ\r\n".as_bytes();
            mailer
                .conn
                .send(&[content, &[0xff, 0, 13, 10], b".\r\n"].concat())
                .await;
            mailer.expect("", "250").await;
            let mails = app.mails("").await;
            assert_eq!(app.raw(&mails[0]).await, [content, &[0xff, 0, 13, 10]].concat());
            assert_eq!(mails[0]["envelope"]["sender"], "grün@münchen.test");
            assert_eq!(mails[0]["envelope"]["recipients"][0], "öl@münchen.test");
            assert_eq!(mails[0]["subject"], "Grüße");
            mailer.expect("HELO old.test", "250 ").await;
            mailer.expect("WIBBLE", "500").await;
            mailer.expect("RCPT TO:<a@b.test>", "503").await;
            mailer.expect("DATA", "503").await;
            mailer.expect("MAIL FROM:<a@b.test> WIBBLE=1", "555").await;
            mailer.expect("MAIL FROM:<a@b.test>", "250").await;
            mailer.expect("DATA", "554").await;
            let counts = app.counts("smtp").await;
            assert_eq!((counts.received, counts.accepted, counts.refused), (2, 1, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_byte_is_lost_wherever_the_wire_is_cut() {
    with(
        |b| b,
        async |app: &App| {
            let wire = b"..first\r\n\r\n..\r\n...two\r\n.x\r\nlast.\r\n.\r\n";
            let content = b".first\r\n\r\n.\r\n..two\r\nx\r\nlast.\r\n";
            let mut mailer = app.mailer().await;
            for cut in 0..=wire.len() {
                mailer.open("ann@example.com").await;
                mailer.conn.send(&wire[..cut]).await;
                // Behind this reply the first part was read by itself.
                app.mails("?limit=1").await;
                mailer.conn.send(&wire[cut..]).await;
                mailer.expect("", "250").await;
                let mails = app.mails("?limit=1").await;
                assert_eq!(app.raw(&mails[0]).await, content, "cut at {cut}");
            }
            assert_eq!(app.effects("message"), wire.len() as u64 + 1);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_mail_ends_and_is_a_mail() {
    with(
        |b| b,
        async |app: &App| {
            let reply = app.post("ann@example.com", "").await;
            assert!(reply.starts_with("250"), "{reply}");
            let mut mailer = app.mailer().await;
            mailer.expect("MAIL FROM:<>", "250").await;
            mailer.expect("RCPT TO:<ann@example.com>", "250").await;
            mailer.expect("BDAT 0 LAST", "250").await;
            for mail in app.mails("").await {
                assert_eq!((mail["size"].as_u64(), app.raw(&mail).await), (Some(0), vec![]));
            }
            let counts = app.counts("smtp").await;
            assert_eq!((counts.accepted, counts.duplicates), (2, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_smuggles_a_second_mail_into_the_first() {
    with(
        |b| b,
        async |app: &App| {
            let second = "MAIL FROM:<evil@shop.test>\r\nRCPT TO:<x@example.com>\r\nDATA\r\nevil\r\n";
            for (i, end) in [
                "\n.\n",
                "\n.\r\n",
                "\r.\r",
                "\r.\r\n",
                "\r\n.\r",
                "\r\n.\n",
                "\r\n\0.\r\n",
            ]
            .into_iter()
            .enumerate()
            {
                let mut mailer = app.mailer().await;
                mailer.open("ann@example.com").await;
                mailer
                    .conn
                    .send(format!("first{end}{second}\r\n.\r\nQUIT\r\n").as_bytes())
                    .await;
                let (replies, _) = mailer.rest().await;
                assert_eq!(codes(&replies), ["250", "221"], "{end:?}: {replies}");
                let mails = app.mails("").await;
                assert_eq!(
                    (mails.len(), mails[0]["envelope"]["sender"].as_str()),
                    (i + 1, Some("shop@shop.test"))
                );
                assert!(
                    String::from_utf8(app.raw(&mails[0]).await)
                        .unwrap()
                        .contains("MAIL FROM:<evil"),
                    "{end:?}"
                );
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_behind_starttls_in_plaintext_is_never_obeyed() {
    with(
        |b| b.smtp(starttls()),
        async |app: &App| {
            let mut mailer = app.mailer().await;
            mailer
                .send("MAIL FROM:<a@b.test>\r\nSTARTTLS\r\nEHLO evil.test\r\nMAIL FROM:<evil@shop.test>")
                .await;
            mailer.expect("", "250").await;
            mailer.expect("", "220").await;
            mailer.conn = mailer.conn.secure(app.suite.ca_pem(), "mail.test").await;
            mailer.expect("MAIL FROM:<a@b.test>", "503").await;
            let offered = mailer.expect("EHLO client.test", "250").await;
            assert!(!offered.contains("STARTTLS") && offered.contains("AUTH"), "{offered}");
            mailer.expect("STARTTLS", "503").await;
            let counts = app.counts("smtp").await;
            assert_eq!((counts.received, counts.incomplete, counts.answered), (1, 1, 1));
        },
    )
    .await;
}
