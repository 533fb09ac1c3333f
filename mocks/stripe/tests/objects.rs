//! Shapes: what is always there and never null, and in which order.

use super::{CHARGE, Said, Shop};

/// Checks the fields that no object lacks, and the order of all.
fn shape(said: &Said, at: &str, fields: &str) {
    let object = said.at(at);
    for field in fields.split(' ') {
        assert!(!object[field].is_null(), "{field} in {}", said.body);
    }
    assert_ne!(object["livemode"].as_bool(), Some(true));
}

/// Checks that id and object come first and the rest is sorted, by the lines of a whole answer.
fn sorted(said: &Said) {
    let names: Vec<&str> = said
        .body
        .lines()
        .filter_map(|l| l.strip_prefix("  \"")?.split('"').next())
        .collect();
    let rest = names.iter().position(|n| *n == "object").map_or(0, |i| i + 1);
    assert!(rest >= 1 && names[rest..].is_sorted(), "{names:?}");
    if rest == 2 {
        assert_eq!(names[0], "id");
    }
}

#[test]
fn every_object_has_what_its_type_promises() {
    let shop = Shop::open();
    let intent = "amount=2000&currency=usd&payment_method=pm_card_visa&confirm=true";
    let charge = shop.post("/v1/charges", CHARGE);
    let charge_fields = "id object amount amount_captured amount_refunded billing_details captured created currency disputed \
                         livemode metadata paid refunded status";
    shape(&charge, "", charge_fields);
    shape(&charge, "/source", "id object brand exp_month exp_year funding last4");
    let declined = shop.post("/v1/charges", "amount=2000&currency=usd&source=tok_chargeDeclined");
    let declined = shop.get(&format!("/v1/charges/{}", declined.text("/error/charge")));
    shape(&declined, "", charge_fields);
    let intent = shop.post("/v1/payment_intents", intent);
    shape(
        &intent,
        "",
        "id object amount amount_capturable amount_received capture_method confirmation_method created currency livemode \
         metadata payment_method_types status",
    );
    let refund = shop.post("/v1/refunds", &format!("charge={}", charge.text("/id")));
    shape(&refund, "", "id object amount created currency");
    let customer = shop.post("/v1/customers", "source=tok_visa&name=N");
    shape(
        &customer,
        "",
        "id object balance created invoice_settings livemode metadata",
    );
    let method = shop.get("/v1/payment_methods/pm_card_visa");
    shape(&method, "", "id object billing_details created livemode type");
    let token = shop.get("/v1/tokens/tok_visa");
    shape(&token, "", "id object created livemode type used");
    let balance = shop.get("/v1/balance");
    shape(&balance, "", "object available livemode pending");
    for said in [
        &charge, &declined, &intent, &refund, &customer, &method, &token, &balance,
    ] {
        sorted(said);
    }
    for (said, fields) in [
        (
            &charge,
            "application customer description failure_code invoice review shipping transfer_group on_behalf_of",
        ),
        (
            &intent,
            "canceled_at customer last_payment_error next_action processing receipt_email",
        ),
        (&refund, "payment_intent reason receipt_number"),
        (&customer, "description email shipping address discount"),
    ] {
        for field in fields.split(' ').filter(|f| *f != "invoice") {
            assert!(
                said.json.get(field).is_some_and(serde_json::Value::is_null),
                "{field} is null"
            );
        }
    }
}

#[test]
fn a_deleted_customer_still_answers_and_does_nothing_more() {
    let shop = Shop::open();
    let customer = shop.made("/v1/customers", "name=N");
    let path = format!("/v1/customers/{customer}");
    let gone = format!("{{\n  \"id\": \"{customer}\",\n  \"object\": \"customer\",\n  \"deleted\": true\n}}");
    assert_eq!(shop.delete(&path).body, gone);
    assert_eq!(shop.get(&path).body, gone);
    assert_eq!(shop.delete(&path).status, 404);
    assert_eq!(shop.post(&path, "name=M").status, 404);
    assert_eq!(
        shop.post("/v1/charges", &format!("amount=100&currency=usd&customer={customer}"))
            .status,
        400
    );
}

#[test]
fn customers_are_changed_and_cleared() {
    let shop = Shop::open();
    let method = shop.post(
        "/v1/customers",
        "name=N&email=a@b.example&address[city]=Bonn&payment_method=pm_card_visa",
    );
    let path = format!("/v1/customers/{}", method.text("/id"));
    let said = shop.post(
        &path,
        "name=&address[line1]=A+1&shipping[name]=S&shipping[address][city]=Ulm",
    );
    assert!(said.at("/name").is_null());
    assert_eq!(
        (said.text("/address/city"), said.text("/address/line1")),
        ("Bonn".into(), "A 1".into())
    );
    assert_eq!(said.text("/shipping/address/city"), "Ulm");
    assert!(shop.post(&path, "address=&shipping=").at("/address").is_null());
    assert_eq!(shop.post(&path, "email=nobody").refusal().2, "email_invalid");
    let own = shop.get(&format!("/v1/payment_methods?customer={}", method.text("/id")));
    let own = own.text("/data/0/id");
    let said = shop.post(&path, &format!("invoice_settings[default_payment_method]={own}"));
    assert_eq!(said.text("/invoice_settings/default_payment_method"), own);
    let other = shop.post(&path, "invoice_settings[default_payment_method]=pm_x");
    assert_eq!(other.status, 400);
    shop.post(&format!("/v1/payment_methods/{own}/detach"), "");
    assert!(shop.get(&path).at("/invoice_settings/default_payment_method").is_null());
}

#[test]
fn methods_belong_to_one_customer() {
    let shop = Shop::open();
    let (a, b) = (shop.made("/v1/customers", ""), shop.made("/v1/customers", ""));
    let method = shop.made("/v1/payment_methods/pm_card_visa/attach", &format!("customer={a}"));
    let path = format!("/v1/payment_methods/{method}");
    let attach = |customer: &str| shop.post(&format!("{path}/attach"), &format!("customer={customer}"));
    assert!(attach(&b).refusal().3.contains("already been attached"));
    assert_eq!(attach(&a).status, 200);
    let said = shop.post(&path, "billing_details[name]=N&card[exp_month]=5&card[exp_year]=2041");
    assert_eq!(
        (said.text("/billing_details/name"), said.number("/card/exp_month")),
        ("N".into(), 5)
    );
    assert_eq!(shop.post(&format!("{path}/detach"), "").status, 200);
    assert!(
        shop.post(&format!("{path}/detach"), "")
            .refusal()
            .3
            .contains("detachment is impossible")
    );
    assert!(attach(&a).refusal().3.contains("may not be used again"));
}

#[test]
fn objects_are_compact() {
    use crate::mocks::stripe::objects::{Charge, Intent};
    assert!(size_of::<Charge>() <= 192 && size_of::<Intent>() <= 168);
}
