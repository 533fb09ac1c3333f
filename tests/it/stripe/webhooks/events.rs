//! Events, looked up.

use serde_json::{Value, json};

use super::{customer, get, id, made};
use crate::support::{App, Call, with};

async fn kinds(app: &App, query: &str) -> Vec<Value> {
    let page = made(app, get(&format!("/v1/events{query}"))).await;
    page["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["type"].clone())
        .collect()
}

#[tokio::test]
async fn events_are_listed_by_type_and_time_and_kept_as_they_were() {
    with(
        |b| b,
        async |app| {
            let ada = id(app, customer("Ada")).await;
            made(app, Call::stripe(&format!("/v1/customers/{ada}"), "name=Ada%20L")).await;
            assert_eq!(kinds(app, "").await, ["customer.updated", "customer.created"]);
            assert_eq!(kinds(app, "?type=customer.created").await, ["customer.created"]);
            assert_eq!(kinds(app, "?type=customer.*").await.len(), 2);
            assert_eq!(
                kinds(app, "?types[]=customer.created&types[]=charge.failed").await,
                ["customer.created"]
            );
            assert_eq!(kinds(app, "?type=charge.succeeded").await, [""; 0]);
            assert_eq!(kinds(app, "?created[lt]=1000").await, [""; 0]);
            assert_eq!(kinds(app, "?limit=1").await, ["customer.updated"]);
            let page = made(app, get("/v1/events")).await;
            let (updated, created) = (&page["data"][0], &page["data"][1]);
            assert_eq!(created["data"]["object"]["name"], "Ada", "as it was then");
            assert_eq!(updated["data"]["previous_attributes"], json!({"name": "Ada"}));
            let one = made(app, get(&format!("/v1/events/{}", created["id"].as_str().unwrap()))).await;
            assert_eq!(one, *created);
            let none = app.call(get("/v1/events/evt_none")).await;
            assert_eq!(
                (none.status, &none.json()["error"]["code"]),
                (404, &json!("resource_missing"))
            );
            let both = app.call(get("/v1/events?type=a&types[]=b")).await;
            assert_eq!(both.status, 400);
        },
    )
    .await;
}
