//! `/_mail`: which mails there are, how they are found, and what they say.

use serde_json::{Value, json};

use crate::support::{App, Call, letter, with};

fn ids(mails: &[Value]) -> Vec<&str> {
    mails
        .iter()
        .map(|mail| mail["message_id"].as_str().unwrap_or_default())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_filter_finds_its_own_and_all_must_hold() {
    with(
        |b| b,
        async |app: &App| {
            for (sender, recipients, id, subject, extra) in [
                (
                    "shop@shop.test",
                    "ann@example.com bob@example.com",
                    "1@shop.test",
                    "Receipt 17",
                    "X-Order: 17",
                ),
                (
                    "",
                    "ann@example.com",
                    "2@shop.test",
                    "=?utf-8?q?Gr=C3=BC=C3=9Fe?=",
                    "X-Order: 18",
                ),
                (
                    "other@shop.test",
                    "carl@example.org",
                    "3@shop.test",
                    "Reminder",
                    "x-order: 19",
                ),
            ] {
                let mut mailer = app.mailer().await;
                mailer.expect(&format!("MAIL FROM:<{sender}>"), "250").await;
                for recipient in recipients.split(' ') {
                    mailer.expect(&format!("RCPT TO:<{recipient}>"), "250").await;
                }
                mailer.expect("DATA", "354").await;
                mailer
                    .dot(&format!(
                        "Message-ID: <{id}>\r\nSubject: {subject}\r\n{extra}\r\n\r\nx\r\n"
                    ))
                    .await;
                mailer.expect("", "250").await;
            }
            for (query, expected) in [
                ("", "3 2 1"),
                ("?to=bob@example.com", "1"),
                ("?recipient=*@EXAMPLE.com", "2 1"),
                ("?from=other", "3"),
                ("?sender=shop@*", "1"),
                ("?subject=receipt", "1"),
                ("?subject=gr%C3%BC%C3%9Fe", "2"),
                ("?message-id=2@shop.test", "2"),
                ("?message-id=%3C2@shop.test%3E", "2"),
                ("?message-id=*@shop.test", "3 2 1"),
                ("?header=X-Order:1*", "3 2 1"),
                ("?header=x-order:%2018", "2"),
                ("?to=ann&subject=receipt", "1"),
                ("?to=ann&subject=reminder", ""),
                ("?limit=1", "3"),
                ("?scope=nobody", ""),
            ] {
                let found = app.mails(query).await;
                let expected: Vec<String> = expected.split_whitespace().map(|n| format!("{n}@shop.test")).collect();
                assert_eq!(ids(&found), expected, "{query}");
            }
            let first = app.admin(Call::get("/_mail?limit=2")).await;
            assert_eq!(
                (first["total"].as_u64(), first["has_more"].as_bool()),
                (Some(3), Some(true))
            );
            let next = app
                .admin(Call::get(&format!(
                    "/_mail?before={}",
                    first["mails"][1]["id"].as_str().unwrap()
                )))
                .await;
            assert_eq!(
                (ids(next["mails"].as_array().unwrap()), next["has_more"].as_bool()),
                (vec!["1@shop.test"], Some(false))
            );
            for (wrong, word) in [
                ("?too=ann", "recipient"),
                ("?header=x", "Name:value"),
                ("?limit=x", "1000"),
                ("?before=msg_x", "msg_x"),
                ("?scope=a%20b", "a b"),
            ] {
                let answer = app.call(Call::get(&format!("/_mail{wrong}"))).await;
                assert_eq!(
                    (answer.status, answer.text().contains(word)),
                    (400, true),
                    "{wrong}: {}",
                    answer.text()
                );
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_is_shown_with_its_envelope_its_parsed_view_and_its_raw_lines() {
    with(
        |b| b,
        async |app: &App| {
            let mut mailer = app.mailer().await;
            mailer.expect("MAIL FROM:<\"odd one\"@shop.test> SIZE=10 RET=HDRS", "250").await;
            mailer.expect("RCPT TO:<ann@example.com> NOTIFY=NEVER", "250").await;
            mailer.expect("DATA", "354").await;
            let content = "Message-ID: <a@shop.test>\r\nFrom: Shop <shop@shop.test>\r\nTo: Ann <ann@example.com>\r\nSubject: Hi\r\n\
                MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nHello\r\n\
                --b\r\nContent-Type: text/csv\r\nContent-Disposition: attachment; filename=a.csv\r\nContent-Transfer-Encoding: base64\r\n\r\nYSxiCg==\r\n--b--\r\n";
            mailer.dot(content).await;
            mailer.expect("", "250").await;
            let id = app.mails("").await[0]["id"].as_str().unwrap().to_owned();
            let mail = app.admin(Call::get(&format!("/_mail/{id}"))).await;
            assert_eq!(
                mail["envelope"]["lines"],
                json!(["MAIL FROM:<\"odd one\"@shop.test> SIZE=10 RET=HDRS", "RCPT TO:<ann@example.com> NOTIFY=NEVER"])
            );
            assert_eq!((&mail["envelope"]["helo"], &mail["envelope"]["user"]), (&json!("client.test"), &Value::Null));
            assert_eq!((mail["size"].as_u64(), &mail["body_let_go"]), (Some(content.len() as u64), &json!(false)));
            assert_eq!(mail["from"], json!([{"name": "Shop", "address": "shop@shop.test"}]));
            assert!(mail["text"].as_str().unwrap().starts_with("Hello"), "{mail}");
            assert_eq!((&mail["attachments"][0]["name"], &mail["attachments"][0]["size"]), (&json!("a.csv"), &json!(4)));
            assert_eq!(app.raw(&mail).await, content.as_bytes());
            assert_eq!(app.call(Call::get("/_mail/msg_nope")).await.status, 404);
            assert_eq!(app.call(Call::get(&format!("/_mail/{id}?scope=other"))).await.status, 404);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_parsed_is_a_mail_all_the_same() {
    with(
        |b| b,
        async |app: &App| {
            let deep = format!(
                "Content-Type: multipart/mixed; boundary=b\r\n\r\n{}",
                "--b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n".repeat(5_000)
            );
            for content in [
                "\r\n",
                "no header at all\r\n",
                ": \r\n\r\n",
                "Subject: =?utf-8?b?!!?=\r\n\r\n",
                "Content-Type: multipart/mixed\r\n\r\n",
                "\0\0\r\n",
                &deep,
            ] {
                let reply = app.post("ann@example.com", content).await;
                assert!(reply.starts_with("250"), "{content:.40}: {reply}");
                let mails = app.mails("").await;
                let id = mails[0]["id"].as_str().unwrap();
                let mail = app.admin(Call::get(&format!("/_mail/{id}"))).await;
                assert_eq!(mail["size"].as_u64(), Some(content.len() as u64));
                assert_eq!(app.raw(&mail).await, content.as_bytes());
            }
            assert_eq!(app.effects("message"), 7);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_that_was_not_accepted_is_not_listed() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"provider": "smtp", "mode": "refuse", "on": 1})).await;
            let mut mailer = app.mailer().await;
            let content = letter("one@shop.test", "x");
            assert!(mailer.post("a@b.test", &content).await.starts_with("451"));
            assert_eq!(app.mails("").await.len(), 0);
            assert!(mailer.post("a@b.test", &content).await.starts_with("250"));
            assert_eq!(app.mails("").await.len(), 1);
            assert_eq!(
                app.counts("smtp").await.duplicates,
                0,
                "what was refused makes no duplicate"
            );
            app.admin(Call::post("/_reset")).await;
            assert_eq!(app.mails("").await.len(), 0);
        },
    )
    .await;
}
