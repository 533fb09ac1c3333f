//! The operations of billing, carried out so that each is accepted.

use std::collections::BTreeSet;

use super::subscriptions::{customer, price};
use super::{Said, Shop};
use crate::attempt::{Kind, Provider as _};

/// Carries an operation out in all its variants; none is one that is not of billing.
pub(super) fn accepted(shop: &Shop, operation: &str) -> Option<Vec<Said>> {
    let (resource, verb) = operation.split_once('.')?;
    match resource {
        "invoices" | "invoiceitems" => invoices(shop, resource, verb),
        "subscriptions" | "subscription_items" => subscriptions(shop, resource, verb),
        "test_clocks" => clocks(shop, verb),
        "checkout_sessions" => sessions(shop, verb),
        _ => None,
    }
}

fn invoices(shop: &Shop, resource: &str, verb: &str) -> Option<Vec<Said>> {
    let customer = customer(shop, "pm_card_visa", "");
    let item = || {
        shop.made(
            "/v1/invoiceitems",
            &format!("customer={customer}&amount=500&currency=usd"),
        )
    };
    let draft = |form: &str| {
        item();
        shop.made(
            "/v1/invoices",
            &format!("customer={customer}&pending_invoice_items_behavior=include&{form}"),
        )
    };
    let open = || {
        let draft = draft("");
        assert_eq!(shop.post(&format!("/v1/invoices/{draft}/finalize"), "").status, 200);
        draft
    };
    Some(vec![match (resource, verb) {
        ("invoiceitems", "create") => shop.post(
            "/v1/invoiceitems",
            &format!("customer={customer}&amount=500&currency=usd"),
        ),
        ("invoiceitems", "update") => shop.post(&format!("/v1/invoiceitems/{}", item()), "amount=600"),
        ("invoiceitems", "delete") => shop.delete(&format!("/v1/invoiceitems/{}", item())),
        ("invoices", "create") => shop.post("/v1/invoices", &format!("customer={customer}")),
        ("invoices", "update") => shop.post(&format!("/v1/invoices/{}", draft("")), "description=D"),
        ("invoices", "delete") => shop.delete(&format!("/v1/invoices/{}", draft(""))),
        ("invoices", "finalize") => shop.post(&format!("/v1/invoices/{}/finalize", draft("")), ""),
        ("invoices", "send") => shop.post(
            &format!(
                "/v1/invoices/{}/send",
                draft("collection_method=send_invoice&days_until_due=3")
            ),
            "",
        ),
        ("invoices", "pay" | "void" | "mark_uncollectible") => {
            shop.post(&format!("/v1/invoices/{}/{verb}", open()), "")
        }
        _ => return None,
    }])
}

fn subscriptions(shop: &Shop, resource: &str, verb: &str) -> Option<Vec<Said>> {
    let (customer, price) = (customer(shop, "pm_card_visa", ""), price(shop, 1000, "month"));
    let other = || self::price(shop, 700, "month");
    let form = format!("customer={customer}&items[0][price]={price}");
    let new = |more: &str| shop.post("/v1/subscriptions", &format!("{form}{more}"));
    let path = |said: &Said| format!("/v1/subscriptions/{}", said.text("/id"));
    let item = |said: &Said| format!("/v1/subscription_items/{}", said.text("/items/data/0/id"));
    let always = "proration_behavior=always_invoice";
    Some(vec![match (resource, verb) {
        ("subscriptions", "create") => new(""),
        ("subscriptions", "update") => {
            let said = new("&trial_period_days=3");
            shop.post(&path(&said), "trial_end=now")
        }
        ("subscriptions", "cancel") => {
            let said = new("");
            let extra = format!(
                "customer={customer}&amount=900&currency=usd&subscription={}",
                said.text("/id")
            );
            shop.made("/v1/invoiceitems", &extra);
            shop.delete(&format!("{}?invoice_now=true", path(&said)))
        }
        ("subscriptions", "resume") => {
            let said = new("&trial_period_days=1&trial_settings[end_behavior][missing_payment_method]=pause");
            let own = shop
                .get(&format!("/v1/customers/{customer}"))
                .text("/invoice_settings/default_payment_method");
            shop.post(
                &format!("/v1/customers/{customer}"),
                "invoice_settings[default_payment_method]=",
            );
            shop.pass(time::Duration::days(2));
            shop.post(&path(&said), &format!("default_payment_method={own}"));
            shop.post(&format!("{}/resume", path(&said)), "")
        }
        ("subscription_items", "create") => {
            let said = new("");
            let form = format!("subscription={}&price={}&{always}", said.text("/id"), other());
            shop.post("/v1/subscription_items", &form)
        }
        ("subscription_items", "update") => shop.post(&item(&new("")), &format!("quantity=3&{always}")),
        ("subscription_items", "delete") => {
            let said = new(&format!("&items[1][price]={}", other()));
            shop.delete(&item(&said))
        }
        _ => return None,
    }])
}

fn clocks(shop: &Shop, verb: &str) -> Option<Vec<Said>> {
    let start = 1_900_000_000;
    let clock = || shop.made("/v1/test_helpers/test_clocks", &format!("frozen_time={start}"));
    let path = |clock: &str| format!("/v1/test_helpers/test_clocks/{clock}");
    let advance = |clock: &str, days: i64| {
        let form = format!("frozen_time={}", start + days * 86_400);
        shop.post(&format!("{}/advance", path(clock)), &form)
    };
    Some(match verb {
        "create" => vec![shop.post("/v1/test_helpers/test_clocks", &format!("frozen_time={start}"))],
        "delete" => vec![shop.delete(&path(&clock()))],
        "advance" => {
            let (clock, price) = (clock(), price(shop, 1000, "month"));
            let payer = customer(shop, "pm_card_visa", &format!("test_clock={clock}"));
            let nobody = shop.made("/v1/customers", &format!("test_clock={clock}"));
            let new = |customer: &str, form: &str| {
                let form = format!("customer={customer}&items[0][price]={price}&{form}");
                shop.made("/v1/subscriptions", &form)
            };
            new(&payer, "");
            new(&payer, "cancel_at_period_end=true");
            new(&nobody, "payment_behavior=default_incomplete");
            new(
                &nobody,
                "trial_period_days=3&trial_settings[end_behavior][missing_payment_method]=pause",
            );
            vec![advance(&clock, 40)]
        }
        _ => return None,
    })
}

fn sessions(shop: &Shop, verb: &str) -> Option<Vec<Said>> {
    let price = shop.made("/v1/prices", "currency=usd&unit_amount=900&product_data[name]=A");
    let form =
        format!("mode=payment&success_url=https://a.test/&line_items[0][price]={price}&line_items[0][quantity]=1");
    let on = |what: &str, form_of_it: &str| {
        let id = shop.made("/v1/checkout/sessions", &form);
        shop.post(&format!("{what}/{id}"), form_of_it)
    };
    Some(vec![match verb {
        "create" => shop.post("/v1/checkout/sessions", &form),
        "update" => on("/v1/checkout/sessions", "metadata[a]=1"),
        "expire" => {
            let id = shop.made("/v1/checkout/sessions", &form);
            shop.post(&format!("/v1/checkout/sessions/{id}/expire"), "")
        }
        "complete" => {
            let id = shop.made("/v1/checkout/sessions", &form);
            shop.post(&format!("/v1/test_helpers/checkout/sessions/{id}/complete"), "")
        }
        _ => return None,
    }])
}

#[test]
fn every_accepted_write_of_billing_has_the_effects_that_its_row_declares() {
    let about = crate::mocks::stripe::Stripe::default();
    let writes = about
        .about()
        .operations
        .iter()
        .filter(|operation| operation.kind == Kind::Write);
    let mut walked = 0;
    for operation in writes {
        let shop = Shop::open();
        let Some(all) = accepted(&shop, operation.name) else {
            continue;
        };
        walked += 1;
        let mut seen = BTreeSet::new();
        for said in &all {
            assert_eq!((said.status, said.operation), (200, operation.name), "{}", said.body);
            seen.extend(said.kinds().into_iter().map(str::to_owned));
        }
        let declared: BTreeSet<_> = operation.effects.iter().map(|kind| (*kind).to_owned()).collect();
        assert_eq!(seen, declared, "{}", operation.name);
    }
    assert_eq!(walked, 25);
}
