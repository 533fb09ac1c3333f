//! Tests of searches, driven as an attempt does.

use time::Duration;

use super::query::Query;
use crate::mocks::stripe::Stripe;
use crate::mocks::stripe::objects::Charge;
use crate::mocks::stripe::tests::Shop;
use crate::store::Scope;

fn shop() -> Shop {
    let shop = Shop::open();
    for (email, name, order) in [
        ("amy@rocket.test", "Amy O'Hara", "17"),
        ("bob@rocket.test", "Bob", "18"),
        ("cleo@sky.test", "Cleo", ""),
    ] {
        let mut form = format!("email={email}&name={}&phone=123", name.replace(' ', "+"));
        if !order.is_empty() {
            form.push_str(&format!("&metadata[order]={order}"));
        }
        shop.made("/v1/customers", &form);
    }
    shop
}

fn encoded(query: &str) -> String {
    percent_encoding::utf8_percent_encode(query, percent_encoding::NON_ALPHANUMERIC).to_string()
}

fn found(shop: &Shop, kind: &str, field: &str, query: &str) -> Vec<String> {
    let said = shop.get(&format!("/v1/{kind}/search?query={}", encoded(query)));
    assert_eq!(said.status, 200, "{query}: {}", said.body);
    assert_eq!(said.text("/object"), "search_result");
    let data = said.at("/data").as_array().expect("an array").iter();
    data.map(|o| o[field].as_str().expect("a text").to_owned()).collect()
}

#[test]
fn clauses_find_by_text_part_metadata_and_their_absence() {
    let shop = shop();
    for (query, names) in [
        (r#"email:"amy@rocket.test""#, &["Amy O'Hara"][..]),
        (r#"email:"AMY@rocket.test""#, &["Amy O'Hara"]),
        (r#"email:"rocket""#, &[]),
        (r#"email~"rocket""#, &["Bob", "Amy O'Hara"]),
        (r"name:'Amy O\'Hara'", &["Amy O'Hara"]),
        (r#"metadata["order"]:"17""#, &["Amy O'Hara"]),
        (r"metadata['order']:null", &["Cleo"]),
        (r#"-metadata["order"]:null"#, &["Bob", "Amy O'Hara"]),
        (r#"-email~"rocket""#, &["Cleo"]),
        (r#"email~"rocket" AND -name:"Bob""#, &["Amy O'Hara"]),
        (r#"email~"rocket" -name:"Bob""#, &["Amy O'Hara"]),
        (r#"name:"Bob" OR name:"Cleo""#, &["Cleo", "Bob"]),
        (r#"name:"Bob" or metadata["order"]:"17""#, &["Bob", "Amy O'Hara"]),
        ("created>0", &["Cleo", "Bob", "Amy O'Hara"]),
        ("created<=1", &[]),
    ] {
        assert_eq!(found(&shop, "customers", "name", query), names, "{query}");
    }
}

#[test]
fn numbers_flags_and_statuses_of_money() {
    let shop = Shop::open();
    for amount in [100, 200, 300] {
        shop.made(
            "/v1/charges",
            &format!("amount={amount}&currency=usd&source=tok_visa&description={amount}"),
        );
    }
    shop.post(
        "/v1/charges",
        "amount=400&currency=usd&source=tok_chargeDeclined&description=400",
    );
    for (query, which) in [
        ("amount:200", &["200"][..]),
        ("amount>100 AND amount<300", &["200"]),
        (r#"amount>=300 AND status:"succeeded""#, &["300"]),
        (r#"status:"failed""#, &["400"]),
        (r#"currency:"usd" AND refunded:"false" AND amount<=100"#, &["100"]),
        (r#"payment_method_details.card.last4:4242 OR amount:400"#, &["400"]),
    ] {
        if query.contains("4242") {
            let said = shop.get(&format!("/v1/charges/search?query={}", encoded(query)));
            assert_eq!(said.status, 400, "a token is quoted");
            continue;
        }
        assert_eq!(found(&shop, "charges", "description", query), which, "{query}");
    }
    shop.made(
        "/v1/charges",
        "amount=500&currency=usd&source=tok_createDispute&description=disputed",
    );
    assert_eq!(
        found(&shop, "charges", "description", r#"disputed:"true""#),
        ["disputed"]
    );
    let last4 = r#"payment_method_details.card.last4:"4242" AND amount:100"#;
    assert_eq!(found(&shop, "charges", "description", last4), ["100"]);
}

#[test]
fn what_is_sold_and_billed_is_found_too() {
    let shop = Shop::open();
    let customer = shop.made("/v1/customers", "source=tok_visa");
    let product = shop.made("/v1/products", "name=Blue+paint&metadata[shelf]=3");
    let price = shop.made(
        "/v1/prices",
        &format!("product={product}&unit_amount=500&currency=usd&recurring[interval]=month&lookup_key=paint_monthly"),
    );
    let form = format!("customer={customer}&items[0][price]={price}");
    let subscription = shop.made("/v1/subscriptions", &form);
    for (kind, query, wanted) in [
        ("products", r#"name~"blue" AND active:"true""#.to_owned(), &product),
        ("products", r#"metadata["shelf"]:"3""#.to_owned(), &product),
        ("prices", format!(r#"product:"{product}" AND type:"recurring""#), &price),
        ("prices", r#"lookup_key~"monthly""#.to_owned(), &price),
        (
            "subscriptions",
            format!(r#"customer:"{customer}" AND status:"active""#),
            &subscription,
        ),
    ] {
        assert_eq!(found(&shop, kind, "id", &query), [wanted.as_str()], "{kind} {query}");
    }
    let query = format!(r#"customer:"{customer}" AND status:"paid" AND total:500"#);
    assert_eq!(found(&shop, "invoices", "id", &query).len(), 1);
}

#[test]
fn what_cannot_be_asked_is_refused_by_name() {
    let shop = Shop::open();
    for (query, part) in [
        ("", "empty"),
        ("email", "unable to parse"),
        ("email:", "unable to parse"),
        (r#"email:"open"#, "unable to parse"),
        (r#"email:"a"name:"b""#, "unable to parse"),
        (
            r#"colour:"red""#,
            "Field `colour` is an unsupported search field for resource `customers`",
        ),
        (r#"email~"ab""#, "at least 3 characters"),
        ("created~\"123\"", "`~` is not supported for field `created`"),
        ("email>\"a\"", "`>` is not supported for field `email`"),
        ("created:soon", "`soon` of field `created` is no whole number"),
        (r#"metadata["a"]~"abc""#, "`~` is not supported for field `metadata`"),
        (r#"metadata[a]:"b""#, "unable to parse"),
        (r#"name:"a" AND name:"b" OR name:"c""#, "combine AND and OR"),
        (&vec![r#"name:"a""#; 11].join(" AND "), "up to 10 clauses"),
    ] {
        let said = shop.get(&format!("/v1/customers/search?query={}", encoded(query)));
        let (status, kind, _, message) = said.refusal();
        assert_eq!(
            (status, kind, said.text("/error/param").as_str()),
            (400, "invalid_request_error", "query"),
            "{query}"
        );
        assert!(message.contains(part), "{query}: {message}");
    }
    assert_eq!(shop.get("/v1/customers/search").refusal().2, "parameter_missing");
    let page = shop.get(&format!(
        "/v1/customers/search?page=bm9uZQ&query={}",
        encoded("created>0")
    ));
    assert_eq!((page.status, page.text("/error/param").as_str()), (400, "page"));
}

#[test]
fn pages_follow_each_other_to_the_end_with_and_without_lag() {
    for lag in [Duration::ZERO, Duration::SECOND] {
        let shop = Shop::of(Stripe {
            search_lag: lag,
            ..Stripe::default()
        });
        let mut made: Vec<_> = (0..25)
            .map(|i| shop.made("/v1/customers", &format!("name=c{i}&email=a@b.test")))
            .collect();
        shop.store.advance(Some(&Scope::default()), Duration::MINUTE).unwrap();
        made.reverse();
        let (mut all, mut page) = (Vec::new(), String::new());
        loop {
            let said = shop.get(&format!(
                "/v1/customers/search?limit=10&query={}{page}",
                encoded("email:\"a@b.test\"")
            ));
            let data = said.at("/data").as_array().unwrap().iter();
            all.extend(data.map(|o| o["id"].as_str().unwrap().to_owned()));
            let next = said.at("/next_page").as_str();
            assert_eq!(said.at("/has_more").as_bool(), Some(next.is_some()));
            let Some(next) = next else { break };
            page = format!("&page={next}");
        }
        let (mut sorted, mut wanted) = (all.clone(), made.clone());
        sorted.sort();
        wanted.sort();
        assert_eq!(sorted, wanted, "each once, lag {lag}");
    }
}

#[test]
fn a_search_that_lags_shows_what_was_there_then_and_lists_do_not_lag() {
    let shop = Shop::of(Stripe {
        search_lag: Duration::MINUTE,
        ..Stripe::default()
    });
    let wait = |by| shop.store.advance(Some(&Scope::default()), by).unwrap();
    let names = || found(&shop, "customers", "name", "created>0");
    let id = shop.made("/v1/customers", "name=old");
    assert_eq!(names(), Vec::<String>::new(), "just written");
    assert_eq!(shop.get("/v1/customers").at("/data").as_array().unwrap().len(), 1);
    wait(Duration::seconds(59));
    assert_eq!(names(), Vec::<String>::new());
    wait(Duration::SECOND);
    assert_eq!(names(), ["old"]);
    shop.made(&format!("/v1/customers/{id}"), "name=new");
    assert_eq!(names(), ["old"], "as it was a minute ago");
    assert_eq!(found(&shop, "customers", "name", "name:\"new\""), Vec::<String>::new());
    wait(Duration::MINUTE);
    assert_eq!(names(), ["new"]);
    shop.delete(&format!("/v1/customers/{id}"));
    assert_eq!(names(), ["new"], "a deleted one is found for a while");
    wait(Duration::MINUTE);
    assert_eq!(names(), Vec::<String>::new());
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in ".{0,80}") {
        let _ = Query::read::<Charge>(&text);
    }

    #[test]
    fn near_queries_neither(text in r#"[-a-z_ .\["':~<>=0-9\]\\ANDOR]{0,60}"#) {
        let _ = Query::read::<Charge>(&text);
    }
}
