//! The HTTP relay, before wiremock and raw sockets.

use wiremock::ResponseTemplate;

use super::support::{received, spec, upstream};
use crate::support::{App, Call, End, with};

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_passes_through_and_is_counted_as_the_upstream_counts() {
    let template = ResponseTemplate::new(201)
        .insert_header("x-of-upstream", "1")
        .set_body_string("made");
    let server = upstream(template).await;
    let relay = spec("pay", &server.uri(), "");
    with(
        |b| b.relay(relay),
        async |app: &App| {
            let answer = app.through("pay", Call::post("/v1/things?a=1").body("x")).await;
            assert_eq!((answer.status, answer.text()), (201, "made".into()));
            assert_eq!(answer.header("x-of-upstream"), Some("1"));
            let answer = app.through("pay", Call::get("/v1/things")).await;
            assert_eq!(answer.status, 201);
            let counts = app.counts("pay").await;
            assert_eq!(
                (counts.received, counts.accepted, counts.read, counts.answered),
                (2, 1, 1, 2)
            );
            assert_eq!((app.effects("request"), received(&server).await), (1, 2));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_may_be_spoken_to_inside_tls() {
    let server = upstream(ResponseTemplate::new(201).set_body_string("made")).await;
    with(
        |b| b.relay(spec("pay", &server.uri(), ";tls=on")),
        async |app: &App| {
            let mut conn = app.connect_tls(app.relay("pay")).await;
            for _ in 0..2 {
                conn.send(&Call::post("/").body("x").bytes()).await;
                assert_eq!(conn.answer().await.text(), "made");
            }
            let lost = Call::post("/").fault("forward-then-drop-response; how=reset");
            conn.send(&lost.bytes()).await;
            assert_eq!(conn.rest().await, (vec![], End::Reset));
            assert_eq!((app.effects("request"), received(&server).await), (3, 3));
            assert!(
                app.suite
                    .relays()
                    .get("pay")
                    .unwrap()
                    .url()
                    .starts_with("https://127.0.0.1:")
            );
        },
    )
    .await;
}
