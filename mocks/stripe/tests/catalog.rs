//! What is sold, and for how much: products, prices, coupons, promotion codes.

use super::Shop;

#[test]
fn a_product_comes_with_its_price_and_is_changed_and_deleted() {
    let shop = Shop::open();
    let made = shop.post(
        "/v1/products",
        "name=Shirt&images[]=https://a.test/1.png&marketing_features[0][name]=Soft&package_dimensions[height]=1.5\
         &package_dimensions[length]=2&package_dimensions[weight]=3&package_dimensions[width]=4&metadata[a]=1\
         &default_price_data[currency]=USD&default_price_data[unit_amount_decimal]=12.5&default_price_data[recurring][interval]=month\
         &expand[]=default_price",
    );
    assert_eq!(made.kinds(), ["product"]);
    assert_eq!(
        (made.text("/marketing_features/0/name"), made.text("/images/0")),
        ("Soft".into(), "https://a.test/1.png".into())
    );
    assert_eq!(made.at("/package_dimensions/height").as_f64(), Some(1.5));
    let price = made.at("/default_price");
    assert_eq!(
        (price["unit_amount"].is_null(), price["unit_amount_decimal"].as_str()),
        (true, Some("12.5"))
    );
    assert_eq!(
        (price["type"].as_str(), price["recurring"]["interval"].as_str()),
        (Some("recurring"), Some("month"))
    );
    assert_eq!(price["product"], *made.at("/id"));
    let path = format!("/v1/products/{}", made.text("/id"));
    let said = shop.post(
        &path,
        "name=Coat&images=&marketing_features=&package_dimensions=&active=false",
    );
    assert_eq!(
        (said.text("/name"), said.at("/package_dimensions").is_null()),
        ("Coat".into(), true)
    );
    assert_eq!(
        (said.at("/images").to_string(), said.at("/active").as_bool()),
        ("[]".into(), Some(false))
    );
    assert!(shop.delete(&path).refusal().3.contains("user-created prices"));
    assert_eq!(
        shop.post(&path, "default_price=price_x").refusal().2,
        "resource_missing"
    );
    let other = shop.made("/v1/products", "name=A&id=my-product");
    assert_eq!(other, "my-product");
    assert_eq!(
        shop.post("/v1/products", "name=A&id=my-product").refusal().2,
        "resource_already_exists"
    );
    assert_eq!(
        shop.delete("/v1/products/my-product").body,
        "{\n  \"id\": \"my-product\",\n  \"object\": \"product\",\n  \"deleted\": true\n}"
    );
    assert_eq!(shop.get("/v1/products/my-product").status, 404);
    assert_eq!(
        shop.get("/v1/products?active=false")
            .at("/data")
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    assert_eq!(
        shop.get("/v1/products?ids[]=my-product")
            .at("/data")
            .as_array()
            .map(Vec::len),
        Some(0)
    );
    assert_eq!(
        shop.post("/v1/products", "").refusal().3,
        "Missing required param: name."
    );
}

#[test]
fn prices_are_listed_by_what_they_are_and_one_has_a_lookup_key() {
    let shop = Shop::open();
    let product = shop.made("/v1/products", "name=A");
    let once = format!("currency=usd&unit_amount=500&product={product}&lookup_key=basic");
    let first = shop.made("/v1/prices", &once);
    assert!(
        shop.post("/v1/prices", &once)
            .refusal()
            .3
            .contains("already uses that lookup key")
    );
    let second = shop.post(
        "/v1/prices",
        &format!("{once}&transfer_lookup_key=true&recurring[interval]=year"),
    );
    assert_eq!(
        (second.kinds(), second.text("/type")),
        (vec!["price"], "recurring".into())
    );
    assert!(shop.get(&format!("/v1/prices/{first}")).at("/lookup_key").is_null());
    shop.made(
        "/v1/prices",
        "currency=eur&unit_amount=0&product_data[name]=B&active=false",
    );
    let found = |query: &str| {
        shop.get(&format!("/v1/prices?{query}"))
            .at("/data")
            .as_array()
            .map(Vec::len)
    };
    for (query, number) in [
        ("", 3),
        ("active=true", 2),
        ("currency=EUR", 1),
        ("type=one_time", 2),
        ("type=recurring", 1),
        ("recurring[interval]=month", 0),
        ("recurring[usage_type]=licensed", 1),
        ("recurring[usage_type]=metered", 0),
        ("recurring[meter]=mtr_1", 0),
        ("lookup_keys[]=basic", 1),
        ("lookup_keys[]=other", 0),
    ] {
        assert_eq!(found(query), Some(number), "{query}");
    }
    assert_eq!(found(&format!("product={product}")), Some(2));
    let path = format!("/v1/prices/{first}");
    assert_eq!(shop.post(&path, "unit_amount=1").refusal().2, "parameter_unknown");
    let said = shop.post(
        &path,
        "active=false&nickname=N&metadata[a]=1&tax_behavior=exclusive&currency_options[eur][unit_amount]=5",
    );
    assert_eq!(
        (said.at("/active").as_bool(), said.text("/nickname")),
        (Some(false), "N".into())
    );
    assert!(
        shop.post(&path, "tax_behavior=inclusive")
            .refusal()
            .3
            .contains("cannot be changed")
    );
}

#[test]
fn what_prices_cannot_be_is_said() {
    let shop = Shop::open();
    for (form, text) in [
        ("unit_amount=1", "Missing required param: currency."),
        ("currency=usd", "Missing required param: unit_amount."),
        ("currency=usd&unit_amount=-1", "greater than or equal to 0"),
        ("currency=usd&unit_amount=1&unit_amount_decimal=1", "only specify one"),
        (
            "currency=usd&unit_amount_decimal=1.0000000000001",
            "twelve decimal places",
        ),
        ("currency=usd&unit_amount=1&billing_scheme=tiered", "not modelled"),
        ("currency=usd&unit_amount=1&tiers[0][up_to]=inf", "not modelled"),
        (
            "currency=usd&unit_amount=1&recurring[interval]=month&recurring[usage_type]=metered",
            "not modelled",
        ),
        (
            "currency=usd&unit_amount=1&recurring[interval]=month&recurring[interval_count]=37",
            "three years",
        ),
        (
            "currency=usd&unit_amount=1&recurring[interval]=hour",
            "must be one of day, month, week, or year",
        ),
        ("currency=usd&unit_amount=1&product=prod_x", "No such product: 'prod_x'"),
    ] {
        let product = if form.contains("product=") {
            ""
        } else {
            "&product_data[name]=A"
        };
        let said = shop.post("/v1/prices", &format!("{form}{product}"));
        assert!(
            said.status == 400 && said.refusal().3.contains(text),
            "{form}: {}",
            said.body
        );
    }
    assert_eq!(shop.get("/v1/prices/price_x").status, 404);
    assert_eq!(shop.get("/v1/products").at("/data").as_array().map(Vec::len), Some(0));
}

#[test]
fn coupons_have_ids_of_eight_letters_or_chosen_ones() {
    let shop = Shop::open();
    let made = shop.post("/v1/coupons", "duration=once&amount_off=100&currency=usd");
    assert_eq!(
        (
            made.text("/id").len(),
            made.number("/amount_off"),
            made.text("/currency")
        ),
        (8, 100, "usd".into())
    );
    let made = shop.post(
        "/v1/coupons",
        "duration=forever&percent_off=25.5&id=A-1&name=N&max_redemptions=2",
    );
    assert_eq!(
        (
            made.text("/id"),
            made.at("/percent_off").as_f64(),
            made.at("/valid").as_bool()
        ),
        ("A-1".into(), Some(25.5), Some(true))
    );
    assert_eq!(
        shop.post("/v1/coupons", "percent_off=5&id=A-1").refusal().3,
        "Coupon already exists."
    );
    assert_eq!(shop.post("/v1/coupons/A-1", "name=M&metadata[a]=1").text("/name"), "M");
    assert_eq!(
        shop.post("/v1/coupons/A-1", "percent_off=5").refusal().2,
        "parameter_unknown"
    );
    for (form, text) in [
        ("", "Must provide percent_off or amount_off"),
        ("percent_off=0", "greater than 0"),
        ("percent_off=100.5", "at most 100"),
        ("amount_off=5", "Missing required param: currency."),
        (
            "percent_off=5&duration=repeating",
            "Missing required param: duration_in_months.",
        ),
        (
            "percent_off=5&duration=once&duration_in_months=2",
            "when `duration` is `repeating`",
        ),
        ("percent_off=5&redeem_by=1", "in the future"),
    ] {
        let said = shop.post("/v1/coupons", form);
        assert!(
            said.status == 400 && said.refusal().3.contains(text),
            "{form}: {}",
            said.body
        );
    }
    let by = shop.store.now(None).unix_timestamp() + 60;
    let soon = shop.made("/v1/coupons", &format!("percent_off=5&redeem_by={by}"));
    shop.store
        .advance(None, time::Duration::seconds(61))
        .expect("one scope");
    assert_eq!(
        shop.get(&format!("/v1/coupons/{soon}")).at("/valid").as_bool(),
        Some(false)
    );
    assert_eq!(
        shop.get("/v1/coupons?limit=1").at("/data/0/valid").as_bool(),
        Some(false)
    );
    assert_eq!(shop.delete("/v1/coupons/A-1").kinds(), ["coupon_delete"]);
    assert_eq!(shop.get("/v1/coupons/A-1").status, 404);
}

#[test]
fn promotion_codes_are_unique_while_active() {
    let shop = Shop::open();
    let coupon = shop.made("/v1/coupons", "percent_off=10");
    let form = format!("promotion[type]=coupon&promotion[coupon]={coupon}");
    let made = shop.post(
        "/v1/promotion_codes",
        &format!("{form}&code=Fall20&expand[]=promotion.coupon"),
    );
    assert_eq!(
        (made.text("/code"), made.text("/promotion/coupon/id")),
        ("Fall20".into(), coupon.clone())
    );
    assert!(
        shop.post("/v1/promotion_codes", &format!("{form}&code=FALL20"))
            .refusal()
            .3
            .contains("already exists")
    );
    let path = format!("/v1/promotion_codes/{}", made.text("/id"));
    assert_eq!(shop.post(&path, "active=false").at("/active").as_bool(), Some(false));
    let other = shop.made("/v1/promotion_codes", &format!("{form}&code=FALL20"));
    assert!(shop.post(&path, "active=true").refusal().3.contains("already exists"));
    let found = shop.get("/v1/promotion_codes?code=fall20&active=true");
    assert_eq!(
        (found.text("/data/0/id"), found.at("/data").as_array().map(Vec::len)),
        (other, Some(1))
    );
    assert_eq!(
        shop.post("/v1/promotion_codes", &format!("{form}&code=a%20b")).status,
        400
    );
    assert_eq!(
        shop.post("/v1/promotion_codes", "promotion[type]=coupon&promotion[coupon]=x")
            .refusal()
            .2,
        "resource_missing"
    );
    assert_eq!(shop.made("/v1/promotion_codes", &form).split('_').next(), Some("promo"));
}
