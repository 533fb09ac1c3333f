//! Objects from a seed file and from the command line, and why a rule did not fire.

use std::fs;

use serde_json::Value;

use super::{FREE_PORTS, Served, ackdrop, run};

#[test]
fn a_seed_file_of_either_kind_is_read_and_objects_are_put() {
    let dir = tempfile::tempdir().unwrap();
    let toml = "[stripe.customers.cus_123]\nemail = \"a@example.com\"\n[orders.orders.order-17]\ntotal = 5\n";
    let json = r#"{"stripe": {"customers": {"cus_123": {"email": "a@example.com"}}}, "orders": {"orders": {"order-17": {"total": 5}}}}"#;
    for (name, text) in [("seed.toml", toml), ("seed.json", json)] {
        let file = dir.path().join(name);
        fs::write(&file, text).unwrap();
        let served = Served::start(&["--log", "off"], &[("ACKDROP_SEED", file.to_str().unwrap())]);
        assert!(served.order("order-17").starts_with("HTTP/1.1 409"), "{name}");
        let (code, out, err) = served.ask(&["objects", "put", "stripe/customers/cus_123", r#"{"name": "A"}"#]);
        assert_eq!((code, err.as_str()), (0, ""));
        let put: Value = serde_json::from_str(&out).unwrap();
        assert_eq!((&put["name"], &put["email"]), (&"A".into(), &Value::Null), "replaced");
        let (code, _, err) = served.ask(&["objects", "put", "stripe/payouts/po_1"]);
        assert!(
            code == 1 && err.contains("stripe has no resource `payouts` yet"),
            "{err}"
        );
        assert!(served.ask(&["objects"]).1.contains("stripe/customers/cus_"));
        served.ask(&["reset"]);
        assert!(served.order("order-17").starts_with("HTTP/1.1 409"), "made anew");
    }
}

#[test]
fn a_seed_that_cannot_be_used_ends_the_start() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text, words) in [
        ("seed.json", Some("{\"stripe\": "), &["seed.json", "line 1"][..]),
        ("seed.toml", Some("[stripe\n"), &["seed.toml", "line 1"]),
        ("seed.yaml", Some(""), &["neither .json nor .toml"]),
        ("missing.json", None, &["cannot read", "missing.json"]),
        (
            "two.json",
            Some(r#"{"stripe": {"customers": {"cus_1": {"email": "x"}}, "payouts": {"po_1": {}}}}"#),
            &[
                "the seed is wrong",
                "stripe.customers.cus_1.email = \"x\"",
                "has no resource `payouts` yet",
            ],
        ),
    ] {
        let file = dir.path().join(name);
        if let Some(text) = text {
            fs::write(&file, text).unwrap();
        }
        let (code, out, err) = run(ackdrop(&FREE_PORTS).args(["--seed", file.to_str().unwrap()]));
        assert_eq!((code, out.as_str()), (2, ""), "{name}: {err}");
        for words in words {
            assert!(err.contains(words), "{name}: {err}");
        }
    }
}

#[test]
fn why_a_rule_did_not_fire_is_seen_at_once() {
    let mut served = Served::start(
        &[
            "--fault",
            "drop-after-commit; provider=orders; path=/orders; key=order-*",
        ],
        &[],
    );
    served.order("invoice-1");
    served.call(
        "POST /stripe/v1/charges?key=sk_test_51abc HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
    );
    let (_, list, _) = served.ask(&["faults", "list"]);
    assert!(
        list.contains("f1 nearly matched: key should be order-*, was invoice-1\n"),
        "{list}"
    );
    assert!(
        list.contains("unmatched   1 (no provider has that path)\n            POST /stripe/v1/charges?key=[secret:"),
        "{list}"
    );
    let (_, stats, _) = served.ask(&["stats"]);
    assert!(
        stats.contains("unmatched   1 (no provider has that path)\n            POST /stripe/v1/charges"),
        "{stats}"
    );
    let log = [served.log_line(), served.log_line()].join("\n");
    assert!(
        log.contains("orders orders.create key=invoice-1 accepted answered"),
        "{log}"
    );
    assert!(log.contains("unmatched POST /stripe/v1/charges"), "{log}");
    let (code, _, err) = served.ask(&["faults", "add", "drop-after-commit; operation=charge.create"]);
    assert!(code == 1 && err.contains("did you mean \"charges.create\"?"), "{err}");
}
