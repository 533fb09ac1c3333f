//! Logins: any is accepted, its name can carry the scope, and its password is kept nowhere.

use ackdrop::store::Scope;
use ackdrop::suite::{Mechanism, Offer};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::support::{App, Call, letter, with};

#[tokio::test(flavor = "multi_thread")]
async fn a_login_names_the_scope_of_all_its_mails() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"provider": "smtp", "scope": "alice", "mode": "refuse", "on": 2}))
                .await;
            for (user, scope) in [
                ("~alice", "alice"),
                ("bob", "default"),
                ("alice", "default"),
                ("~alice", "alice"),
            ] {
                let mut mailer = app.mailer().await;
                assert!(mailer.log_in(user, "any").await.starts_with("235"), "{user}");
                assert!(
                    mailer.log_in(user, "any").await.starts_with("503"),
                    "one login a session"
                );
                let before = app.mails(&format!("?scope={scope}")).await.len();
                let reply = mailer.post("ann@example.com", &letter(user, "x")).await;
                let after = app.mails(&format!("?scope={scope}")).await;
                assert_eq!(
                    after.len() - before,
                    usize::from(reply.starts_with("250")),
                    "{user} is of {scope}"
                );
                if reply.starts_with("250") {
                    assert_eq!(
                        (after[0]["scope"].as_str(), after[0]["envelope"]["user"].as_str()),
                        (Some(scope), Some(user))
                    );
                }
            }
            let alice = app.suite.stats_of(&Scope::parse("alice").unwrap());
            assert_eq!(
                (alice.total.accepted, alice.total.refused, alice.effects["message"]),
                (1, 1, 1)
            );
            assert_eq!((app.mails("").await.len(), app.effects("message")), (3, 3));
            app.admin(Call::post("/_reset?scope=alice")).await;
            assert_eq!(app.mails("").await.len(), 2, "alice's reset leaves the others");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scope_that_is_no_name_is_refused_and_the_session_goes_on() {
    with(
        |b| b,
        async |app: &App| {
            let mut mailer = app.mailer().await;
            for user in ["~", "~a b", "~ä", &format!("~{}", "x".repeat(65))] {
                let reply = mailer.log_in(user, "any").await;
                assert!(reply.starts_with("535 5.7.8 "), "{user}: {reply}");
            }
            assert!(mailer.log_in("~ok", "any").await.starts_with("235"));
            assert!(mailer.post("a@b.test", "x\r\n").await.starts_with("250"));
            let scopes = app.admin(Call::get("/_mail")).await;
            assert_eq!(scopes["mails"][0]["scope"], "ok");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_mechanism_lets_in_and_no_password_is_kept() {
    let offer = Offer {
        mechanisms: Mechanism::ALL.into(),
        ..Offer::default()
    };
    with(
        |b| b.smtp(offer),
        async |app: &App| {
            let encode = |text: &str| STANDARD.encode(text);
            let secrets = ["hunter2plain", "hunter2login", "hunter2cram", "hunter2token"];
            let scripts: [&[String]; 4] = [
                &["AUTH PLAIN".into(), encode("\0~s0\0hunter2plain")],
                &["AUTH LOGIN".into(), encode("~s1"), encode("hunter2login")],
                &["AUTH CRAM-MD5".into(), encode("~s2 hunter2cram")],
                &[format!(
                    "AUTH XOAUTH2 {}",
                    encode("user=~s3\u{1}auth=Bearer hunter2token\u{1}\u{1}")
                )],
            ];
            for (i, script) in scripts.into_iter().enumerate() {
                let mut mailer = app.mailer().await;
                let (last, first) = script.split_last().unwrap();
                for line in first {
                    mailer.expect(line, "334").await;
                }
                mailer.expect(last, "235").await;
                assert!(
                    mailer
                        .post("a@b.test", &letter(&format!("{i}"), "x"))
                        .await
                        .starts_with("250")
                );
                assert_eq!(app.mails(&format!("?scope=s{i}")).await.len(), 1);
            }
            // A password that a client sends in the wrong place is nowhere either.
            let mut mailer = app.mailer().await;
            mailer.expect(&encode("hunter2stray"), "500").await;
            mailer
                .expect(&format!("AUTH GSSAPI {}", encode("hunter2stray")), "504")
                .await;
            let mut shown = app.call(Call::get("/_events")).await.text() + &app.call(Call::get("/_mail")).await.text();
            for entry in app.entries() {
                shown += &entry.log_line();
                shown += &format!("{entry:?}");
            }
            for secret in secrets.into_iter().chain(["hunter2stray"]) {
                assert!(!shown.contains(secret) && !shown.contains(&encode(secret)), "{secret}");
            }
            assert!(!shown.contains(&encode("\0~s0\0hunter2plain")));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_in_a_mail_are_in_its_raw_bytes_alone() {
    with(
        |b| b,
        async |app: &App| {
            let key = "sk_live_51HunterTwoHunterTwo";
            let card = "4242424242424242";
            let content = format!("Subject: {key}\r\nX-Card: {card}\r\n\r\nkey {key}, card {card}\r\n");
            app.post("ann@example.com", &content).await;
            let mails = app.mails("").await;
            let id = mails[0]["id"].as_str().unwrap();
            let mut shown = app.call(Call::get("/_events")).await.text();
            shown += &app.call(Call::get("/_mail")).await.text();
            shown += &app.call(Call::get(&format!("/_mail/{id}"))).await.text();
            shown.extend(app.entries().iter().map(ackdrop::ledger::Entry::log_line));
            assert!(!shown.contains(key) && !shown.contains(card), "{shown}");
            assert_eq!(app.raw(&mails[0]).await, content.as_bytes());
        },
    )
    .await;
}
