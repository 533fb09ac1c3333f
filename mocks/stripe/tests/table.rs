//! The table of operations, walked row by row.

use std::collections::BTreeSet;

use super::{CHARGE, Said, Shop};
use crate::attempt::{Kind, Provider as _};
use crate::mocks::stripe::kind::Parameter;
use crate::mocks::stripe::routes::rows;
use crate::mocks::stripe::{Stripe, due};

const ENDPOINT: &str = "url=http://localhost:3000/hook&enabled_events[]=*";
const INTENT: &str = "amount=2000&currency=usd";
const CONFIRMED: &str = "amount=2000&currency=usd&payment_method=pm_card_visa&confirm=true";

const WECHAT: &str = "type=wechat&amount=1500&currency=usd";
const METER: &str = "display_name=M&event_name=api&default_aggregation[formula]=sum";
const USAGE: &str = "event_name=api&payload[stripe_customer_id]=cus_1&payload[value]=5";

/// Does to a card and to a source of a customer what a verb says.
fn kept_by_a_customer(shop: &Shop, kept: &str, verb: &str) -> Vec<Said> {
    let customer = shop.made("/v1/customers", "");
    let path = format!("/v1/customers/{customer}/{kept}");
    let given = ["tok_visa".to_owned(), shop.made("/v1/sources", WECHAT)];
    let added = given.map(|given| shop.post(&path, &format!("source={given}")));
    let one = |added: &Said| format!("{path}/{}", added.text("/id"));
    match verb {
        "create" => added.into(),
        "update" => added.map(|added| shop.post(&one(&added), "metadata[a]=1")).into(),
        "delete" => added.map(|added| shop.delete(&one(&added))).into(),
        other => panic!("`{other}` has no recipe here"),
    }
}

const PRODUCT: &str = "name=A&default_price_data[currency]=usd&default_price_data[unit_amount]=500";
const PRICE: &str = "currency=usd&unit_amount=500&product_data[name]=A";

fn promotion(shop: &Shop) -> String {
    let coupon = shop.made("/v1/coupons", "percent_off=10");
    format!("promotion[type]=coupon&promotion[coupon]={coupon}")
}

/// Carries an operation out so that it is accepted; the variants of a row follow each other.
fn accepted(shop: &Shop, operation: &str) -> Vec<Said> {
    let on = |path: &str, form: &str, rest: &str, then: &str| {
        let id = shop.made(path, form);
        shop.post(&format!("{path}/{id}{rest}"), then)
    };
    let charge = || shop.made("/v1/charges", CHARGE);
    let attached = |rest: &str, then: &str| {
        let customer = shop.made("/v1/customers", "");
        let method = shop.made(
            "/v1/payment_methods/pm_card_visa/attach",
            &format!("customer={customer}"),
        );
        shop.post(&format!("/v1/payment_methods/{method}{rest}"), then)
    };
    let card = "card[number]=4242424242424242&card[exp_month]=12&card[exp_year]=2040&card[cvc]=123";
    vec![match operation {
        "customers.create" => shop.post("/v1/customers", "source=tok_visa"),
        "customers.update" => on("/v1/customers", "", "", ""),
        "customers.delete" => shop.delete(&format!("/v1/customers/{}", shop.made("/v1/customers", ""))),
        "payment_methods.create" => shop.post("/v1/payment_methods", &format!("type=card&{card}")),
        "payment_methods.update" => attached("", "metadata[a]=1"),
        "payment_methods.attach" => {
            let customer = shop.made("/v1/customers", "");
            shop.post(
                "/v1/payment_methods/pm_card_visa/attach",
                &format!("customer={customer}"),
            )
        }
        "payment_methods.detach" => attached("/detach", ""),
        "payment_intents.create" => {
            return vec![
                shop.post("/v1/payment_intents", INTENT),
                shop.post("/v1/payment_intents", CONFIRMED),
            ];
        }
        "payment_intents.update" => on("/v1/payment_intents", CONFIRMED, "", ""),
        "payment_intents.confirm" => {
            let by = |method: &str| {
                on(
                    "/v1/payment_intents",
                    INTENT,
                    "/confirm",
                    &format!("payment_method={method}"),
                )
            };
            return vec![by("pm_card_visa"), by("pm_card_threeDSecure2Required")];
        }
        "payment_intents.capture" => on(
            "/v1/payment_intents",
            &format!("{CONFIRMED}&capture_method=manual"),
            "/capture",
            "",
        ),
        "payment_intents.cancel" => on("/v1/payment_intents", INTENT, "/cancel", ""),
        "charges.create" => shop.post("/v1/charges", CHARGE),
        "charges.update" => on("/v1/charges", CHARGE, "", ""),
        "charges.capture" => on("/v1/charges", &format!("{CHARGE}&capture=false"), "/capture", ""),
        "refunds.create" => shop.post("/v1/refunds", &format!("charge={}", charge())),
        "refunds.update" => on("/v1/refunds", &format!("charge={}", charge()), "", "metadata[a]=1"),
        "refunds.cancel" => {
            let charge = shop.made("/v1/charges", "amount=2000&currency=usd&source=tok_pendingRefund");
            on("/v1/refunds", &format!("charge={charge}"), "/cancel", "")
        }
        "charge_refunds.create" => on("/v1/charges", CHARGE, "/refunds", ""),
        "charge_refunds.update" => {
            let charge = charge();
            let refund = shop.made("/v1/refunds", &format!("charge={charge}"));
            shop.post(&format!("/v1/charges/{charge}/refunds/{refund}"), "metadata[a]=1")
        }
        "disputes.update" | "disputes.close" => {
            let charge = "amount=2000&currency=usd&source=tok_createDispute";
            shop.made("/v1/charges", charge);
            let dispute = shop.get("/v1/disputes").text("/data/0/id");
            let rest = if operation.ends_with("close") { "/close" } else { "" };
            shop.post(&format!("/v1/disputes/{dispute}{rest}"), "")
        }
        "payment_intents.authenticate" => {
            let form = format!("{INTENT}&payment_method=pm_card_authenticationRequired&confirm=true");
            let id = shop.made("/v1/payment_intents", &form);
            shop.post(
                &format!("/v1/test_helpers/payment_intents/{id}/authenticate"),
                "result=succeed",
            )
        }
        "setup_intents.create" => shop.post("/v1/setup_intents", ""),
        "setup_intents.update" => on("/v1/setup_intents", "", "", "metadata[a]=1"),
        "setup_intents.confirm" => on("/v1/setup_intents", "", "/confirm", "payment_method=pm_card_visa"),
        "setup_intents.cancel" => on("/v1/setup_intents", "", "/cancel", ""),
        "setup_intents.authenticate" => {
            let id = shop.made(
                "/v1/setup_intents",
                "payment_method=pm_card_authenticationRequired&confirm=true",
            );
            shop.post(
                &format!("/v1/test_helpers/setup_intents/{id}/authenticate"),
                "result=succeed",
            )
        }
        "products.create" => shop.post("/v1/products", PRODUCT),
        "products.update" => on("/v1/products", "name=A", "", "name=B"),
        "products.delete" => shop.delete(&format!("/v1/products/{}", shop.made("/v1/products", "name=A"))),
        "prices.create" => shop.post("/v1/prices", PRICE),
        "prices.update" => on("/v1/prices", PRICE, "", "nickname=B"),
        "coupons.create" => shop.post("/v1/coupons", "percent_off=10"),
        "coupons.update" => on("/v1/coupons", "percent_off=10", "", "name=B"),
        "coupons.delete" => shop.delete(&format!("/v1/coupons/{}", shop.made("/v1/coupons", "percent_off=10"))),
        "promotion_codes.create" => shop.post("/v1/promotion_codes", &promotion(shop)),
        "promotion_codes.update" => on("/v1/promotion_codes", &promotion(shop), "", "active=false"),
        "webhook_endpoints.create" => shop.post("/v1/webhook_endpoints", ENDPOINT),
        "webhook_endpoints.update" => on("/v1/webhook_endpoints", ENDPOINT, "", "disabled=true"),
        "webhook_endpoints.delete" => {
            let id = shop.made("/v1/webhook_endpoints", ENDPOINT);
            shop.delete(&format!("/v1/webhook_endpoints/{id}"))
        }
        "tokens.create" => shop.post("/v1/tokens", card),
        "sources.create" => shop.post("/v1/sources", WECHAT),
        "sources.update" => on("/v1/sources", WECHAT, "", "metadata[a]=1"),
        "billing.meters.create" => shop.post("/v1/billing/meters", METER),
        "billing.meters.update" => on("/v1/billing/meters", METER, "", "display_name=N"),
        "billing.meters.deactivate" => on("/v1/billing/meters", METER, "/deactivate", ""),
        "billing.meters.reactivate" => {
            let path = format!("/v1/billing/meters/{}", shop.made("/v1/billing/meters", METER));
            shop.post(&format!("{path}/deactivate"), "");
            shop.post(&format!("{path}/reactivate"), "")
        }
        "billing.meter_events.create" => shop.post("/v1/billing/meter_events", USAGE),
        "billing.meter_event_adjustments.create" => {
            shop.post("/v1/billing/meter_events", &format!("{USAGE}&identifier=i"));
            let form = "event_name=api&type=cancel&cancel[identifier]=i";
            shop.post("/v1/billing/meter_event_adjustments", form)
        }
        "v2.billing.meter_events.create" => {
            shop.made("/v1/billing/meters", METER);
            let body = r#"{"event_name": "api", "payload": {"stripe_customer_id": "cus_1", "value": "5"}}"#;
            shop.post_v2("/v2/billing/meter_events", body, &[])
        }
        other => match other.strip_prefix("customers.").and_then(|o| o.split_once('.')) {
            Some((kept @ ("sources" | "cards"), verb)) => return kept_by_a_customer(shop, kept, verb),
            _ => {
                let recipe = super::billing::accepted(shop, other);
                return recipe.unwrap_or_else(|| panic!("`{other}` has no recipe here"));
            }
        },
    }]
}

#[test]
fn every_accepted_write_has_the_effects_that_its_row_declares() {
    let writes = Stripe::default()
        .about()
        .operations
        .iter()
        .filter(|o| o.kind == Kind::Write);
    for operation in writes.filter(|o| !["unrecognized", due::OPERATION].contains(&o.name)) {
        let shop = Shop::open();
        let mut seen = BTreeSet::new();
        for said in accepted(&shop, operation.name) {
            assert_eq!((said.status, said.operation), (200, operation.name), "{}", said.body);
            assert!(!said.effects.is_empty(), "{}", operation.name);
            assert!(said.effects.iter().all(|e| e.count == 1 && !e.id.is_empty()));
            seen.extend(said.kinds().into_iter().map(str::to_owned));
        }
        let declared = operation.effects.iter().map(|e| (*e).to_owned()).collect();
        assert_eq!(seen, declared, "{}", operation.name);
    }
}

#[test]
fn names_are_unique_and_reads_declare_nothing() {
    let operations = Stripe::default().about().operations;
    let names: BTreeSet<_> = operations.iter().map(|o| o.name).collect();
    assert_eq!(names.len(), operations.len());
    for operation in operations.iter().filter(|o| o.kind == Kind::Read) {
        assert!(operation.effects.is_empty(), "{}", operation.name);
    }
}

#[test]
fn every_parameter_has_its_kind() {
    for route in rows() {
        for text in route.params() {
            let parameter = Parameter::read(text);
            assert!(parameter.is_limited(), "{}: `{text}` may be anything", route.name);
        }
    }
}

#[test]
fn money_counts_once() {
    let shop = Shop::open();
    let said = shop.post("/v1/payment_intents", INTENT);
    assert_eq!(said.kinds(), ["payment_intent"]);
    let path = format!("/v1/payment_intents/{}", said.text("/id"));
    let confirmed = shop.post(
        &format!("{path}/confirm"),
        "payment_method=pm_card_visa&capture_method=manual",
    );
    assert_eq!(confirmed.kinds(), ["charge", "payment_intent_confirm"]);
    let captured = shop.post(&format!("{path}/capture"), "");
    assert_eq!(captured.kinds(), ["charge_capture", "payment_intent_capture"]);
    let at_once = shop.post("/v1/payment_intents", CONFIRMED);
    assert_eq!(at_once.kinds(), ["charge", "payment_intent"]);
}
