//! Meters and usage, by API v1 and v2.

use serde_json::json;
use time::{Duration, OffsetDateTime};

use super::Shop;

const METER: &str = "display_name=M&event_name=api&default_aggregation[formula]=sum";
const EVENTS: &str = "/v1/billing/meter_events";
const V2: &str = "/v2/billing/meter_events";
const USAGE: &str = "event_name=api&payload[stripe_customer_id]=cus_1&payload[value]=5";
const BODY: &str =
    r#"{"event_name": "api", "identifier": "i1", "payload": {"stripe_customer_id": "cus_1", "value": "5"}}"#;

#[test]
fn an_identifier_counts_once_within_a_day() {
    let shop = Shop::open();
    let form = format!("{USAGE}&identifier=job-1");
    let first = shop.post(EVENTS, &form);
    assert_eq!(
        (first.text("/identifier"), first.kinds()),
        ("job-1".into(), vec!["meter_event"])
    );
    assert_eq!(
        first.at("/payload"),
        &json!({"stripe_customer_id": "cus_1", "value": "5"})
    );
    let again = shop.post(EVENTS, &form);
    let message = "An event already exists with identifier job-1.";
    assert_eq!(again.refusal(), (400, "invalid_request_error", "", message));
    shop.advance(Duration::hours(23));
    assert_eq!(shop.post(EVENTS, &form).status, 400);
    shop.advance(Duration::hours(1));
    assert_eq!(shop.post(EVENTS, &form).status, 200, "a day later it is another event");
    let (a, b) = (shop.post(EVENTS, USAGE), shop.post(EVENTS, USAGE));
    assert_ne!(a.text("/identifier"), b.text("/identifier"), "none was given");
}

#[test]
fn usage_is_of_the_last_35_days() {
    let shop = Shop::open();
    let now = OffsetDateTime::now_utc().unix_timestamp();
    let at = |seconds: i64| shop.post(EVENTS, &format!("{USAGE}&timestamp={}", now + seconds));
    let day = 24 * 3600;
    for (seconds, code) in [
        (-36 * day, "timestamp_too_far_in_past"),
        (-34 * day, ""),
        (0, ""),
        (240, ""),
        (360, "timestamp_in_future"),
    ] {
        let said = at(seconds);
        assert_eq!(
            (said.status == 200, said.refusal().2),
            (code.is_empty(), code),
            "{seconds}"
        );
    }
    assert_eq!(
        shop.post(EVENTS, &format!("{USAGE}&timestamp=yesterday")).refusal().2,
        "parameter_invalid_integer"
    );
    for (form, param) in [("payload[value]=5", "event_name"), ("event_name=api", "payload")] {
        let said = shop.post(EVENTS, form);
        assert_eq!(
            (said.refusal().2, said.text("/error/param")),
            ("parameter_missing", param.to_owned())
        );
    }
    let long = format!("{USAGE}&identifier={}", "x".repeat(101));
    assert_eq!(shop.post(EVENTS, &long).status, 400);
}

#[test]
fn a_meter_counts_the_events_of_its_name() {
    let shop = Shop::open();
    let form = format!(
        "{METER}&customer_mapping[type]=by_id&customer_mapping[event_payload_key]=who&value_settings[event_payload_key]=n"
    );
    let meter = shop.post("/v1/billing/meters", &form);
    assert_eq!(
        meter.at("/customer_mapping"),
        &json!({"event_payload_key": "who", "type": "by_id"})
    );
    assert_eq!(
        (meter.text("/status"), meter.text("/value_settings/event_payload_key")),
        ("active".into(), "n".into())
    );
    assert_eq!(
        shop.post("/v1/billing/meters", METER).status,
        400,
        "one active meter for a name"
    );
    for (payload, code) in [
        ("payload[n]=5", "payload_no_customer_defined"),
        ("payload[who]=cus_1", "payload_no_value_defined"),
        ("payload[who]=cus_1&payload[n]=many", "payload_invalid_value"),
        ("payload[who]=cus_1&payload[n]=1.5", ""),
    ] {
        assert_eq!(
            shop.post(EVENTS, &format!("event_name=api&{payload}")).refusal().2,
            code,
            "{payload}"
        );
    }
    let path = format!("/v1/billing/meters/{}", meter.text("/id"));
    assert_eq!(shop.post(&path, "display_name=N").text("/display_name"), "N");
    let off = shop.post(&format!("{path}/deactivate"), "");
    assert_eq!(off.text("/status"), "inactive");
    assert!(off.at("/status_transitions/deactivated_at").is_i64());
    assert_eq!(shop.post(&format!("{path}/deactivate"), "").status, 400);
    let other = shop.made("/v1/billing/meters", METER);
    assert_eq!(
        shop.post(&format!("{path}/reactivate"), "").status,
        400,
        "the name is taken"
    );
    shop.post(&format!("/v1/billing/meters/{other}/deactivate"), "");
    assert_eq!(shop.post(&format!("{path}/reactivate"), "").text("/status"), "active");
    let active = shop.get("/v1/billing/meters?status=active");
    assert_eq!(
        (active.at("/data").as_array().map(Vec::len), active.text("/data/0/id")),
        (Some(1), meter.text("/id"))
    );
}

#[test]
fn an_event_is_taken_back_once() {
    let shop = Shop::open();
    shop.post(EVENTS, &format!("{USAGE}&identifier=i"));
    let cancel = |name: &str| {
        let form = format!("event_name={name}&type=cancel&cancel[identifier]=i");
        shop.post("/v1/billing/meter_event_adjustments", &form)
    };
    assert_eq!(cancel("other").refusal().2, "resource_missing");
    let said = cancel("api");
    assert_eq!(
        (said.text("/cancel/identifier"), said.text("/status")),
        ("i".into(), "complete".into())
    );
    assert_eq!(cancel("api").status, 400);
}

#[test]
fn v2_takes_json_and_wants_a_version_and_a_meter() {
    let shop = Shop::open();
    let code = |said: super::Said| (said.status, said.text("/error/code"));
    assert_eq!(code(shop.post_v2(V2, BODY, &[])), (400, "no_meter".into()));
    let meter = shop.made("/v1/billing/meters", METER);
    let said = shop.post_v2(V2, BODY, &[]);
    assert_eq!(
        (said.text("/object"), said.text("/identifier")),
        ("v2.billing.meter_event".into(), "i1".into())
    );
    assert!(said.text("/created").ends_with('Z') && said.text("/timestamp").len() == "2026-01-01T00:00:00.000Z".len());
    assert_eq!(code(shop.post_v2(V2, BODY, &[])), (400, "duplicate_meter_event".into()));
    for (body, wanted) in [
        ("{", "invalid_fields"),
        ("[]", "invalid_fields"),
        (r#"{"event_name": "api"}"#, "invalid_fields"),
        (
            r#"{"event_name": "api", "colour": "red", "payload": {}}"#,
            "invalid_fields",
        ),
        (
            r#"{"event_name": "api", "payload": {"stripe_customer_id": "cus_1", "value": 5}}"#,
            "invalid_fields",
        ),
        (
            r#"{"event_name": "api", "payload": {"value": "5"}}"#,
            "payload_no_customer_defined",
        ),
        (
            r#"{"event_name": "api", "timestamp": "1", "payload": {"stripe_customer_id": "c", "value": "5"}}"#,
            "invalid_fields",
        ),
    ] {
        assert_eq!(code(shop.post_v2(V2, body, &[])), (400, wanted.into()), "{body}");
    }
    let dated = BODY
        .replace("i1", "i2")
        .replace("{\"event", "{\"timestamp\": \"2001-01-01T00:00:00Z\", \"event");
    assert_eq!(code(shop.post_v2(V2, &dated, &[])).1, "timestamp_too_far_in_past");
    assert_eq!(code(shop.post(V2, USAGE)), (400, "missing_stripe_version".into()));
    let versioned = [("stripe-version", "2026-10-28.endive")];
    let form = shop.send(&super::request(http::Method::POST, V2, USAGE, &versioned));
    assert_eq!(code(form), (400, "invalid_fields".into()), "no form");
    assert_eq!(
        code(shop.post_v2("/v2/core/accounts", "{}", &[])),
        (404, "not_found".into())
    );
    shop.post(&format!("/v1/billing/meters/{meter}/deactivate"), "");
    assert_eq!(code(shop.post_v2(V2, BODY, &[])), (400, "archived_meter".into()));
}

#[test]
fn a_v2_key_stands_for_what_succeeded() {
    let shop = Shop::open();
    let key = [("idempotency-key", "k")];
    assert_eq!(shop.post_v2(V2, BODY, &key).status, 400);
    shop.made("/v1/billing/meters", METER);
    shop.refuse_next(Some(500), None);
    assert_eq!(shop.post_v2(V2, BODY, &key).status, 500);
    let first = shop.post_v2(V2, BODY, &key);
    assert_eq!(
        (first.status, first.replayed),
        (200, false),
        "what failed is tried again: {}",
        first.body
    );
    shop.advance(Duration::days(29));
    let again = shop.post_v2(V2, BODY, &key);
    assert_eq!(
        (&again.body, again.replayed, again.header("idempotent-replayed")),
        (&first.body, true, None)
    );
    let other = shop.post_v2(V2, &BODY.replace("\"5\"", "\"6\""), &key);
    assert_eq!(
        (other.status, other.text("/error/type")),
        (400, "idempotency_error".into())
    );
    shop.advance(Duration::days(1));
    let later = shop.post_v2(V2, BODY, &key);
    assert_eq!(
        (later.status, later.replayed),
        (200, false),
        "a month later the key is free"
    );
}
