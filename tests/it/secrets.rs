//! Secrets never enter: not the journal, not the counts, not mails, deliveries, holds or log lines.

use serde_json::json;

use crate::support::{App, Call, letter, with};

const KEY: &str = "sk_test_51HxYzAbCdEfGhIjKl";
const CARD: &str = "4242424242424242";
const SPACED_CARD: &str = "4000 0566 5566 5556";
const URL_PASSWORD: &str = "hunter2hunter2";
const LOGIN_PASSWORD: &str = "correct-horse-battery";
const COOKIE: &str = "session-5f2c9a";
const CVC: &str = "9713";

const ALL: [&str; 6] = [KEY, CARD, SPACED_CARD, URL_PASSWORD, LOGIN_PASSWORD, COOKIE];

/// Puts every secret into a text.
fn full() -> String {
    format!("key {KEY} card {CARD} or {SPACED_CARD} at https://shop:{URL_PASSWORD}@example.com/path")
}

fn everywhere(call: Call) -> Call {
    call.header("authorization", &format!("Bearer {KEY}"))
        .header("cookie", COOKIE)
        .header("x-note", &full())
        .header("x-api-key", KEY)
}

async fn tell_all(app: &App) {
    let order =
        json!({"reference": format!("ref {CARD}"), "note": full(), "card": {"number": SPACED_CARD, "cvc": CVC}});
    app.call(everywhere(Call::post("/orders").json(&order))).await;
    app.call(everywhere(Call::post("/orders").json(&order)).key(&full()))
        .await;
    app.call(everywhere(Call::get(&format!("/orders/{CARD}")))).await;
    app.call(everywhere(Call::post("/orders").body(full()))).await;
    let hook = format!("/hooks/t/{KEY}?card={CARD}&back=https://a:{URL_PASSWORD}@b.test");
    app.call(everywhere(Call::post(&hook).body(full())).header("webhook-id", KEY))
        .await;
    app.call(everywhere(Call::post("/hooks/form")).form(&format!("card%5Bnumber%5D={CARD}&card%5Bcvc%5D={CVC}")))
        .await;
    app.call(everywhere(Call::post("/hooks/binary")).body([b"\xff\xfe".as_slice(), full().as_bytes()].concat()))
        .await;
    let charge = format!(
        "amount=1099&currency=usd&source[object]=card&source[number]={CARD}&source[cvc]={CVC}&source[exp_month]=1&source[exp_year]=2050"
    );
    app.call(everywhere(Call::post("/v1/charges").form(&charge))).await;
    app.call(everywhere(Call::get(&format!("/nothing/{KEY}")))).await;
    let mut mailer = app.mailer().await;
    assert!(mailer.log_in("shop", LOGIN_PASSWORD).await.starts_with("235"));
    let head = format!(
        "X-Note: {}\r\nAuthorization: Bearer {KEY}\r\nSubject: {CARD}\r\n",
        full()
    );
    let reply = mailer
        .post("a@b.test", &format!("{head}{}", letter(KEY, &full())))
        .await;
    assert!(reply.starts_with("250"), "{reply}");
}

#[tokio::test(flavor = "multi_thread")]
async fn none_is_shown_anywhere() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(
                json!({"mode": "refuse", "header": {"authorization": format!("Bearer {KEY}x")}, "provider": "orders"}),
            )
            .await;
            app.fault(json!({"mode": "refuse", "key": "nobody", "provider": "orders"}))
                .await;
            tell_all(app).await;
            app.fault(json!({"mode": "hold-before-commit", "on": 1})).await;
            let mut held = app.connect().await;
            held.send(&everywhere(Call::order("held")).key(KEY).bytes()).await;
            app.until("the hold", |app| app.suite.holds().list(None).len() == 1)
                .await;

            let mut shown = Vec::new();
            for path in [
                "/_events?limit=1000",
                "/_stats",
                "/_mail",
                "/_hooks",
                "/_holds",
                "/_scopes",
            ] {
                shown.push((path.to_owned(), app.call(Call::get(path)).await.text()));
            }
            for mail in app.mails("").await {
                let path = format!("/_mail/{}", mail["id"].as_str().unwrap());
                shown.push((path.clone(), app.call(Call::get(&path)).await.text()));
            }
            for target in [format!("t/{KEY}"), "form".to_owned(), "binary".to_owned()] {
                shown.push((
                    target.clone(),
                    app.call(Call::get(&format!("/_hooks/{target}"))).await.text(),
                ));
            }
            let faults = app.call(Call::get("/_faults")).await.json();
            let misses: Vec<_> = faults["faults"]
                .as_array()
                .unwrap()
                .iter()
                .map(|rule| rule["near_miss"].to_string())
                .collect();
            shown.push(("near misses".to_owned(), misses.join("\n")));
            let lines: Vec<_> = app.entries().iter().map(ackdrop::ledger::Entry::log_line).collect();
            shown.push(("the log".to_owned(), lines.join("\n")));
            drop(held);

            assert!(shown[0].1.len() > 1000 && shown.len() == 12, "{}", shown.len());
            for (place, text) in &shown {
                for secret in ALL {
                    let at = text
                        .find(secret)
                        .map(|at| &text[at.saturating_sub(80)..at + secret.len()]);
                    assert!(at.is_none(), "{secret} in {place}: …{}", at.unwrap_or_default());
                }
                // Four digits can stand in a time as well: they are a secret behind their name alone.
                for (at, _) in text.match_indices("cvc") {
                    let behind: String = text[at..].chars().take(24).collect();
                    assert!(!behind.contains(CVC), "{place}: {behind}");
                }
            }
            assert!(shown[0].1.contains("[secret:"), "what is replaced leaves a mark");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_replaced_can_still_be_told_apart() {
    with(
        |b| b,
        async |app: &App| {
            for key in [KEY, KEY, "sk_test_51Other"] {
                app.call(
                    Call::post("/hooks/t")
                        .body(key)
                        .header("authorization", &format!("Bearer {key}")),
                )
                .await;
            }
            let events = app.admin(Call::get("/_events")).await;
            let mut entries = events["events"].as_array().unwrap().clone();
            entries.sort_by_key(|entry| entry["id"].as_u64());
            let bodies: Vec<_> = entries.iter().map(|entry| entry["request"]["body"].clone()).collect();
            assert_eq!(bodies[0], bodies[1]);
            assert_ne!(bodies[0], bodies[2]);
            assert_eq!(
                app.counts("webhook").await.duplicates,
                1,
                "what is counted is what was sent"
            );
        },
    )
    .await;
}
