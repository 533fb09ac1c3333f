//! Idempotency-Key, by the strings on the wire.

use http::Method;
use time::Duration;

use super::{CHARGE, Shop, request};
use crate::attempt::{Conflict, Provider as _};
use crate::mocks::stripe::Stripe;

#[test]
fn a_replay_is_the_first_answer_byte_for_byte_even_after_a_refund() {
    let shop = Shop::open();
    let form = format!("{CHARGE}&expand[]=refunds&metadata[order]=17");
    let first = shop.keyed("order-17", "/v1/charges", &form);
    assert_eq!((first.status, first.kinds()), (200, vec!["charge"]));
    let charge = first.text("/id");
    shop.made("/v1/refunds", &format!("charge={charge}&amount=500"));
    shop.made(&format!("/v1/charges/{charge}"), "metadata[order]=18");
    let again = shop.keyed(
        "order-17",
        "/v1/charges",
        "metadata[order]=17&expand[0]=refunds&source=tok_visa&currency=usd&amount=2000",
    );
    assert!(again.replayed && again.effects.is_empty());
    assert_eq!(again.body, first.body);
    assert_eq!(
        shop.get(&format!("/v1/charges/{charge}")).number("/amount_refunded"),
        500
    );
}

#[test]
fn headers_tell_the_first_answer_from_its_replay() {
    let shop = Shop::open();
    let first = shop.keyed("k", "/v1/charges", CHARGE);
    let again = shop.keyed("k", "/v1/charges", CHARGE);
    let id = first.header("request-id").expect("an id");
    assert!(id.starts_with("req_") && id.len() == 18);
    assert_eq!(first.header("original-request"), Some(id));
    assert_eq!(first.header("idempotency-key"), Some("k"));
    assert_eq!(first.header("idempotent-replayed"), None);
    assert_eq!(first.header("stripe-should-retry"), Some("false"));
    assert_eq!(again.header("original-request"), Some(id));
    assert_ne!(again.header("request-id"), Some(id));
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.header("idempotency-key"), Some("k"));
    let plain = shop.post("/v1/charges", CHARGE);
    assert_eq!(plain.header("original-request"), None);
    assert_eq!(plain.header("stripe-should-retry"), None);
    assert_eq!(plain.header("content-type"), Some("application/json"));
    assert_eq!(plain.header("cache-control"), Some("no-cache, no-store"));
    assert_eq!(plain.header("vary"), Some("Origin"));
}

#[test]
fn version_and_account_are_echoed() {
    let shop = Shop::open();
    let headers = [("stripe-version", "2022-11-15"), ("stripe-account", "acct_1")];
    let said = shop.send(&request(Method::GET, "/v1/charges", "", &headers));
    assert_eq!(said.header("stripe-version"), Some("2022-11-15"));
    assert_eq!(said.header("stripe-account"), Some("acct_1"));
    let said = shop.get("/v1/charges");
    assert_eq!(
        said.header("stripe-version"),
        Some(crate::mocks::stripe::answer::VERSION)
    );
    assert_eq!(said.header("stripe-account"), None);
}

#[test]
fn other_parameters_or_another_path_are_refused() {
    let shop = Shop::open();
    shop.keyed("k", "/v1/charges", CHARGE);
    let other = shop.keyed("k", "/v1/charges", "amount=2001&currency=usd&source=tok_visa");
    let message = "Keys for idempotent requests can only be used with the same parameters they were first used with. Try using \
                   a key other than 'k' if you meant to execute a different request.";
    assert_eq!(other.refusal(), (400, "idempotency_error", "", message));
    assert_eq!(other.header("idempotency-key"), Some("k"));
    assert_eq!(other.header("original-request"), None);
    assert_eq!(other.header("idempotent-replayed"), None);
    let path = shop.keyed("k", "/v1/customers", CHARGE);
    let message = "Keys for idempotent requests can only be used for the same endpoint they were first used for \
                   ('/v1/customers' vs '/v1/charges'). Try using a key other than 'k' if you meant to execute a different \
                   request.";
    assert_eq!(path.refusal(), (400, "idempotency_error", "", message));
    assert!(shop.keyed("k", "/v1/charges", CHARGE).replayed);
}

#[test]
fn a_key_in_use_is_a_conflict() {
    let request = request(Method::POST, "/v1/charges", CHARGE, &[("idempotency-key", "k")]);
    let call = Stripe::default().identify(&request).call;
    let reply = Stripe::default().conflict(&request, &call, &Conflict::InFlight);
    let body: serde_json::Value = serde_json::from_slice(&reply.content.bytes()).expect("JSON");
    assert_eq!(
        (reply.status, Stripe::default().keeps(&call, reply.status)),
        (409, false)
    );
    assert_eq!(body["error"]["type"], "invalid_request_error");
    assert_eq!(body["error"]["code"], "idempotency_key_in_use");
    assert_eq!(
        body["error"]["doc_url"],
        "https://stripe.com/docs/error-codes/idempotency-key-in-use"
    );
    assert_eq!(
        body["error"]["message"],
        "There is currently another in-progress request using this Idempotent Key (that probably means you submitted twice, and \
         the other request is still going through): k. Please try again later."
    );
    let reply = Stripe::default().conflict(&request, &call, &Conflict::Mismatch("/v1/charges"));
    assert!(String::from_utf8_lossy(&reply.content.bytes()).contains("same parameters"));
}

#[test]
fn a_key_has_a_length() {
    let shop = Shop::open();
    for (key, length) in [("", 0), (&*"k".repeat(256), 256), (&*"k".repeat(272), 272)] {
        let said = shop.keyed(key, "/v1/charges", CHARGE);
        let message = format!(
            "Idempotent key length is {length} characters long, which is outside accepted lengths. Idempotent Keys must be 1-255 \
             characters long. If you're looking for a decent generator, try using a UUID defined by IETF RFC 4122."
        );
        assert_eq!(said.refusal(), (400, "idempotency_error", "", &*message));
    }
    let key = "k".repeat(255);
    assert_eq!(shop.keyed(&key, "/v1/charges", CHARGE).status, 200);
    assert!(shop.keyed(&key, "/v1/charges", CHARGE).replayed);
}

#[test]
fn a_key_on_other_methods_only_has_a_name() {
    let shop = Shop::open();
    for method in [Method::GET, Method::DELETE] {
        let request = request(
            method,
            "/v1/customers/cus_1",
            "",
            &[("idempotency-key", &"k".repeat(300))],
        );
        let identified = Stripe::default().identify(&request);
        assert!(identified.key.is_none() && identified.early.is_none() && identified.name.is_some());
    }
    let customer = shop.made("/v1/customers", "");
    let request = || {
        request(
            Method::DELETE,
            &format!("/v1/customers/{customer}"),
            "",
            &[("idempotency-key", "k")],
        )
    };
    assert_eq!(shop.send(&request()).status, 200);
    assert_eq!(shop.send(&request()).status, 404);
}

#[test]
fn declines_and_server_errors_are_kept_and_validation_is_not() {
    let shop = Shop::open();
    let declined = "amount=2000&currency=usd&source=tok_chargeDeclined";
    let first = shop.keyed("decline", "/v1/charges", declined);
    let again = shop.keyed("decline", "/v1/charges", declined);
    assert_eq!((first.status, again.status, again.replayed), (402, 402, true));
    assert_eq!(first.body, again.body);
    assert_eq!(again.header("original-request"), first.header("request-id"));
    assert_eq!(shop.get("/v1/charges").at("/data").as_array().map(Vec::len), Some(1));
    for (status, kept) in [
        (402, true),
        (424, true),
        (500, true),
        (503, true),
        (400, false),
        (401, false),
        (409, false),
        (429, false),
    ] {
        let key = format!("injected-{status}");
        shop.refuse_next(Some(status), None);
        let first = shop.keyed(&key, "/v1/charges", CHARGE);
        let again = shop.keyed(&key, "/v1/charges", CHARGE);
        assert_eq!((first.status, again.replayed), (status, kept), "{status}");
        assert_eq!(first.header("original-request").is_some(), kept, "{status}");
        assert_eq!(again.status, if kept { status } else { 200 });
    }
    let invalid = shop.keyed("invalid", "/v1/charges", "amount=2000&currency=usd");
    assert_eq!(invalid.status, 400);
    assert_eq!(shop.keyed("invalid", "/v1/charges", CHARGE).status, 200);
}

#[test]
fn a_key_expires_after_a_day() {
    let shop = Shop::open();
    shop.keyed("k", "/v1/charges", CHARGE);
    shop.store.advance(None, Duration::hours(23)).expect("one scope");
    assert!(shop.keyed("k", "/v1/charges", CHARGE).replayed);
    shop.store.advance(None, Duration::hours(2)).expect("one scope");
    let anew = shop.keyed("k", "/v1/charges", CHARGE);
    assert_eq!((anew.replayed, anew.kinds()), (false, vec!["charge"]));
}

#[test]
fn accounts_have_keys_and_objects_of_their_own() {
    let shop = Shop::open();
    let to = |account: &str| {
        let headers = [("idempotency-key", "k"), ("stripe-account", account)];
        shop.send(&request(Method::POST, "/v1/charges", CHARGE, &headers))
    };
    let (one, two) = (to("acct_1"), to("acct_2"));
    assert_eq!((one.status, two.status, two.replayed), (200, 200, false));
    assert!(to("acct_1").replayed);
    assert_ne!(one.text("/id"), two.text("/id"));
    let path = format!("/v1/charges/{}", one.text("/id"));
    assert_eq!(shop.get(&path).status, 404);
    assert_eq!(
        shop.send(&request(Method::GET, &path, "", &[("stripe-account", "acct_1")]))
            .status,
        200
    );
    assert_eq!(to("nobody").refusal().2, "account_invalid");
    assert_ne!(one.correlations, two.correlations);
}

#[test]
fn a_duplicate_is_known_by_its_parameters() {
    let shop = Shop::open();
    let hash = |form: &str| shop.post("/v1/charges", form).correlations[0].hash;
    let first = hash(CHARGE);
    assert_eq!(
        first,
        hash("source=tok_visa&currency=usd&amount=2000&expand[]=customer")
    );
    assert_ne!(first, hash("source=tok_visa&currency=usd&amount=2001"));
    assert_ne!(hash("a[b]=c"), hash("a=b&c"));
    assert!(shop.get("/v1/charges").correlations.is_empty());
    assert_eq!(shop.post("/v1/charges", CHARGE).correlations[0].by, "parameters");
}

#[test]
fn refusals_are_spoken_as_stripe_does() {
    let shop = Shop::open();
    let spoken = |status, code: Option<&str>| {
        shop.refuse_next(status, code);
        let said = shop.post("/v1/charges", CHARGE);
        let (status, kind, code, message) = said.refusal();
        (status, kind.to_owned(), code.to_owned(), message.to_owned())
    };
    let (status, kind, code, _) = spoken(None, None);
    assert_eq!((status, &*kind, &*code), (402, "card_error", "card_declined"));
    let (status, _, code, message) = spoken(None, Some("insufficient_funds"));
    assert_eq!(
        (status, &*code, &*message),
        (402, "card_declined", "Your card has insufficient funds.")
    );
    assert_eq!(spoken(Some(429), None).2, "rate_limit");
    assert_eq!(spoken(Some(409), None).2, "lock_timeout");
    let (_, kind, code, message) = spoken(Some(500), None);
    assert_eq!(
        (&*kind, &*code, &*message),
        ("api_error", "", "An unknown error occurred")
    );
    assert_eq!(spoken(Some(429), Some("lock_timeout")).2, "lock_timeout");
    assert_eq!(spoken(None, Some("rate_limit")).0, 429);
}
