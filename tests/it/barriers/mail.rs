//! Barriers for mail.

use serde_json::json;

use crate::support::{App, Call, Over, letter, with};

#[tokio::test(flavor = "multi_thread")]
async fn mails_gather_at_the_dot_and_after_the_commit() {
    with(
        |b| b,
        async |app: &App| {
            for (mode, step, there) in [("hold-before-commit", "dot", 0), ("hold-after-commit", "commit", 2)] {
                app.admin(Call::new("DELETE", "/_faults")).await;
                app.admin(Call::post("/_reset")).await;
                app.fault(json!({"mode": mode, "step": step, "provider": "smtp", "barrier": 3}))
                    .await;
                let mut mailers = Vec::new();
                for n in 0..3 {
                    let mut mailer = app.mailer().await;
                    mailer.open("b@example.com").await;
                    if n == 2 {
                        app.until_held(2).await;
                        assert_eq!(app.effects("message"), there, "{mode}");
                    }
                    mailer.dot(&letter("one@shop.test", "same")).await;
                    mailers.push(mailer);
                }
                for mailer in &mut mailers {
                    assert!(mailer.reply().await.starts_with("250"));
                }
                assert_eq!((app.effects("message"), app.counts("smtp").await.answered), (3, 3));
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_gather_before_their_greeting_and_a_recipient_can_say_it() {
    with(
        |b| b,
        async |app: &App| {
            let rule = json!({"mode": "hold-before-commit", "step": "greeting", "provider": "smtp", "barrier": 2, "on": [1, 2]});
            app.fault(rule).await;
            let mut first = app.knock(Over::Smtp).await;
            app.until_held(1).await;
            let mut second = app.knock(Over::Smtp).await;
            for mailer in [&mut first, &mut second] {
                mailer.expect("", "220").await;
                mailer.expect("EHLO a", "250").await;
                mailer.open("hold-before-commit+barrier2@fault.test").await;
                mailer.dot(&letter("one@shop.test", "same")).await;
            }
            for mailer in [&mut first, &mut second] {
                assert!(mailer.reply().await.starts_with("250"));
            }
            assert_eq!(app.effects("message"), 2);
        },
    )
    .await;
}
