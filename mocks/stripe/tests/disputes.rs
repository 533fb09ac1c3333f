//! Disputes: opened by test cards, decided by evidence, and their money.

use super::{Said, Shop};

fn charged(shop: &Shop, token: &str) -> Said {
    let said = shop.post("/v1/charges", &format!("amount=2000&currency=usd&source=tok_{token}"));
    assert_eq!(said.status, 200, "{}", said.body);
    said
}

fn dispute_of(shop: &Shop, charge: &Said) -> Said {
    let said = shop.get(&format!("/v1/disputes?charge={}", charge.text("/id")));
    assert_eq!(said.at("/data").as_array().map(Vec::len), Some(1));
    shop.get(&format!("/v1/disputes/{}", said.text("/data/0/id")))
}

fn balance(shop: &Shop) -> i64 {
    let said = shop.get("/v1/balance");
    said.number("/pending/0/amount") + said.number("/available/0/amount")
}

fn movements(dispute: &Said) -> Vec<(String, i64)> {
    let movements = dispute.at("/balance_transactions").as_array().unwrap().iter();
    movements
        .map(|m| {
            assert_eq!(m["source"], dispute.json["id"]);
            (
                m["reporting_category"].as_str().unwrap().to_owned(),
                m["net"].as_i64().unwrap(),
            )
        })
        .collect()
}

#[test]
fn each_card_is_disputed_in_its_own_way() {
    let shop = Shop::open();
    for (token, reason, status, code, withdrawn) in [
        ("createDispute", "fraudulent", "needs_response", Some("10.4"), 2000),
        (
            "createDisputeProductNotReceived",
            "product_not_received",
            "needs_response",
            Some("13.1"),
            2000,
        ),
        ("createDisputeInquiry", "general", "warning_needs_response", None, 0),
    ] {
        let before = balance(&shop);
        let charge = charged(&shop, token);
        assert_eq!(
            (charge.kinds(), charge.at("/disputed").as_bool()),
            (vec!["charge"], Some(true))
        );
        let dispute = dispute_of(&shop, &charge);
        assert_eq!(
            (dispute.text("/reason"), dispute.text("/status")),
            (reason.into(), status.into())
        );
        assert_eq!(
            dispute.at("/payment_method_details/card/network_reason_code").as_str(),
            code
        );
        assert_eq!(dispute.at("/is_charge_refundable").as_bool(), Some(withdrawn == 0));
        assert_eq!(balance(&shop) - before, 2000 - withdrawn);
        let refund = shop.post("/v1/refunds", &format!("charge={}", charge.text("/id")));
        let refused = (400, "charge_disputed");
        let expected = if withdrawn == 0 { (200, "") } else { refused };
        assert_eq!((refund.status, refund.refusal().2), expected);
    }
    assert_eq!(balance(&shop), 0);
}

#[test]
fn evidence_decides() {
    let shop = Shop::open();
    for (words, status, moved, left) in [
        (
            "winning_evidence",
            "won",
            vec![("dispute".to_owned(), -2000), ("dispute_reversal".to_owned(), 2000)],
            2000,
        ),
        ("losing_evidence", "lost", vec![("dispute".to_owned(), -2000)], 0),
        ("It was worn.", "under_review", vec![("dispute".to_owned(), -2000)], 0),
    ] {
        let before = balance(&shop);
        let charge = charged(&shop, "createDispute");
        let path = format!("/v1/disputes/{}", dispute_of(&shop, &charge).text("/id"));
        let kept = shop.post(&path, "evidence[product_description]=A+hat&submit=false&metadata[a]=1");
        assert_eq!(
            (kept.text("/status"), kept.number("/evidence_details/submission_count")),
            ("needs_response".into(), 0)
        );
        assert_eq!(kept.at("/evidence_details/has_evidence").as_bool(), Some(true));
        let said = shop.post(
            &path,
            &format!("evidence[uncategorized_text]={}", words.replace(' ', "+")),
        );
        assert_eq!(
            (said.text("/status"), said.kinds()),
            (status.into(), vec!["dispute_update"]),
            "{words}"
        );
        assert_eq!(said.text("/evidence/product_description"), "A hat");
        assert_eq!(said.number("/evidence_details/submission_count"), 1);
        assert_eq!((movements(&said), balance(&shop) - before), (moved, left));
        let late = shop.post(&path, "evidence[uncategorized_text]=winning_evidence");
        let open = status == "under_review";
        assert_eq!(late.status, if open { 200 } else { 400 });
        let refund = shop.post("/v1/refunds", &format!("charge={}", charge.text("/id")));
        assert_eq!(
            refund.status,
            if status == "lost" { 400 } else { 200 },
            "{}",
            refund.body
        );
    }
    assert_eq!(balance(&shop), 0);
}

#[test]
fn closing_gives_it_up() {
    let shop = Shop::open();
    let charge = charged(&shop, "createDispute");
    let close = |charge: &Said| {
        shop.post(
            &format!("/v1/disputes/{}/close", dispute_of(&shop, charge).text("/id")),
            "",
        )
    };
    let lost = close(&charge);
    assert_eq!(
        (lost.text("/status"), lost.kinds()),
        ("lost".into(), vec!["dispute_close"])
    );
    assert!(lost.at("/evidence_details/due_by").is_null());
    assert_eq!(close(&charge).status, 400);
    assert_eq!(
        close(&charged(&shop, "createDisputeInquiry")).text("/status"),
        "warning_closed"
    );
    assert_eq!(balance(&shop), 2000);
}

#[test]
fn an_inquiry_can_be_escalated_over_what_was_not_refunded() {
    let shop = Shop::open();
    let charge = charged(&shop, "createDisputeInquiry");
    shop.made("/v1/refunds", &format!("charge={}&amount=500", charge.text("/id")));
    let path = format!("/v1/disputes/{}", dispute_of(&shop, &charge).text("/id"));
    let said = shop.post(&path, "evidence[uncategorized_text]=escalate_inquiry_evidence");
    assert_eq!(
        (said.text("/status"), said.number("/amount")),
        ("needs_response".into(), 1500)
    );
    assert_eq!(
        (movements(&said), balance(&shop)),
        (vec![("dispute".to_owned(), -1500)], 0)
    );
    let won = shop.post(&path, "evidence[uncategorized_text]=winning_evidence");
    assert_eq!((won.text("/status"), balance(&shop)), ("won".into(), 1500));
}

#[test]
fn only_what_is_captured_is_disputed() {
    let shop = Shop::open();
    let form = "amount=2000&currency=usd&payment_method=pm_card_createDispute&confirm=true&capture_method=manual";
    let intent = shop.made("/v1/payment_intents", form);
    assert_eq!(shop.get("/v1/disputes").at("/data").as_array().map(Vec::len), Some(0));
    shop.post(
        &format!("/v1/payment_intents/{intent}/capture"),
        "amount_to_capture=1200",
    );
    let dispute = shop.get(&format!("/v1/disputes?payment_intent={intent}&expand[]=data.charge"));
    assert_eq!(
        (
            dispute.number("/data/0/amount"),
            dispute.number("/data/0/charge/amount_captured")
        ),
        (1200, 1200)
    );
    assert_eq!(balance(&shop), 0);
    let unknown = shop.post(&format!("/v1/disputes/{}", dispute.text("/data/0/id")), "evidence[a]=1");
    assert_eq!(
        (unknown.refusal().2, shop.get("/v1/disputes/dp_x").status),
        ("parameter_unknown", 404)
    );
}
