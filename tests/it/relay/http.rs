//! The HTTP relay, before wiremock and raw sockets.

use wiremock::ResponseTemplate;

use super::support::{received, spec, upstream};
use crate::support::{App, Call, with};

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
