//! Cards and sources that customers keep, and paying by them.

use serde_json::{Value, json};

use super::{Said, Shop};
use crate::mocks::stripe::objects::Event;
use crate::store::Scope;

const WECHAT: &str = "type=wechat&amount=1500&currency=usd";

impl Shop {
    fn default_source(&self, customer: &str) -> Value {
        self.get(&format!("/v1/customers/{customer}"))
            .at("/default_source")
            .clone()
    }

    fn kept(&self, path: &str) -> Vec<String> {
        let said = self.get(path);
        assert_eq!(said.status, 200, "{}", said.body);
        let data = said.at("/data").as_array().expect("an array").iter();
        data.map(|o| o["id"].as_str().expect("an id").to_owned()).collect()
    }
}

/// Lists the types of the last events, oldest first.
fn last_events(shop: &Shop, count: usize) -> Vec<&'static str> {
    let mut kinds: Vec<_> = shop.store.read(&Scope::default(), |tx| {
        let events = tx.list::<Event>().take(count);
        events.map(|event| event.kind).collect()
    });
    kinds.reverse();
    kinds
}

#[test]
fn the_default_source_moves_as_cards_come_and_go() {
    let shop = Shop::open();
    let customer = shop.made("/v1/customers", "");
    let path = format!("/v1/customers/{customer}/sources");
    let first = shop.made(&path, "source=tok_visa&metadata[a]=1");
    let second = shop.made(&path, "source=tok_mastercard");
    let third = shop.made(&path, "source=tok_amex");
    assert_eq!(
        shop.default_source(&customer),
        json!(first),
        "the first becomes the default"
    );
    assert_eq!(shop.kept(&path), [&*third, &second, &first].map(str::to_owned));
    let gone = shop.delete(&format!("{path}/{first}"));
    assert_eq!(gone.json, json!({"id": first, "object": "card", "deleted": true}));
    assert_eq!(
        shop.default_source(&customer),
        json!(third),
        "then the one that came last"
    );
    assert_eq!(shop.get(&format!("{path}/{first}")).status, 404);
    assert_eq!(shop.delete(&format!("{path}/{first}")).refusal().2, "resource_missing");
    shop.delete(&format!("{path}/{second}"));
    assert_eq!(shop.default_source(&customer), json!(third));
    shop.delete(&format!("{path}/{third}"));
    assert_eq!(shop.default_source(&customer), Value::Null);
    assert_eq!(last_events(&shop, 2), ["customer.source.deleted", "customer.updated"]);
}

#[test]
fn a_new_source_of_a_customer_replaces_the_default() {
    let shop = Shop::open();
    let customer = shop.made("/v1/customers", "source=tok_visa");
    let old = shop.default_source(&customer);
    let path = format!("/v1/customers/{customer}");
    let said = shop.post(&path, "source=tok_amex&expand[]=sources&expand[]=default_source");
    assert_eq!(said.text("/default_source/brand"), "American Express");
    assert_eq!(
        said.at("/sources/data").as_array().map(Vec::len),
        Some(1),
        "the old one is gone"
    );
    assert_eq!(said.text("/sources/url"), format!("{path}/sources"));
    let foreign = format!("default_source={}", old.as_str().expect("an id"));
    assert_eq!(shop.post(&path, &foreign).status, 400);
}

#[test]
fn cards_are_shown_changed_and_charged() {
    let shop = Shop::open();
    let customer = shop.made("/v1/customers", "");
    let path = format!("/v1/customers/{customer}/sources");
    let hash = "card[object]=card&card[number]=4242424242424242&card[exp_month]=12&card[exp_year]=2040\
                &card[metadata][a]=1&metadata[b]=2";
    let card = shop.post(&path, hash);
    assert_eq!(
        (card.text("/object"), card.at("/metadata")),
        ("card".into(), &json!({"a": "1", "b": "2"}))
    );
    let one = format!("{path}/{}", card.text("/id"));
    let changed = shop.post(&one, "name=N&address_zip=1&exp_month=5&metadata[a]=");
    assert_eq!(
        (
            changed.text("/name"),
            changed.text("/address_zip"),
            changed.number("/exp_month")
        ),
        ("N".into(), "1".into(), 5)
    );
    assert_eq!(changed.at("/metadata"), &json!({"b": "2"}));
    assert_eq!(last_events(&shop, 1), ["customer.source.updated"]);
    assert_eq!(shop.post(&one, "owner[name]=N").refusal().2, "parameter_unknown");
    let form = format!(
        "amount=900&currency=usd&customer={customer}&source={}",
        card.text("/id")
    );
    assert_eq!(shop.post("/v1/charges", &form).text("/source/id"), card.text("/id"));
    let cards = format!("/v1/customers/{customer}/cards");
    assert_eq!(
        shop.get(&format!("{cards}/{}", card.text("/id"))).body,
        shop.get(&one).body
    );
    assert_eq!(
        shop.get(&format!("{one}?expand[]=customer")).text("/customer/object"),
        "customer"
    );
}

#[test]
fn lists_are_pages_by_kind() {
    let shop = Shop::open();
    let customer = shop.made("/v1/customers", "");
    let path = format!("/v1/customers/{customer}/sources");
    let source = shop.made("/v1/sources", WECHAT);
    shop.made(&path, &format!("source={source}"));
    let mut cards: Vec<String> = (0..12).map(|_| shop.made(&path, "source=tok_visa")).collect();
    cards.reverse();
    assert_eq!(shop.kept(&format!("{path}?object=source")), [&*source]);
    assert_eq!(shop.kept(&format!("{path}?object=card&limit=100")), cards);
    assert_eq!(shop.kept(&format!("/v1/customers/{customer}/cards?limit=100")), cards);
    let page = shop.get(&path);
    assert_eq!(
        (page.at("/has_more"), page.at("/data").as_array().map(Vec::len)),
        (&json!(true), Some(10))
    );
    let rest = shop.get(&format!("{path}?starting_after={}", cards[9]));
    assert_eq!(
        (rest.at("/has_more"), rest.at("/data").as_array().map(Vec::len)),
        (&json!(false), Some(3))
    );
    let back = shop.get(&format!("{path}?limit=2&ending_before={}", cards[4]));
    assert_eq!(
        (back.at("/has_more"), back.text("/data/0/id")),
        (&json!(true), cards[2].clone())
    );
    assert_eq!(
        shop.get(&format!("{path}?starting_after=card_x")).refusal().2,
        "resource_missing"
    );
    assert_eq!(shop.get(&format!("{path}?limit=101")).status, 400);
    let gone = shop.made("/v1/customers", "");
    shop.delete(&format!("/v1/customers/{gone}"));
    assert_eq!(shop.get(&format!("/v1/customers/{gone}/sources")).status, 404);
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let shop = Shop::open();
    let path = format!("/v1/customers/{}/sources", shop.made("/v1/customers", ""));
    let refused = |form: &str| {
        let said = shop.post(&path, form);
        assert!(said.effects.is_empty());
        (said.status, said.refusal().2.to_owned())
    };
    assert_eq!(refused(""), (400, "parameter_missing".into()));
    assert_eq!(refused("source=tok_x"), (400, "resource_missing".into()));
    assert_eq!(refused("source=tok_chargeDeclined"), (402, "card_declined".into()));
    assert_eq!(refused("bank_account=btok_1").0, 400);
    assert_eq!(refused("source=tok_visa&colour=red"), (400, "parameter_unknown".into()));
}

#[test]
fn sources_wait_are_attached_and_go() {
    let shop = Shop::open();
    let said = shop.post(
        "/v1/sources",
        &format!("{WECHAT}&metadata[a]=1&statement_descriptor=SHOP"),
    );
    assert_eq!(
        (said.text("/status"), said.text("/usage"), said.text("/flow")),
        source("pending", "single_use", "none")
    );
    assert_eq!(said.text("/wechat/statement_descriptor"), "SHOP");
    let id = said.text("/id");
    let secret = said.text("/client_secret");
    assert_eq!(
        shop.get(&format!("/v1/sources/{id}?client_secret={secret}")).body,
        said.body
    );
    assert_eq!(shop.get(&format!("/v1/sources/{id}?client_secret=x")).status, 404);
    let charged = shop.post("/v1/charges", &format!("amount=1500&currency=usd&source={id}"));
    assert_eq!((charged.status, charged.refusal().2), (400, "invalid_source_usage"));
    let customer = shop.made("/v1/customers", "");
    let path = format!("/v1/customers/{customer}/sources");
    let attached = shop.post(&path, &format!("source={id}"));
    assert_eq!(
        (attached.text("/object"), attached.text("/customer")),
        ("source".into(), customer.clone())
    );
    assert_eq!(
        shop.post(&path, &format!("source={id}")).status,
        400,
        "it belongs to somebody already"
    );
    let owned = shop.post(&format!("{path}/{id}"), "owner[name]=N&owner[address][city]=Ulm");
    assert_eq!(
        (owned.text("/owner/name"), owned.text("/owner/address/city")),
        ("N".into(), "Ulm".into())
    );
    let gone = shop.delete(&format!("{path}/{id}"));
    assert_eq!(
        (gone.text("/status"), gone.text("/id")),
        ("consumed".into(), id.clone())
    );
    assert_eq!(shop.post(&path, &format!("source={id}")).status, 400, "it is used up");
    let ach = shop.post(
        "/v1/sources",
        "type=ach_credit_transfer&currency=usd&owner[email]=a@example.com",
    );
    assert_eq!(
        (ach.text("/status"), ach.text("/usage"), ach.text("/flow")),
        source("pending", "reusable", "receiver")
    );
    assert_eq!(ach.text("/receiver/refund_attributes_method"), "email");
}

fn source(status: &str, usage: &str, flow: &str) -> (String, String, String) {
    (status.into(), usage.into(), flow.into())
}

#[test]
fn a_source_of_a_card_pays() {
    let shop = Shop::open();
    let made = |more: &str| shop.post("/v1/sources", &format!("type=card&token=tok_visa{more}"));
    let charge = |source: &Said, more: &str| {
        shop.post(
            "/v1/charges",
            &format!("amount=700&currency=usd&source={}{more}", source.text("/id")),
        )
    };
    let once = made("");
    assert_eq!(
        (once.text("/status"), last_events(&shop, 1)),
        ("chargeable".into(), vec!["source.chargeable"])
    );
    let paid = charge(&once, "");
    assert_eq!(
        (paid.text("/source/object"), paid.text("/source/status")),
        ("source".into(), "consumed".into())
    );
    assert_eq!(charge(&once, "").refusal().2, "invalid_source_usage", "nobody keeps it");
    let customer = shop.made("/v1/customers", "");
    let often = made("");
    shop.made(
        &format!("/v1/customers/{customer}/sources"),
        &format!("source={}", often.text("/id")),
    );
    assert_eq!(charge(&often, "").status, 400, "only its customer pays by it");
    for _ in 0..2 {
        assert_eq!(
            charge(&often, &format!("&customer={customer}")).text("/source/status"),
            "chargeable"
        );
    }
    let default = shop.post("/v1/charges", &format!("amount=700&currency=usd&customer={customer}"));
    assert_eq!(default.text("/payment_method"), often.text("/id"));
}

#[test]
fn unknown_sources_and_tokens_are_refused_by_name() {
    let shop = Shop::open();
    let said = shop.post("/v1/sources", "type=giropay&currency=eur&amount=500");
    assert_eq!(
        said.refusal().3,
        "Invalid type: must be one of ach_credit_transfer, card, or wechat"
    );
    for (form, param) in [
        ("", "type"),
        ("type=wechat", "currency"),
        ("type=wechat&currency=usd", "amount"),
        ("type=card", "token"),
    ] {
        let said = shop.post("/v1/sources", form);
        assert_eq!(
            (said.refusal().2, said.text("/error/param")),
            ("parameter_missing", param.to_owned()),
            "{form}"
        );
    }
    for form in [
        "bank_account[country]=DE",
        "pii[id_number]=1",
        "card=card_1",
        "cvc_update[cvc]=123",
        "account[tos_shown_and_accepted]=true",
    ] {
        let said = shop.post("/v1/tokens", form);
        assert_eq!(said.status, 400, "{form}");
        assert!(said.refusal().3.contains("not modelled"), "{}", said.body);
    }
}

#[test]
fn countries_are_listed_the_first_being_the_united_states() {
    let shop = Shop::open();
    let first = shop.get("/v1/country_specs");
    assert_eq!(
        (first.text("/data/0/id"), first.at("/has_more")),
        ("US".into(), &json!(true))
    );
    assert!(
        first
            .at("/data/0/supported_payment_currencies")
            .as_array()
            .is_some_and(|c| c.contains(&json!("usd")))
    );
    let last = first.text("/data/9/id");
    let rest = shop.get(&format!("/v1/country_specs?starting_after={last}"));
    assert_eq!(
        (rest.at("/has_more"), rest.at("/data").as_array().map(Vec::len)),
        (&json!(false), Some(8))
    );
    let one = shop.get("/v1/country_specs/DE");
    assert_eq!(
        (one.text("/default_currency"), one.text("/object")),
        ("eur".into(), "country_spec".into())
    );
    assert_eq!(shop.get("/v1/country_specs/XX").refusal().3, "No such country: 'XX'");
}

#[test]
fn a_customer_shows_what_it_was_given() {
    let shop = Shop::open();
    let form = "tax_exempt=reverse&preferred_locales[0]=de&preferred_locales[1]=fr&invoice_prefix=ACME17&next_invoice_sequence=7\
                &invoice_settings[footer]=F&invoice_settings[custom_fields][0][name]=PO&invoice_settings[custom_fields][0][value]=9\
                &invoice_settings[rendering_options][amount_tax_display]=exclude_tax&business_name=B";
    let said = shop.post("/v1/customers", form);
    assert_eq!(said.at("/preferred_locales"), &json!(["de", "fr"]));
    assert_eq!(
        (said.text("/tax_exempt"), said.text("/invoice_prefix")),
        ("reverse".into(), "ACME17".into())
    );
    assert_eq!(
        (said.number("/next_invoice_sequence"), said.text("/business_name")),
        (7, "B".into())
    );
    let settings = json!({"custom_fields": [{"name": "PO", "value": "9"}], "default_payment_method": null, "footer": "F",
                          "rendering_options": {"amount_tax_display": "exclude_tax", "template": null}});
    assert_eq!(said.at("/invoice_settings"), &settings);
    let path = format!("/v1/customers/{}", said.text("/id"));
    let cleared = shop.post(
        &path,
        "tax_exempt=&invoice_settings[custom_fields]=&invoice_settings[rendering_options]=",
    );
    assert_eq!(cleared.text("/tax_exempt"), "none");
    assert!(cleared.at("/invoice_settings/custom_fields").is_null());
    for wrong in [
        "invoice_prefix=ab",
        "tax_exempt=maybe",
        "preferred_locales=de",
        "next_invoice_sequence=0",
    ] {
        assert_eq!(shop.post(&path, wrong).status, 400, "{wrong}");
    }
}

#[test]
fn a_customers_payment_methods_are_its_own() {
    let shop = Shop::open();
    let customer = shop.made("/v1/customers", "source=tok_visa");
    let other = shop.made("/v1/customers", "payment_method=pm_card_visa");
    let path = format!("/v1/customers/{customer}/payment_methods");
    let card = "type=card&allow_redisplay=always&card[number]=4242424242424242&card[exp_month]=12&card[exp_year]=2040";
    let method = shop.post("/v1/payment_methods", card);
    assert_eq!(method.text("/allow_redisplay"), "always");
    let method = method.text("/id");
    shop.post(
        &format!("/v1/payment_methods/{method}/attach"),
        &format!("customer={customer}"),
    );
    assert_eq!(shop.kept(&path), [&*method]);
    assert_eq!(
        shop.kept(&format!("{path}?type=card&allow_redisplay=always")),
        [&*method]
    );
    assert!(shop.kept(&format!("{path}?allow_redisplay=limited")).is_empty());
    assert!(shop.kept(&format!("{path}?type=link")).is_empty());
    assert_eq!(shop.get(&format!("{path}/{method}")).text("/id"), method);
    let foreign = shop.kept(&format!("/v1/customers/{other}/payment_methods"));
    assert_eq!(shop.get(&format!("{path}/{}", foreign[0])).refusal().0, 404);
}
