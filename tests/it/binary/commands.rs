//! The commands that talk to a running suite.

use serde_json::Value;

use super::{Served, ackdrop, run};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn stats_and_events_tell_what_really_happened() {
    let served = Served::start(&["--log", "off"], &[]);
    let (code, out, _) = served.ask(&["stats"]);
    assert!(code == 0 && out.starts_with("No attempt has arrived."), "{out}");
    served.ask(&["faults", "add", "drop-after-commit; how=reset; on=1"]);
    served.order("order-17");
    served.order("order-17");
    let (code, out, err) = served.ask(&["stats"]);
    assert_eq!((code, err.as_str()), (0, ""));
    for words in [
        "orders.create",
        "received",
        "withheld",
        "order 1",
        "faults      0 armed, 1 fired",
        "(generation 1)",
    ] {
        assert!(out.contains(words), "{words} is missing in\n{out}");
    }
    let (code, out, _) = served.ask(&["stats", "--json"]);
    assert_eq!((code, json(&out)["effects"]["order"].as_u64()), (0, Some(1)));
    assert_eq!(
        json(&served.ask(&["stats", "--json", "--scope", "alice"]).1)["total"]["received"],
        0
    );

    let (code, out, _) = served.ask(&["events"]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!((code, lines.len()), (0, 2));
    assert!(
        lines[0].ends_with("Z orders orders.create key=order-17 accepted withheld(reset) fault=f1"),
        "{out}"
    );
    assert!(
        lines[1].ends_with("Z orders orders.create key=order-17 refused answered"),
        "{out}"
    );
    let (_, out, _) = served.ask(&["events", "--json"]);
    let events = json(&out);
    assert_eq!(events["events"].as_array().unwrap().len(), 2);
    assert_eq!(events["events"][0]["outcome"], "accepted");
}

#[test]
fn more_events_than_one_page_are_all_shown() {
    let served = Served::start(&["--log", "off"], &[]);
    let mut stream = std::net::TcpStream::connect(served.addr("http")).unwrap();
    let request = b"OPTIONS /hooks/t HTTP/1.1\r\nhost: x\r\n\r\n".repeat(1_234);
    std::io::Write::write_all(&mut stream, &request).unwrap();
    std::io::Write::write_all(
        &mut stream,
        b"OPTIONS /hooks/t HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    )
    .unwrap();
    drop(std::io::Read::read_to_end(&mut stream, &mut Vec::new()));
    let (code, out, _) = served.ask(&["events"]);
    assert_eq!((code, out.lines().count()), (0, 1_235));
}

#[test]
fn a_reset_begins_at_zero() {
    let served = Served::start(&["--log", "off"], &[]);
    served.order("a");
    assert_eq!(served.ask(&["reset"]), (0, "reset\n".to_owned(), String::new()));
    assert_eq!(json(&served.ask(&["stats", "--json"]).1)["generation"], 2);
    assert!(served.order("a").starts_with("HTTP/1.1 201"));
    assert_eq!(
        json(&served.ask(&["reset", "--json", "--scope", "alice"]).1)["scope"],
        "alice"
    );
    assert!(served.order("a").starts_with("HTTP/1.1 409"), "another scope's reset");
}

#[test]
fn the_certificate_is_printed_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let ca = dir.path().to_str().unwrap();
    let served = Served::start(&["--ca", ca], &[]);
    let (code, out, how) = served.ask(&["ca"]);
    for client in ["Node", "Python", "Java", "curl", "Go", "Docker"] {
        assert!(how.contains(&format!("  {client} ")), "{how}");
    }
    assert_eq!(code, 0);
    assert_eq!(out, std::fs::read_to_string(dir.path().join("ca.pem")).unwrap());
    assert_eq!(run(&mut ackdrop(&["ca", "--ca", ca])).1, out);
    assert_eq!(json(&served.ask(&["ca", "--json"]).1)["pem"], out.as_str());
}

#[test]
fn where_no_suite_is_every_command_says_so() {
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let url = format!("http://{free}");
    for command in ["stats", "events", "reset", "ca", "holds", "faults"] {
        let (code, out, err) = run(&mut ackdrop(&[command, "--url", &url]));
        assert_eq!((code, out.as_str()), (2, ""), "{command}");
        assert!(
            err.starts_with(&format!("ackdrop: cannot reach {url}: Connection refused")),
            "{err}"
        );
        assert_eq!(err.lines().count(), 1);
    }
    let (code, out, _) = run(&mut ackdrop(&["ready", "--url", &url]));
    assert_eq!(code, 1);
    assert!(out.starts_with("not ready: cannot reach"), "{out}");
    let (code, _, err) = run(&mut ackdrop(&["stats", "--url", "localhost:8080"]));
    assert!(code == 2 && err.contains("write http://HOST:PORT"), "{err}");
}

#[test]
fn a_suite_with_a_token_is_asked_with_it() {
    let served = Served::start(&["--admin-token", "t0k", "--log", "off"], &[]);
    let (code, _, err) = served.ask(&["stats"]);
    assert_eq!(code, 1);
    assert!(err.contains("--admin-token") && !err.contains("t0k"), "{err}");
    assert_eq!(served.ask(&["stats", "--token", "t0k"]).0, 0);
    assert_eq!(served.ask(&["ready"]).0, 0, "health checks have no token");
    let (code, _, err) = served.ask(&["stats", "--token", "wrong"]);
    assert!(code == 1 && err.contains("token"), "{err}");
}

#[test]
fn a_delivery_is_a_table_and_its_exit_code_says_whether_all_was_accepted() {
    let served = Served::start(&["--log", "off"], &[]);
    let url = format!("http://{}/hooks/orders", served.addr("http"));
    let event = r#"{"object": "event", "id": "evt_1"}"#;
    let line = [
        "deliver",
        &url,
        "--body",
        event,
        "--copies",
        "3",
        "--sign",
        "stripe:whsec_x",
    ];
    let (code, out, err) = served.ask(&line);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!((code, err.as_str(), lines.len()), (0, "", 5), "{out}");
    assert!(lines[1].contains("200") && lines[1].contains("accepted"), "{out}");
    assert!(lines[4].starts_with("3 copies: 3 accepted; released within"), "{out}");
    let stats = json(&served.ask(&["stats", "--json"]).1);
    for provider in ["deliveries", "webhook"] {
        let counts = &stats["providers"][provider];
        assert_eq!(
            (&counts["accepted"], &counts["duplicates"]),
            (&3.into(), &2.into()),
            "{provider}"
        );
    }
    let nowhere = format!("http://{}/nowhere", served.addr("http"));
    let (code, out, _) = served.ask(&["deliver", &nowhere, "--body", "-"]);
    assert!(code == 1 && out.contains("404") && out.contains("1 refused"), "{out}");
    let (code, out, err) = served.ask(&["deliver", "http://8.8.8.8/"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(
        err.contains("8.8.8.8 is a public address") && err.lines().count() == 1,
        "{err}"
    );
    assert_eq!(served.ask(&["deliver", "http://n8n/", "--sign", "whsec_x"]).0, 2);
}
