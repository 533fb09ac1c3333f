//! `ackdrop serve`: its start, its log, and its end.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use super::{FREE_PORTS, Served, ackdrop, run};

#[test]
fn it_prints_where_it_listens_and_is_ready_then() {
    let served = Served::start(&[], &[]);
    assert_eq!(served.printed[0], concat!("ackdrop ", env!("CARGO_PKG_VERSION")));
    for kind in ["http", "https", "smtp", "smtps"] {
        assert_ne!(served.addr(kind).port(), 0);
        TcpStream::connect(served.addr(kind)).unwrap();
    }
    assert_eq!(served.ask(&["ready"]), (0, "ready\n".to_owned(), String::new()));
    let (code, _, _) = served.terminate();
    assert_eq!(code, 0);
}

#[test]
fn it_ends_within_a_second_whatever_its_clients_do() {
    let served = Served::start(
        &[
            "--fault",
            "drop-after-commit; how=hang; provider=orders",
            "--fault",
            "hold-before-commit; provider=webhook",
        ],
        &[],
    );
    let body = r#"{"reference": "a"}"#;
    let mut hung = TcpStream::connect(served.addr("http")).unwrap();
    hung.write_all(
        format!(
            "POST /orders HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .as_bytes(),
    )
    .unwrap();
    let mut held = TcpStream::connect(served.addr("http")).unwrap();
    held.write_all(b"POST /hooks/t HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\nx")
        .unwrap();
    let mut half = TcpStream::connect(served.addr("http")).unwrap();
    half.write_all(b"POST /orders HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{")
        .unwrap();
    let mail = TcpStream::connect(served.addr("smtp")).unwrap();
    let silent = TcpStream::connect(served.addr("https")).unwrap();
    let (code, listed, _) = served.ask(&["holds", "wait", "--timeout", "20s"]);
    assert!(code == 0 && listed.contains("deliveries.append"), "{listed}");
    let (code, took, log) = served.terminate();
    assert_eq!(code, 0, "{log}");
    assert!(took < Duration::from_secs(1), "{took:?}");
    let mut rest = Vec::new();
    drop(hung.read_to_end(&mut rest));
    assert_eq!(rest, b"");
    drop((held, half, mail, silent));
}

#[test]
fn a_taken_port_says_which_listener_which_address_and_how_to_move_it() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    for (flag, name) in [("--http", "http"), ("--smtps", "smtps")] {
        let mut arguments = FREE_PORTS;
        let place = arguments.iter().position(|argument| *argument == flag).unwrap();
        arguments[place + 1] = &addr;
        let (code, out, err) = run(&mut ackdrop(&arguments));
        assert_eq!((code, out.as_str()), (2, ""));
        assert!(
            err.starts_with(&format!(
                "ackdrop: cannot start: the {name} listener cannot take {addr}: Address already in use"
            )),
            "{err}"
        );
        assert!(
            err.contains(&format!("move it with {flag} ADDR:PORT")) && err.contains(&format!("{flag} off")),
            "{err}"
        );
        assert_eq!(err.lines().count(), 1, "{err}");
    }
}

#[test]
fn every_problem_of_the_settings_is_told_at_once_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ackdrop.toml");
    std::fs::write(&file, "http_body = \"many\"\ncolour = 1\n").unwrap();
    let path = file.to_str().unwrap();
    let (code, out, err) = run(ackdrop(&[
        "serve",
        "--config",
        path,
        "--http",
        "nonsense",
        "--idle-timeout",
        "never",
    ])
    .env("ACKDROP_LOG", "loud")
    .env("ACKDROP_HTPP", "x"));
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.starts_with("ackdrop: the settings are wrong\n"), "{err}");
    for words in [
        "--http: `nonsense` is no address".to_owned(),
        "--idle-timeout: `never`".to_owned(),
        "ACKDROP_LOG: `loud` is none of text, json, off".to_owned(),
        "ACKDROP_HTPP: is no variable that ackdrop knows; did you mean ACKDROP_HTTP".to_owned(),
        format!("{path}: http_body: `many` is no size"),
        format!("{path}: colour"),
    ] {
        assert!(err.contains(&words), "{words} is missing in\n{err}");
    }
    assert_eq!(err.lines().count(), 7, "{err}");
}

#[test]
fn wrong_rules_are_told_all_at_once_with_their_places() {
    let mut arguments = FREE_PORTS.to_vec();
    arguments.extend([
        "--fault",
        "explode",
        "--fault",
        "pass; provider=ordres",
        "--fault",
        "pass",
    ]);
    let (code, _, err) = run(ackdrop(&arguments).env("ACKDROP_FAULT", "refuse; how=reset"));
    assert_eq!(code, 2);
    for words in [
        "--fault #1: ",
        "\"explode\"",
        "drop-after-commit",
        "--fault #2: ",
        "\"ordres\"",
        "orders",
        "ACKDROP_FAULT: ",
        "how",
    ] {
        assert!(err.contains(words), "{words} is missing in\n{err}");
    }
}

#[test]
fn an_unknown_flag_and_an_unknown_command_are_wrong_usage() {
    for arguments in [&["--htpp", "x"][..], &["sats"], &["serve", "now"], &["faults", "add"]] {
        let (code, out, err) = run(&mut ackdrop(arguments));
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}");
        assert!(err.contains("error: ") && err.contains("--help"), "{err}");
    }
    let (_, _, err) = run(&mut ackdrop(&["--htpp", "x"]));
    assert!(err.contains("--http"), "{err}");
    let (code, out, err) = run(&mut ackdrop(&["--help"]));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("Exit codes") && out.contains("--fault"), "{out}");
    assert_eq!(
        run(&mut ackdrop(&["--version"])).1,
        concat!("ackdrop ", env!("CARGO_PKG_VERSION"), "\n")
    );
}

#[test]
fn an_open_admin_api_on_all_interfaces_is_warned_of() {
    let mut served = Served::start(&["--http", "0.0.0.0:0"], &[]);
    assert!(served.log_line().contains("--admin-token"));
}

#[test]
fn the_log_has_one_line_an_attempt() {
    let mut served = Served::start(&["--fault", "drop-after-commit; how=reset; on=1"], &[]);
    assert_eq!(served.order("order-17"), "");
    let line = served.log_line();
    let (time, text) = line.split_once(" orders ").unwrap();
    assert!(time.contains('T') && time.ends_with("INFO"), "{line}");
    assert_eq!(text, "orders.create key=order-17 accepted withheld(reset) fault=f1");
    served.order("a\\nb orders orders.create");
    let line = served.log_line();
    assert!(
        line.ends_with(r#"key="a\nb orders orders.create" accepted answered"#),
        "{line}"
    );
    let (_, _, rest) = served.terminate();
    assert_eq!(rest.lines().count(), 1, "{rest}");
    assert!(rest.contains("stopping"), "{rest}");
}

#[test]
fn the_log_is_json_or_nothing_where_that_is_asked_for() {
    let mut served = Served::start(&["--log", "json"], &[]);
    served.order("a");
    let line: serde_json::Value = serde_json::from_str(&served.log_line()).unwrap();
    assert_eq!(
        line["fields"]["message"],
        "orders orders.create key=a accepted answered"
    );
    let served = Served::start(&[], &[("ACKDROP_LOG", "off")]);
    served.order("a");
    assert_eq!(served.terminate().2, "");
}
