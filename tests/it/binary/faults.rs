//! Rules and holds from the command line.

use serde_json::Value;

use super::{FREE_PORTS, Served, ackdrop, run};

#[test]
fn rules_are_added_listed_and_cleared() {
    let served = Served::start(&["--log", "off"], &[]);
    assert_eq!(served.ask(&["faults"]).1, "No rule is armed.\n");
    let (code, out, err) = served.ask(&[
        "faults",
        "add",
        "refuse; provider=orders; key=vip-*; on=1",
        r#"{"mode": "pass", "scope": "alice"}"#,
    ]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("refuse; provider=orders; key=vip-*; on=1"), "{out}");
    served.order("plain");
    let (_, out, _) = served.ask(&["faults", "list"]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(
        lines[0].split_whitespace().collect::<Vec<_>>(),
        ["id", "source", "state", "matched", "fired", "skipped", "rule"]
    );
    assert!(
        lines[1].starts_with("f1  api     armed        0      0        0  refuse;"),
        "{out}"
    );
    assert!(
        out.contains("f1 nearly matched: key should be vip-*, was plain"),
        "{out}"
    );
    assert!(served.order("vip-1").starts_with("HTTP/1.1 422"));
    assert!(
        served
            .ask(&["faults"])
            .1
            .contains("f1  api     spent        1      1        0  refuse;")
    );
    let list: Value = serde_json::from_str(&served.ask(&["faults", "--json"]).1).unwrap();
    assert_eq!(list["faults"][0]["fired"], 1);
    assert_eq!(
        served.ask(&["faults", "clear", "f2"]),
        (0, "cleared f2\n".to_owned(), String::new())
    );
    let (code, _, err) = served.ask(&["faults", "clear", "f2"]);
    assert!(code == 1 && err.starts_with("ackdrop: there is no rule `f2`"), "{err}");
    assert_eq!(served.ask(&["faults", "clear"]).1, "cleared all rules of the API\n");
    assert_eq!(served.ask(&["faults"]).1, "No rule is armed.\n");
}

#[test]
fn a_wrong_rule_is_told_once_and_nothing_is_armed() {
    let served = Served::start(&["--log", "off"], &[]);
    let (code, out, err) = served.ask(&["faults", "add", "pass", "drop-after-commit; how=explode"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(
        err.starts_with("ackdrop: no rule was added: [1].how = \"explode\""),
        "{err}"
    );
    assert!(err.contains("reset"), "{err}");
    assert_eq!(err.matches("explode").count(), 1, "{err}");
    let (code, _, err) = served.ask(&["faults", "add", "how=reset"]);
    assert!(code == 2 && err.contains("names no mode"), "{err}");
    assert_eq!(served.ask(&["faults"]).1, "No rule is armed.\n");
}

#[test]
fn rules_of_flag_environment_and_file_are_armed_in_their_order() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ackdrop.toml");
    std::fs::write(&file, "fault = [\"refuse; provider=orders; status=401; on=1\", { mode = \"refuse\", provider = \"orders\", status = 402, on = 2 }]\n").unwrap();
    let served = Served::start(
        &[
            "--log",
            "off",
            "--config",
            file.to_str().unwrap(),
            "--fault",
            "refuse; provider=orders; status=403; on=3",
        ],
        &[(
            "ACKDROP_FAULT",
            "refuse; provider=orders; status=404; on=4\nrefuse; provider=orders; status=405; on=5",
        )],
    );
    let list: Value = serde_json::from_str(&served.ask(&["faults", "--json"]).1).unwrap();
    let sources: Vec<_> = list["faults"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule["source"].as_str().unwrap())
        .collect();
    assert_eq!(sources, ["file", "file", "flag", "env", "env"]);
    let statuses: Vec<String> = (1..=6)
        .map(|n| served.order(&format!("o{n}"))[9..12].to_owned())
        .collect();
    assert_eq!(statuses, ["401", "402", "403", "404", "405", "201"]);
    served.ask(&["reset"]);
    assert!(served.order("o1").starts_with("HTTP/1.1 401"), "armed again");
}

#[test]
fn what_is_held_is_listed_and_let_go() {
    let served = Served::start(&["--log", "off", "--fault", "hold-after-commit; on=[1, 2]"], &[]);
    assert_eq!(served.ask(&["holds"]).1, "Nothing is held.\n");
    assert_eq!(served.ask(&["holds", "wait", "--timeout", "1ms"]).0, 1);
    std::thread::scope(|scope| {
        for (then, answer) in [
            (&["--then", "answer"][..], "HTTP/1.1 201"),
            (&["--then", "drop", "--how", "reset"], ""),
        ] {
            let held = scope.spawn(|| served.order(then[1]));
            let (code, out, _) = served.ask(&["holds", "wait"]);
            assert!(
                code == 0 && out.contains("orders.create") && out.contains(then[1]) && out.contains("after"),
                "{out}"
            );
            let (_, out, _) = served.ask(&["holds", "--json"]);
            let id = serde_json::from_str::<Value>(&out).unwrap()["holds"][0]["id"]
                .as_str()
                .unwrap()
                .to_owned();
            let mut arguments = vec!["holds", "release", &id];
            arguments.extend(then);
            assert_eq!(served.ask(&arguments).1, format!("released {id}\n"));
            let got = held.join().unwrap();
            assert!(got.starts_with(answer) && got.is_empty() == answer.is_empty(), "{got}");
        }
    });
    let (code, _, err) = served.ask(&["holds", "release", "h9"]);
    assert!(code == 1 && err.contains("nothing is held as `h9`"), "{err}");
}

#[test]
fn a_hold_is_let_go_with_part_of_its_answer() {
    let served = Served::start(&["--log", "off", "--fault", "hold-after-commit; on=1"], &[]);
    std::thread::scope(|scope| {
        let held = scope.spawn(|| served.order("a"));
        served.ask(&["holds", "wait"]);
        let (code, _, err) = served.ask(&["holds", "release", "h1", "--then", "drop", "--how", "truncate"]);
        assert!(code != 0 && err.contains("bytes"), "{err}");
        let (code, _, err) = served.ask(&[
            "holds", "release", "h1", "--then", "drop", "--how", "truncate", "--bytes", "12",
        ]);
        assert_eq!((code, err.as_str()), (0, ""));
        assert_eq!(held.join().unwrap(), "HTTP/1.1 201");
    });
}

#[test]
fn a_rule_from_standard_input() {
    let served = Served::start(&["--log", "off"], &[]);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rules");
    std::fs::write(&file, "refuse; provider=orders; on=1\npass\n").unwrap();
    let (code, _, err) = run(ackdrop(&["faults", "add", "-"])
        .env("ACKDROP_URL", served.url("http"))
        .stdin(std::fs::File::open(file).unwrap()));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(served.order("a").starts_with("HTTP/1.1 422"));
}

#[test]
fn the_usual_ports_are_free_to_move() {
    let mut off = FREE_PORTS;
    for place in [3, 5, 7] {
        off[place] = "off";
    }
    off[1] = "off";
    let (code, _, err) = run(&mut ackdrop(&off));
    assert_eq!(code, 2);
    assert!(err.contains("every listener is off"), "{err}");
}
