//! Lists: pages and filters.

use super::{CHARGE, Shop};

fn ids(shop: &Shop, path: &str) -> (Vec<String>, bool) {
    let said = shop.get(path);
    assert_eq!(said.status, 200, "{}", said.body);
    assert_eq!(said.text("/object"), "list");
    let data = said.at("/data").as_array().expect("an array").iter();
    let ids = data.map(|o| o["id"].as_str().expect("an id").to_owned()).collect();
    (ids, said.at("/has_more").as_bool().expect("a flag"))
}

#[test]
fn pages_go_both_ways_and_an_empty_one_is_the_last() {
    let shop = Shop::open();
    let mut made: Vec<String> = (0..25).map(|_| shop.made("/v1/charges", CHARGE)).collect();
    made.reverse();
    let (first, more) = ids(&shop, "/v1/charges");
    assert_eq!((first.as_slice(), more), (&made[..10], true));
    let (second, more) = ids(&shop, &format!("/v1/charges?limit=15&starting_after={}", made[9]));
    assert_eq!((second.as_slice(), more), (&made[10..], false));
    let (back, more) = ids(&shop, &format!("/v1/charges?limit=3&ending_before={}", made[10]));
    assert_eq!((back.as_slice(), more), (&made[7..10], true));
    let (none, more) = ids(&shop, &format!("/v1/charges?starting_after={}", made[24]));
    assert_eq!((none.len(), more), (0, false));
    let (all, more) = ids(&shop, "/v1/charges?limit=25");
    assert_eq!((all.len(), more), (25, false));
    assert_eq!(shop.get("/v1/charges").text("/url"), "/v1/charges");
}

#[test]
fn filters_keep_what_they_name() {
    let shop = Shop::open();
    let customer = shop.made("/v1/customers", "source=tok_visa&email=a@example.com");
    let other = shop.made("/v1/customers", "email=b@example.com");
    let form = format!("amount=100&currency=usd&customer={customer}");
    let own: Vec<String> = (0..3).map(|_| shop.made("/v1/charges", &form)).collect();
    shop.made("/v1/charges", CHARGE);
    let (found, more) = ids(&shop, &format!("/v1/charges?customer={customer}&limit=3"));
    assert_eq!((found.len(), more), (3, false));
    assert!(found.iter().all(|id| own.contains(id)));
    assert_eq!(ids(&shop, "/v1/customers?email=b@example.com").0.first(), Some(&other));
    shop.delete(&format!("/v1/customers/{other}"));
    assert_eq!(ids(&shop, "/v1/customers").0, [customer]);
    let now = shop.get(&format!("/v1/charges/{}", own[0])).number("/created");
    assert_eq!(ids(&shop, &format!("/v1/charges?created[gt]={}", now + 60)).0.len(), 0);
    assert_eq!(
        ids(
            &shop,
            &format!("/v1/charges?created[gte]={}&created[lt]={}", now, now + 60)
        )
        .0
        .len(),
        4
    );
    let refund = shop.made("/v1/refunds", &format!("charge={}", own[1]));
    assert_eq!(ids(&shop, &format!("/v1/refunds?charge={}", own[1])).0, [refund]);
    assert_eq!(ids(&shop, &format!("/v1/refunds?charge={}", own[2])).0.len(), 0);
}

#[test]
fn bad_pages_are_refused() {
    let shop = Shop::open();
    shop.made("/v1/charges", CHARGE);
    for query in [
        "limit=0",
        "limit=101",
        "limit=x",
        "starting_after=ch_x",
        "ending_before=ch_x",
        "foo=1",
        "starting_after=a&ending_before=b",
        "created[x]=1",
    ] {
        assert_eq!(shop.get(&format!("/v1/charges?{query}")).status, 400, "{query}");
    }
    assert_eq!(
        shop.get("/v1/charges?starting_after=ch_x").refusal().2,
        "resource_missing"
    );
}
