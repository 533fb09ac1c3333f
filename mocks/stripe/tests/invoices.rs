//! Invoices: what is owed, and that it is collected once.

use proptest::prelude::*;
use time::Duration;

use super::{Said, Shop};

/// Makes a customer who can pay, with a card by name.
fn customer(shop: &Shop, card: &str) -> String {
    let customer = shop.made("/v1/customers", "name=N&email=n@a.test");
    let method = shop.made(
        &format!("/v1/payment_methods/{card}/attach"),
        &format!("customer={customer}"),
    );
    let form = format!("invoice_settings[default_payment_method]={method}");
    assert_eq!(shop.post(&format!("/v1/customers/{customer}"), &form).status, 200);
    customer
}

fn item(shop: &Shop, customer: &str, form: &str) -> String {
    shop.made("/v1/invoiceitems", &format!("customer={customer}&{form}"))
}

fn draft(shop: &Shop, customer: &str, form: &str) -> Said {
    let said = shop.post(
        "/v1/invoices",
        &format!("customer={customer}&pending_invoice_items_behavior=include&{form}"),
    );
    assert_eq!(said.status, 200, "{}", said.body);
    said
}

fn act(shop: &Shop, invoice: &Said, what: &str, form: &str) -> Said {
    shop.post(&format!("/v1/invoices/{}/{what}", invoice.text("/id")), form)
}

fn charged(shop: &Shop) -> i64 {
    let said = shop.get("/v1/charges?limit=100");
    let charges = said.at("/data").as_array().cloned().unwrap_or_default();
    let paid = charges.iter().filter(|charge| charge["paid"] == true);
    paid.map(|charge| charge["amount"].as_i64().unwrap_or_default()).sum()
}

#[test]
fn an_invoice_is_drafted_finalized_and_paid_by_one_charge() {
    let shop = Shop::open();
    let customer = customer(&shop, "pm_card_visa");
    item(&shop, &customer, "amount=1500&currency=usd&description=Work");
    let price = shop.made(
        "/v1/prices",
        "currency=usd&unit_amount_decimal=250.5&product_data[name]=Pen",
    );
    item(&shop, &customer, &format!("pricing[price]={price}&quantity=3"));
    let made = draft(&shop, &customer, "description=D&metadata[a]=1");
    assert_eq!(made.kinds(), ["invoice"]);
    assert_eq!(
        (
            made.text("/status"),
            made.number("/amount_due"),
            made.number("/subtotal")
        ),
        ("draft".into(), 2252, 2252)
    );
    assert_eq!(
        (
            made.text("/lines/data/0/description"),
            made.number("/lines/data/1/amount")
        ),
        ("Work".into(), 752)
    );
    assert_eq!(made.text("/lines/data/1/pricing/price_details/price"), price);
    let open = act(
        &shop,
        &made,
        "finalize",
        "expand[]=payments&expand[]=confirmation_secret",
    );
    assert_eq!(open.kinds(), ["invoice_finalize"]);
    assert_eq!(
        (open.text("/status"), open.number("/amount_remaining")),
        ("open".into(), 2252)
    );
    assert!(open.text("/number").ends_with("-0001") && open.text("/hosted_invoice_url").starts_with("https://"));
    let intent = open.text("/payments/data/0/payment/payment_intent");
    assert!(
        open.text("/confirmation_secret/client_secret")
            .starts_with(&format!("{intent}_secret_"))
    );
    let form = "expand[]=payments.data.payment.payment_intent.latest_charge";
    let path = format!("/v1/invoices/{}/pay", made.text("/id"));
    let paid = shop.keyed("k", &path, form);
    assert_eq!(paid.kinds(), ["charge", "invoice_pay"]);
    assert_eq!(
        (
            paid.text("/status"),
            paid.number("/amount_paid"),
            paid.number("/amount_remaining")
        ),
        ("paid".into(), 2252, 0)
    );
    assert_eq!(
        (paid.number("/attempt_count"), paid.at("/attempted").as_bool()),
        (1, Some(true))
    );
    assert_eq!(paid.text("/payments/data/0/status"), "paid");
    assert_eq!(
        paid.number("/payments/data/0/payment/payment_intent/latest_charge/amount"),
        2252
    );
    let again = shop.keyed("k", &path, form);
    assert_eq!((again.replayed, again.body), (true, paid.body));
    assert_eq!(shop.post(&path, "").refusal().3, "Invoice is already paid");
    assert_eq!(charged(&shop), 2252);
    let found = shop.get(&format!(
        "/v1/invoice_payments?invoice={}&status=paid",
        made.text("/id")
    ));
    assert_eq!(found.text("/data/0/payment/payment_intent"), intent);
    let kinds: Vec<String> = shop.events();
    for kind in [
        "invoice.created",
        "invoice.finalized",
        "invoice.paid",
        "invoice.payment_succeeded",
        "charge.succeeded",
    ] {
        assert_eq!(
            kinds.iter().filter(|told| *told == kind).count(),
            1,
            "{kind} in {kinds:?}"
        );
    }
}

#[test]
fn a_declined_payment_leaves_the_invoice_open() {
    let shop = Shop::open();
    let customer = customer(&shop, "pm_card_chargeCustomerFail");
    item(&shop, &customer, "amount=900&currency=usd");
    let made = draft(&shop, &customer, "");
    let said = act(&shop, &made, "pay", "");
    assert_eq!((said.status, said.refusal().2), (402, "card_declined"));
    let path = format!("/v1/invoices/{}", made.text("/id"));
    let open = shop.get(&path);
    assert_eq!(
        (
            open.text("/status"),
            open.number("/attempt_count"),
            open.number("/amount_paid")
        ),
        ("open".into(), 1, 0)
    );
    assert_eq!(charged(&shop), 0);
    let good = shop.made(
        "/v1/payment_methods/pm_card_visa/attach",
        &format!("customer={customer}"),
    );
    let stranger = shop.made("/v1/payment_methods", "type=card&card[token]=tok_visa");
    assert!(
        act(&shop, &made, "pay", &format!("payment_method={stranger}"))
            .refusal()
            .3
            .contains("must be attached")
    );
    assert_eq!(
        act(&shop, &made, "pay", &format!("payment_method={good}")).kinds(),
        ["charge", "invoice_pay"]
    );
    assert_eq!((shop.get(&path).number("/attempt_count"), charged(&shop)), (2, 900));
    assert!(shop.events().iter().any(|kind| kind == "invoice.payment_failed"));
}

#[test]
fn whoever_confirms_the_intent_pays_the_invoice() {
    let shop = Shop::open();
    let customer = shop.made("/v1/customers", "");
    item(&shop, &customer, "amount=900&currency=usd");
    let made = draft(&shop, &customer, "");
    assert_eq!(act(&shop, &made, "pay", "").refusal().2, "resource_missing");
    let open = act(&shop, &made, "finalize", "expand[]=payments");
    let intent = open.text("/payments/data/0/payment/payment_intent");
    let said = shop.post(
        &format!("/v1/payment_intents/{intent}/confirm"),
        "payment_method=pm_card_threeDSecure2Required",
    );
    assert_eq!(said.text("/status"), "requires_action");
    let said = shop.post(
        &format!("/v1/test_helpers/payment_intents/{intent}/authenticate"),
        "result=succeed",
    );
    assert_eq!(said.kinds(), ["charge", "payment_intent_authenticate"]);
    let path = format!("/v1/invoices/{}", made.text("/id"));
    assert_eq!((shop.get(&path).text("/status"), charged(&shop)), ("paid".into(), 900));
    for (form, what) in [("", "cancel"), ("amount=5", "")] {
        let path = format!("/v1/payment_intents/{intent}/{what}");
        let said = shop.post(path.trim_end_matches('/'), form);
        assert_eq!(said.status, 400, "{}", said.body);
    }
}

#[test]
fn the_balance_is_taken_up_and_given_back() {
    let shop = Shop::open();
    let customer = customer(&shop, "pm_card_visa");
    let path = format!("/v1/customers/{customer}");
    let owed = |balance: i64| {
        shop.post(
            &path,
            &format!("balance={balance}&invoice_prefix=AB1&next_invoice_sequence=7"),
        )
    };
    owed(-500);
    item(&shop, &customer, "amount=2000&currency=usd");
    let made = draft(&shop, &customer, "");
    assert_eq!(
        (
            made.number("/starting_balance"),
            made.number("/amount_due"),
            made.at("/ending_balance").is_null()
        ),
        (-500, 1500, true)
    );
    let open = act(&shop, &made, "finalize", "");
    assert_eq!(
        (open.text("/number"), open.number("/ending_balance")),
        ("AB1-0007".into(), 0)
    );
    let now = shop.get(&path);
    assert_eq!(
        (
            now.number("/balance"),
            now.number("/next_invoice_sequence"),
            now.text("/currency")
        ),
        (0, 8, "usd".into())
    );
    let void = act(&shop, &made, "void", "");
    assert_eq!(
        (void.kinds(), void.text("/status")),
        (vec!["invoice_void"], "void".into())
    );
    assert_eq!(shop.get(&path).number("/balance"), -500);
    item(&shop, &customer, "amount=300&currency=usd");
    let paid = act(&shop, &draft(&shop, &customer, ""), "finalize", "");
    assert_eq!(
        (
            paid.text("/status"),
            paid.number("/amount_due"),
            paid.number("/ending_balance")
        ),
        ("paid".into(), 0, -200)
    );
    item(&shop, &customer, "amount=230&currency=usd");
    let trifle = act(&shop, &draft(&shop, &customer, ""), "finalize", "");
    assert_eq!(
        (trifle.number("/amount_due"), trifle.number("/ending_balance")),
        (0, 30)
    );
    item(&shop, &customer, "amount=100&currency=usd");
    let paid = act(&shop, &draft(&shop, &customer, ""), "pay", "");
    assert_eq!((paid.number("/amount_paid"), charged(&shop)), (130, 130));
}

#[test]
fn discounts_come_off_by_line_and_as_a_whole() {
    let shop = Shop::open();
    let customer = customer(&shop, "pm_card_visa");
    let ten = shop.made("/v1/coupons", "percent_off=10&max_redemptions=1");
    let two = shop.made("/v1/coupons", "amount_off=200&currency=usd");
    let form = format!("promotion[type]=coupon&promotion[coupon]={two}&code=TWO");
    let promotion = shop.made("/v1/promotion_codes", &form);
    item(
        &shop,
        &customer,
        &format!("amount=1000&currency=usd&discounts[0][coupon]={ten}"),
    );
    item(&shop, &customer, "amount=1000&currency=usd&discountable=false");
    let form = format!("discounts[0][promotion_code]={promotion}&expand[]=discounts.source.coupon");
    let made = draft(&shop, &customer, &form);
    assert_eq!((made.number("/subtotal"), made.number("/total")), (2000, 1700));
    assert_eq!(
        (
            made.text("/discounts/0/source/coupon/id"),
            made.text("/discounts/0/promotion_code")
        ),
        (two, promotion)
    );
    assert_eq!(made.number("/lines/data/0/discount_amounts/1/amount"), 200);
    assert_eq!(made.number("/total_discount_amounts/0/amount"), 100);
    let spent = shop.post(
        "/v1/invoiceitems",
        &format!("customer={customer}&amount=5&currency=usd&discounts[0][coupon]={ten}"),
    );
    assert_eq!(spent.refusal().2, "coupon_expired");
    let without = shop.post(&format!("/v1/invoices/{}", made.text("/id")), "discounts=");
    assert_eq!(without.number("/total"), 1900);
    let euro = shop.made("/v1/coupons", "amount_off=200&currency=eur");
    assert!(
        shop.post(
            &format!("/v1/invoices/{}", made.text("/id")),
            &format!("discounts[0][coupon]={euro}")
        )
        .refusal()
        .3
        .contains("takes off eur")
    );
}

#[test]
fn drafts_change_and_go_and_the_rest_is_fixed() {
    let shop = Shop::open();
    let customer = customer(&shop, "pm_card_visa");
    let pending = item(&shop, &customer, "amount=1000&currency=usd");
    let made = draft(&shop, &customer, "");
    let path = format!("/v1/invoices/{}", made.text("/id"));
    let fixed = item(
        &shop,
        &customer,
        &format!("invoice={}&amount=500&currency=usd", made.text("/id")),
    );
    assert_eq!(shop.get(&path).number("/amount_due"), 1500);
    shop.post(&format!("/v1/invoiceitems/{fixed}"), "amount=700&description=More");
    assert_eq!(shop.get(&path).number("/amount_due"), 1700);
    let lines = shop.get(&format!("{path}/lines?limit=1"));
    assert_eq!(
        (lines.at("/has_more").as_bool(), lines.number("/data/0/amount")),
        (Some(true), 1000)
    );
    let after = shop.get(&format!("{path}/lines?starting_after={}", lines.text("/data/0/id")));
    assert_eq!(
        (after.at("/has_more").as_bool(), after.number("/data/0/amount")),
        (Some(false), 700)
    );
    assert_eq!(shop.delete(&path).kinds(), ["invoice_delete"]);
    assert_eq!(shop.get(&format!("/v1/invoiceitems/{fixed}")).status, 404);
    assert!(
        shop.get(&format!("/v1/invoiceitems/{pending}"))
            .at("/invoice")
            .is_null()
    );
    let made = draft(&shop, &customer, "collection_method=send_invoice&days_until_due=30");
    let path = format!("/v1/invoices/{}", made.text("/id"));
    let sent = act(&shop, &made, "send", "");
    assert_eq!(
        (sent.kinds(), sent.text("/status")),
        (vec!["invoice_send"], "open".into())
    );
    assert_eq!(shop.delete(&path).status, 400);
    assert_eq!(shop.post(&path, "description=late").refusal().2, "invoice_not_editable");
    assert_eq!(shop.post(&path, "metadata[a]=1").kinds(), ["invoice_update"]);
    assert_eq!(
        shop.delete(&format!("/v1/invoiceitems/{pending}")).refusal().2,
        "invoice_not_editable"
    );
    assert_eq!(
        act(&shop, &made, "mark_uncollectible", "").text("/status"),
        "uncollectible"
    );
    let paid = act(&shop, &made, "pay", "paid_out_of_band=true");
    assert_eq!(
        (paid.kinds(), paid.number("/amount_paid_off_stripe")),
        (vec!["invoice_pay"], 1000)
    );
    assert_eq!((paid.number("/amount_remaining"), charged(&shop)), (0, 0));
    assert_eq!(
        shop.get("/v1/invoices?status=paid")
            .at("/data")
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    let loose = item(&shop, &customer, "amount=1&currency=usd");
    assert_eq!(
        shop.delete(&format!("/v1/invoiceitems/{loose}")).kinds(),
        ["invoiceitem_delete"]
    );
}

#[test]
fn a_draft_that_advances_is_finalized_and_collected_in_its_time() {
    let shop = Shop::open();
    let customer = customer(&shop, "pm_card_visa");
    item(&shop, &customer, "amount=1000&currency=usd");
    let made = draft(&shop, &customer, "auto_advance=true");
    let path = format!("/v1/invoices/{}", made.text("/id"));
    assert_eq!(
        made.number("/automatically_finalizes_at"),
        made.number("/created") + 3600
    );
    shop.pass(Duration::minutes(59));
    assert_eq!(shop.get(&path).text("/status"), "draft");
    assert_eq!(
        shop.pass(Duration::minutes(2)),
        ["charge", "invoice_finalize", "invoice_pay"]
    );
    assert_eq!((shop.get(&path).text("/status"), charged(&shop)), ("paid".into(), 1000));
    assert!(shop.pass(Duration::days(30)).is_empty());
}

#[test]
fn what_is_wrong_with_an_invoice_is_said() {
    let shop = Shop::open();
    let customer = customer(&shop, "pm_card_visa");
    for (path, form, text) in [
        ("/v1/invoices", String::new(), "Missing required param: customer."),
        ("/v1/invoices", "customer=cus_x".into(), "No such customer: 'cus_x'"),
        (
            "/v1/invoices",
            format!("customer={customer}&collection_method=send_invoice"),
            "days_until_due",
        ),
        (
            "/v1/invoices",
            format!("customer={customer}&days_until_due=3"),
            "send_invoice",
        ),
        (
            "/v1/invoices",
            format!("customer={customer}&automatic_tax[enabled]=true"),
            "not modelled",
        ),
        (
            "/v1/invoices",
            format!("customer={customer}&transfer_data[destination]=acct_1"),
            "not modelled",
        ),
        ("/v1/invoiceitems", format!("customer={customer}"), "should be provided"),
        (
            "/v1/invoiceitems",
            format!("customer={customer}&amount=5"),
            "Missing required param: currency.",
        ),
        (
            "/v1/invoiceitems",
            format!("customer={customer}&amount=5&currency=usd&quantity=2"),
            "only specify one",
        ),
        (
            "/v1/invoiceitems",
            format!("customer={customer}&amount=100000000&currency=usd"),
            "no more than",
        ),
        (
            "/v1/invoiceitems",
            format!("customer={customer}&pricing[price]=price_x"),
            "No such price",
        ),
    ] {
        let said = shop.post(path, &form);
        assert!(
            said.status == 400 && said.refusal().3.contains(text),
            "{path} {form}: {}",
            said.body
        );
    }
    assert_eq!(shop.get("/v1/invoices/in_x").status, 404);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn totals_hold_whatever_is_on_it(
        amounts in proptest::collection::vec((-3000..9000i64, any::<bool>()), 1..6),
        percent in proptest::option::of(1..=100i64),
        off in proptest::option::of(1..9000i64),
        balance in -4000..4000i64,
    ) {
        let shop = Shop::open();
        let customer = customer(&shop, "pm_card_visa");
        shop.post(&format!("/v1/customers/{customer}"), &format!("balance={balance}"));
        for (amount, discountable) in &amounts {
            item(&shop, &customer, &format!("amount={amount}&currency=usd&discountable={discountable}"));
        }
        let coupon = |form: &str| shop.made("/v1/coupons", form);
        let coupons = [percent.map(|p| coupon(&format!("percent_off={p}"))), off.map(|o| coupon(&format!("amount_off={o}&currency=usd")))];
        let discounts: String = coupons.into_iter().flatten().enumerate().map(|(i, id)| format!("&discounts[{i}][coupon]={id}")).collect();
        let made = draft(&shop, &customer, &discounts);
        let paid = act(&shop, &made, "pay", "");
        prop_assert_eq!(paid.status, 200, "{}", paid.body);
        let reductions = paid.at("/total_discount_amounts").as_array().cloned().unwrap_or_default();
        let taken: i64 = reductions.iter().map(|r| r["amount"].as_i64().unwrap_or_default()).sum();
        prop_assert!(taken >= 0);
        prop_assert_eq!(paid.number("/subtotal") - taken, paid.number("/total"));
        let due = paid.number("/amount_due");
        prop_assert!(due >= 0);
        prop_assert_eq!(paid.number("/amount_paid") + paid.number("/amount_remaining"), due);
        prop_assert_eq!(due + paid.number("/ending_balance"), paid.number("/total") + balance);
        prop_assert_eq!(charged(&shop), due);
    }
}
