//! A mailer as people use it: lettre, unmodified.

use lettre::transport::smtp::authentication::Credentials;
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use serde_json::json;

use crate::support::{App, with, within};

fn transport(app: &App) -> AsyncSmtpTransport<Tokio1Executor> {
    AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous("127.0.0.1")
        .port(app.smtp().port())
        .credentials(Credentials::new("~shop".into(), "secret".into()))
        .build()
}

/// Sends as lettre does.
async fn send(app: &App, mail: &Message) -> Result<(), String> {
    let sent = within("what comes of a mail", transport(app).send(mail.clone())).await;
    let response = sent.map_err(|e| e.to_string())?;
    assert!(response.is_positive(), "{response:?}");
    Ok(())
}

/// Sends a mail whose answer is the n-th that is withheld. Nothing of its own ends lettre's waiting in a hang: the caller gives up, here as
/// soon as there is nothing to wait for.
async fn lose(app: &App, mail: &Message, hangs: bool, n: u64) {
    let sent = send(app, mail);
    if !hangs {
        sent.await.expect_err("the answer was lost");
        return;
    }
    tokio::select! {
        sent = sent => panic!("it hangs: {sent:?}"),
        () = app.until("the hang", |app| app.now("smtp").withheld == n) => {}
    }
}

fn receipt(n: u64) -> Message {
    Message::builder()
        .from("Shop <shop@shop.test>".parse().unwrap())
        .to("Ann <ann@example.com>".parse().unwrap())
        .subject(format!("Receipt {n}"))
        .body("Thank you.\n.\n..\n".to_owned())
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn lettre_sends_a_mail_and_reads_its_250() {
    with(
        |b| b,
        async |app: &App| {
            let mail = receipt(1);
            send(app, &mail).await.unwrap();
            let mails = app.mails("?scope=shop&to=ann@example.com").await;
            assert_eq!((mails.len(), mails[0]["subject"].as_str()), (1, Some("Receipt 1")));
            let raw = app.raw(&mails[0]).await;
            assert_eq!(
                String::from_utf8(raw).unwrap().trim_end(),
                String::from_utf8(mail.formatted()).unwrap().trim_end()
            );
            let counts = app.counts("smtp").await;
            assert_eq!((counts.accepted, counts.answered), (1, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lettre_loses_one_answer_each_way_and_its_retry_is_a_second_mail() {
    with(
        |b| b,
        async |app: &App| {
            for (n, rule) in (1u64..).zip([
                json!({"mode": "drop-after-commit", "how": "close"}),
                json!({"mode": "drop-after-commit", "how": "reset"}),
                json!({"mode": "drop-after-commit", "how": "hang"}),
                json!({"mode": "drop-after-commit", "how": "truncate", "bytes": 10}),
                json!({"mode": "error-after-commit"}),
            ]) {
                let mut rule = rule.clone();
                rule["on"] = 1.into();
                app.fault(rule.clone()).await;
                let mail = receipt(n);
                lose(app, &mail, rule["how"] == "hang", n).await;
                send(app, &mail).await.unwrap();
                let counts = app.counts("smtp").await;
                assert_eq!(
                    (counts.accepted, counts.duplicates, counts.withheld),
                    (2 * n, n, n),
                    "{rule}"
                );
                assert_eq!(app.mails(&format!("?subject=Receipt%20{n}")).await.len(), 2, "{rule}");
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lettre_fails_before_the_commit_and_its_retry_is_the_only_mail() {
    with(
        |b| b,
        async |app: &App| {
            for (n, how) in (1u64..).zip(["close", "reset", "hang"]) {
                app.fault(json!({"mode": "fail-before-commit", "provider": "smtp", "how": how, "on": 1}))
                    .await;
                let mail = receipt(n);
                lose(app, &mail, how == "hang", n).await;
                send(app, &mail).await.unwrap();
                let counts = app.counts("smtp").await;
                assert_eq!((counts.accepted, counts.failed, counts.duplicates), (n, n, 0), "{how}");
            }
        },
    )
    .await;
}
