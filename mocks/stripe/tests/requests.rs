//! Credentials, bodies, parameters and paths that are refused.

use http::Method;

use super::{CHARGE, Shop, request};

#[test]
fn credentials_are_checked_first() {
    let shop = Shop::open();
    let with = |value: &str, path: &str| {
        let said = shop.send(&request(Method::POST, path, "", &[("authorization", value)]));
        let (status, kind, code, message) = said.refusal();
        (status, kind.to_owned(), code.to_owned(), message.to_owned())
    };
    let mut bare = request(Method::GET, "/v1/charges", "", &[]);
    bare.headers.remove("authorization");
    let said = shop.send(&bare);
    assert!(said.refusal().3.starts_with("You did not provide an API key."));
    assert_eq!((said.status, said.json["error"].get("request_log_url")), (401, None));
    let (status, kind, _, message) = with("Bearer nonsense_key_1", "/v1/charges");
    assert_eq!(
        (status, &*kind, &*message),
        (401, "invalid_request_error", "Invalid API Key provided: ***")
    );
    assert_eq!(
        with("Bearer sk_test_", "/v1/charges").3,
        "Invalid API Key provided: sk_test_***"
    );
    for live in ["sk_live_abc", "rk_live_abc"] {
        let (status, _, _, message) = with(&format!("Bearer {live}"), "/v1/charges");
        assert!(status == 401 && message.starts_with("Live API keys are refused here") && !message.contains("abc"));
    }
    assert_eq!(with("Bearer pk_test_1", "/v1/charges").2, "secret_key_required");
    assert_eq!(with("Bearer pk_test_1", "/v1/tokens").2, "parameter_missing");
    assert_eq!(with("Digest x", "/v1/charges").0, 401);
    // c2tfdGVzdF8xOg== is `sk_test_1:`
    for right in ["Bearer sk_test_~alice", "bearer rk_test_1", "Basic c2tfdGVzdF8xOg=="] {
        assert_eq!(with(right, "/v1/customers").0, 200, "{right}");
    }
}

#[test]
fn bodies_are_forms() {
    let shop = Shop::open();
    let json = [("content-type", "application/json")];
    let said = shop.send(&request(Method::POST, "/v1/charges", "{}", &json));
    let message = "Invalid request (check that your POST content type is application/x-www-form-urlencoded). If you have any \
                   questions, we can help at https://support.stripe.com/.";
    assert_eq!(said.refusal(), (400, "invalid_request_error", "", message));
    assert_eq!(
        shop.send(&request(Method::POST, "/v1/customers", "", &json)).status,
        200
    );
    for form in ["a[b=1", "a=%zz", "a=1&a[b]=2", &"a=1&".repeat(1001)] {
        assert_eq!(shop.post("/v1/charges", form).refusal().0, 400, "{form}");
    }
    assert_eq!(shop.get("/v1/charges?limit=%zz").status, 400);
    assert_eq!(shop.get("/v1/charges").status, 200);
}

#[test]
fn parameters_are_checked_by_name() {
    let shop = Shop::open();
    let refused = |form: &str| {
        let said = shop.post("/v1/charges", form);
        assert_eq!(said.status, 400, "{form}: {}", said.body);
        let error = &said.json["error"];
        let get = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
        (get("code"), get("param"), get("message"))
    };
    let is = |form: &str, code: &str, param: &str, message: &str| {
        assert_eq!(refused(form), (code.into(), param.into(), message.into()), "{form}");
    };
    is("foo=1", "parameter_unknown", "foo", "Received unknown parameter: foo");
    is(
        &format!("{CHARGE}&shipping[foo]=1"),
        "parameter_unknown",
        "shipping[foo]",
        "Received unknown parameter: shipping[foo]",
    );
    is(
        "currency=usd",
        "parameter_missing",
        "amount",
        "Missing required param: amount.",
    );
    is(
        "amount=100",
        "parameter_missing",
        "currency",
        "Missing required param: currency.",
    );
    is(
        "amount=1.5&currency=usd",
        "parameter_invalid_integer",
        "amount",
        "Invalid integer: 1.5",
    );
    is(
        "amount=99999999999999999999&currency=usd",
        "parameter_invalid_integer",
        "amount",
        "Invalid integer: 99999999999999999999",
    );
    is(
        "amount=-5&currency=usd",
        "parameter_invalid_integer",
        "amount",
        "This value must be greater than or equal to 1.",
    );
    is(
        "amount=49&currency=usd",
        "amount_too_small",
        "amount",
        "Amount must be at least $0.50 usd",
    );
    is(
        "amount=100000000&currency=usd",
        "amount_too_large",
        "amount",
        "Amount must be no more than $999,999.99",
    );
    is(
        "amount=100&currency=usd",
        "parameter_missing",
        "",
        "Must provide source or customer.",
    );
    assert_eq!(refused("amount=&currency=usd").0, "parameter_invalid_empty");
    assert!(
        refused("amount=100&currency=xyz")
            .2
            .starts_with("Invalid currency: xyz.")
    );
    is(
        "amount=100&currency=usd&source=tok_x",
        "resource_missing",
        "source",
        "No such token: 'tok_x'",
    );
    is(
        "amount=100&currency=usd&customer=cus_x",
        "resource_missing",
        "customer",
        "No such customer: 'cus_x'",
    );
    assert_eq!(refused(&format!("{CHARGE}&capture=maybe")).2, "Invalid boolean: maybe");
    assert_eq!(refused(&format!("{CHARGE}&metadata=x")).2, "Invalid object");
    assert_eq!(refused("amount[a]=1&currency=usd").2, "Invalid integer");
}

#[test]
fn metadata_merges_and_unsets() {
    let shop = Shop::open();
    let customer = shop.made("/v1/customers", "metadata[a]=1&metadata[b]=2");
    let path = format!("/v1/customers/{customer}");
    let after = |form: &str| shop.post(&path, form).at("/metadata").to_string();
    assert_eq!(after("metadata[b]=3&metadata[c]=4"), r#"{"a":"1","b":"3","c":"4"}"#);
    assert_eq!(after("metadata[a]="), r#"{"b":"3","c":"4"}"#);
    assert_eq!(after("name=x"), r#"{"b":"3","c":"4"}"#);
    assert_eq!(after("metadata="), "{}");
    for form in [
        format!("metadata[{}]=1", "k".repeat(41)),
        format!("metadata[k]={}", "v".repeat(501)),
        (0..51).map(|i| format!("metadata[{i}]=1&")).collect(),
    ] {
        assert_eq!(shop.post(&path, &form).status, 400);
    }
}

#[test]
fn unknown_paths_and_ids_are_not_found() {
    let shop = Shop::open();
    for (method, path) in [
        (Method::POST, "/v1/foo"),
        (Method::DELETE, "/v1/charges/ch_1"),
        (Method::PUT, "/v1/charges"),
    ] {
        let said = shop.send(&request(method.clone(), path, "", &[]));
        let start = format!("Unrecognized request URL ({method}: {path}).");
        assert_eq!((said.status, said.operation), (404, "unrecognized"));
        assert!(said.refusal().3.starts_with(&start), "{}", said.body);
    }
    for (path, what, param) in [
        ("/v1/charges/ch_x", "charge", "id"),
        ("/v1/customers/cus_x", "customer", "id"),
        ("/v1/payment_intents/pi_x", "payment_intent", "intent"),
        ("/v1/payment_methods/pm_x", "PaymentMethod", "payment_method"),
        ("/v1/refunds/re_x", "refund", "id"),
        ("/v1/tokens/tok_x", "token", "token"),
    ] {
        let said = shop.get(path);
        let id = path.rsplit('/').next().unwrap_or_default();
        let message = format!("No such {what}: '{id}'");
        assert_eq!(
            said.refusal(),
            (404, "invalid_request_error", "resource_missing", &*message)
        );
        assert_eq!(said.text("/error/param"), param);
        assert_eq!(
            said.text("/error/doc_url"),
            "https://stripe.com/docs/error-codes/resource-missing"
        );
        assert!(said.text("/error/request_log_url").contains("/logs/req_"));
    }
}

#[test]
fn errors_are_printed_by_two_spaces_with_sorted_keys() {
    let said = Shop::open().get("/v1/charges/ch_x");
    assert!(
        said.body
            .starts_with("{\n  \"error\": {\n    \"code\": \"resource_missing\",\n    \"doc_url\"")
    );
    let lines: Vec<&str> = said.body.lines().filter(|l| l.starts_with("    ")).collect();
    assert!(lines.is_sorted(), "{}", said.body);
}

#[test]
fn what_is_expanded_is_shown_whole() {
    let shop = Shop::open();
    let customer = shop.made("/v1/customers", "source=tok_visa");
    let charge = shop.made("/v1/charges", &format!("amount=100&currency=usd&customer={customer}"));
    shop.made("/v1/refunds", &format!("charge={charge}&amount=10"));
    let path = format!("/v1/charges/{charge}?expand[]=customer.default_source&expand[]=refunds.data.charge");
    let said = shop.get(&path);
    assert_eq!(said.text("/customer/default_source/object"), "card");
    assert_eq!(said.text("/refunds/data/0/charge/id"), charge);
    let listed = shop.get("/v1/charges?expand[]=data.customer");
    assert_eq!(listed.text("/data/0/customer/object"), "customer");
    for (path, message) in [
        ("/v1/charges?expand[]=foo", "This property cannot be expanded (foo)."),
        (
            "/v1/charges?expand[]=customer",
            "This property cannot be expanded (customer). You may want to try expanding 'data.customer' instead.",
        ),
    ] {
        assert_eq!(shop.get(path).refusal().3, message);
    }
    let unpaid = shop.post("/v1/charges", &format!("{CHARGE}&expand[]=nothing"));
    assert_eq!((unpaid.status, unpaid.effects.len()), (400, 0));
    let customer_is_null = shop.post("/v1/charges", &format!("{CHARGE}&expand[]=customer"));
    assert!(customer_is_null.at("/customer").is_null());
}
