//! Precedence, and all problems together.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::{Config, Log, Mechanism, Origin, Raw, SETTINGS, Setting};

fn raw(flags: &[(&'static str, &[&str])], env: &[(&str, &str)], file: &str) -> Raw {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Raw {
        flags: flags.iter().map(|(name, values)| (*name, owned(values))).collect(),
        env: env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        file: Some((PathBuf::from("ackdrop.toml"), file.to_owned())),
    }
}

fn problems(raw: &Raw) -> Vec<String> {
    let problems = Config::validate(raw).expect_err("is wrong");
    problems.as_slice().iter().map(ToString::to_string).collect()
}

/// Returns three values that differ from each other and from the default.
fn samples(setting: &Setting) -> [&'static str; 3] {
    match (setting.value_name, setting.name) {
        ("ADDR", _) => ["127.0.0.1:0", "[::1]:0", ":0"],
        ("BOOL", _) => ["true", "true", "true"],
        ("LIST", _) => ["cram-md5", "xoauth2", "login"],
        ("FORM", _) => ["json", "off", "json"],
        ("COUNT", _) => ["11", "12", "13"],
        ("SIZE", _) => ["11KiB", "12MB", "13"],
        ("TIME", _) => ["11ms", "12s", "13m"],
        ("URL", _) => ["http://a", "http://b;events=charge.failed", "http://c"],
        ("RULE", _) => ["pass", "refuse; status=402", r#"{"mode":"pass"}"#],
        ("RELAY", _) => ["a=:0,http://x", "b=:0,http://x", "c=:0,https://x"],
        // It is read at once: any file of TOML will do here.
        (_, "seed") => [
            concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
            concat!(env!("CARGO_MANIFEST_DIR"), "/.deny.toml"),
            concat!(env!("CARGO_MANIFEST_DIR"), "/.rustfmt.toml"),
        ],
        _ => ["one", "two", "three"],
    }
}

/// Writes one setting of a configuration as text, whatever its kind.
fn shown(setting: &Setting, raw: &Raw) -> String {
    let config = Config::validate(raw).unwrap_or_else(|problems| panic!("{problems}"));
    match setting.name {
        "http" => format!("{:?}", config.http),
        "https" => format!("{:?}", config.https),
        "smtp" => format!("{:?}", config.smtp),
        "smtps" => format!("{:?}", config.smtps),
        "relay" => format!(
            "{:?}",
            config.relays.iter().map(|relay| &relay.name).collect::<Vec<_>>()
        ),
        "upstream_ca" => format!("{:?}", config.upstream_ca),
        "fault" => format!("{:?}", config.faults.iter().map(|rule| &rule.text).collect::<Vec<_>>()),
        "config" => format!("{:?}", config.config),
        "seed" => format!("{:?}", config.seed.map(|seed| seed.path)),
        "ca" => format!("{:?}", config.ca),
        "log" => format!("{:?}", config.log),
        "smtp_auth" => format!("{:?}", config.smtp_auth),
        "smtp_starttls" => format!("{:?}", config.smtp_starttls),
        "orders_require_key" => format!("{:?}", config.orders_require_key),
        "stripe_search_lag" => format!("{:?}", config.stripe_search_lag),
        "allow_host" => format!("{:?}", config.allow_host),
        "stripe_webhook" => format!("{:?}", config.stripe_webhook),
        "admin_token" => format!("{:?}", config.admin_token.as_ref().map(super::Secret::reveal)),
        "deliver_host" => format!("{:?}", config.deliver_host),
        "admin_host" => format!("{:?}", config.admin_host),
        "journal_entries" => format!("{:?}", config.limits.journal_entries),
        "body_memory" => format!("{:?}", config.limits.body_memory),
        "arriving_memory" => format!("{:?}", config.limits.arriving_memory),
        "http_body" => format!("{:?}", config.limits.http_body),
        "mail_size" => format!("{:?}", config.limits.mail_size),
        "connections" => format!("{:?}", config.limits.connections),
        "idle_timeout" => format!("{:?}", config.limits.idle_timeout),
        "hang_cap" => format!("{:?}", config.limits.hang_cap),
        other => panic!("a new setting, {other}, needs its line here"),
    }
}

#[test]
fn every_setting_by_flag_environment_and_file_in_this_order() {
    for setting in SETTINGS {
        let [flag, env, file] = samples(setting);
        let variable = format!("ACKDROP_{}", setting.name.to_ascii_uppercase());
        let key = format!("{} = {file:?}", setting.name);
        // A file cannot name itself.
        let key = if setting.name == "config" { "" } else { &key };
        let value = |text: &'static str| shown(setting, &raw(&[(setting.name, &[text])], &[], ""));
        let (by_flag, by_env, by_file) = (value(flag), value(env), value(file));
        let default = shown(setting, &Raw::default());

        assert_ne!(by_flag, default, "{}: the sample is not the default", setting.name);
        assert_eq!(shown(setting, &raw(&[], &[(&variable, env)], "")), by_env, "{variable}");
        if !key.is_empty() {
            assert_eq!(shown(setting, &raw(&[], &[], key)), by_file, "{key}");
        }
        if setting.adds_up() {
            continue;
        }
        let all = raw(&[(setting.name, &[flag])], &[(&variable, env)], key);
        assert_eq!(shown(setting, &all), by_flag, "{}: flag wins", setting.name);
        assert_eq!(
            shown(setting, &raw(&[], &[(&variable, env)], key)),
            by_env,
            "{variable} wins"
        );
    }
}

#[test]
fn the_defaults() {
    let config = Config::default();
    let addresses = [&config.http, &config.https, &config.smtp, &config.smtps]
        .map(|listeners| (listeners[0].addr.to_string(), listeners[0].both_loopbacks));
    let expected = ["127.0.0.1:8080", "127.0.0.1:8443", "127.0.0.1:1025", "127.0.0.1:1465"];
    assert_eq!(addresses, expected.map(|addr| (addr.to_owned(), true)));
    assert_eq!(config.log, Log::Text);
    assert_eq!(config.smtp_auth, [Mechanism::Plain, Mechanism::Login]);
    let limits = &config.limits;
    assert_eq!((limits.journal_entries, limits.connections), (100_000, 10_000));
    assert_eq!((limits.body_memory, limits.arriving_memory), (256 << 20, 256 << 20));
    assert_eq!((limits.http_body, limits.mail_size), (10 << 20, 50 << 20));
    let minutes = Duration::from_secs(60);
    assert_eq!((limits.idle_timeout, limits.hang_cap), (5 * minutes, 30 * minutes));
    assert!(config.faults.is_empty() && config.ca.is_none() && config.admin_token.is_none());
    assert!(!config.smtp_starttls && !config.orders_require_key);
}

#[test]
fn all_problems_are_reported_together_with_their_sources() {
    let raw = raw(
        &[("http", &["127.0.0.1:0", "nowhere"]), ("log", &["loud"])],
        &[
            ("ACKDROP_HTTPS", "off\n:0"),
            ("ACKDROP_CONNECTIONS", "0"),
            ("ACKDROP_JURNAL_ENTRIES", "5"),
            ("ACKDROP_URL", "http://localhost:1"),
            ("ACKDROP_PORT", "tcp://10.0.0.1:8080"),
            ("ACKDROP_PORT_8080_TCP", "tcp://10.0.0.1:8080"),
            ("ACKDROP_SERVICE_HOST", "10.0.0.1"),
            ("ACKDROP_SCOPE", "alice"),
        ],
        "smtp = \"1025\"\nidle_timeout = 5\nmail-size = 1\nbody_memory = [1]\nnothing_like_it = 1\nconfig = \"x\"",
    );
    insta::assert_snapshot!(problems(&raw).join("\n"), @"
    ACKDROP_JURNAL_ENTRIES: is no variable that ackdrop knows; did you mean ACKDROP_JOURNAL_ENTRIES?
    ackdrop.toml: body_memory: must be one plain value, not an array
    ackdrop.toml: config: a file cannot name another; use --config
    ackdrop.toml: mail-size: is no key that ackdrop knows; did you mean mail_size?
    ackdrop.toml: nothing_like_it: is no key that ackdrop knows; `ackdrop serve --help` lists all, such as --http
    --http #2: `nowhere` is no address; write IP:PORT, localhost:PORT, :PORT for all interfaces, or off
    ACKDROP_HTTPS line 1: `off` stands beside other values; give it alone
    ackdrop.toml: smtp: `1025` is no address (127.0.0.1:1025 for this machine only, :1025 for all interfaces); write IP:PORT, localhost:PORT, :PORT for all interfaces, or off
    --log: `loud` is none of text, json, off
    ACKDROP_CONNECTIONS: must be at least 1
    ackdrop.toml: idle_timeout: `5` is not a duration: a whole number and a unit, like 250ms, 2s, 5m, 1h
    ");
}

#[test]
fn a_file_that_is_no_toml_is_named_with_its_line() {
    let said = problems(&raw(&[], &[], "http = \":0\"\nsmtp = = 2\n"));
    assert!(said[0].starts_with("ackdrop.toml: line 2: "), "{said:?}");
    assert_eq!(said.len(), 1);
}

#[test]
fn lists_replace_each_other_but_rules_add_up_in_the_order_of_their_sources() {
    let file = "http = [\":0\", \"[::1]:0\"]\nfault = [\"pass\", {mode = \"refuse\", status = 402}]";
    let flags: &[(&'static str, &[&str])] = &[("http", &["127.0.0.1:0"]), ("fault", &["a"])];
    let config = Config::validate(&raw(flags, &[("ACKDROP_FAULT", "b\n\n  c\n")], file)).unwrap();
    assert_eq!(config.http.len(), 1);
    let rules: Vec<_> = config
        .faults
        .iter()
        .map(|rule| (rule.text.as_str(), rule.source.to_string()))
        .collect();
    let expected = [
        ("pass", "ackdrop.toml: fault #1"),
        (r#"{"mode":"refuse","status":402}"#, "ackdrop.toml: fault #2"),
        ("a", "--fault"),
        ("b", "ACKDROP_FAULT line 1"),
        ("c", "ACKDROP_FAULT line 2"),
    ];
    assert_eq!(rules, expected.map(|(text, source)| (text, source.to_owned())));
    assert_eq!(config.faults[3].source.origin, Origin::Environment);
}

#[test]
fn listeners_can_be_repeated_and_turned_off() {
    let env = [
        ("ACKDROP_HTTP", ":0\n127.0.0.1:0"),
        ("ACKDROP_SMTP", "off"),
        ("ACKDROP_HTTPS", " "),
    ];
    let config = Config::validate(&raw(&[], &env, "smtps = []")).unwrap();
    assert_eq!((config.http.len(), config.smtp.len(), config.smtps.len()), (2, 0, 0));
    assert_eq!(config.https.len(), 1, "an empty variable is an unset one");
}

#[test]
fn a_suite_without_a_listener_is_refused() {
    let off: &[&str] = &["off"];
    let flags = [("http", off), ("https", off), ("smtp", off), ("smtps", off)];
    let said = problems(&raw(&flags, &[], ""));
    assert_eq!(
        said,
        ["--http: every listener is off: leave at least one of http, https, smtp and smtps on"]
    );
}

#[test]
fn two_listeners_that_want_one_address_are_refused() {
    let said = problems(&raw(&[("http", &[":1025"])], &[], ""));
    assert_eq!(said, ["default of --smtp: 127.0.0.1:1025 is wanted by --http too"]);
}

#[test]
fn a_token_is_never_shown() {
    let config = Config::validate(&raw(&[("admin_token", &["hunter2"])], &[], "")).unwrap();
    assert!(!format!("{config:?}").contains("hunter2"));
    let said = problems(&raw(&[("admin_token", &["hunter2", "hunter3"])], &[], ""));
    assert_eq!(said, ["--admin-token #2: takes one value, not several"]);
}

#[test]
fn the_named_file_is_read_and_a_missing_one_is_a_problem_beside_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ackdrop.toml");
    std::fs::write(&path, "log = \"json\"").unwrap();
    let flags = |path: &str| BTreeMap::from([("config", vec![path.to_owned()])]);
    let env = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
    let path = path.to_str().unwrap();
    let config = Config::load(flags(path), BTreeMap::new()).unwrap();
    assert_eq!((config.log, config.config), (Log::Json, Some(PathBuf::from(path))));
    assert_eq!(
        Config::load(BTreeMap::new(), env("ACKDROP_CONFIG", path)).unwrap().log,
        Log::Json
    );

    let said = Config::load(flags("/nowhere.toml"), env("ACKDROP_LOG", "loud"))
        .unwrap_err()
        .to_string();
    let lines: Vec<_> = said.lines().collect();
    assert!(lines[0].starts_with("--config: cannot read /nowhere.toml: "), "{said}");
    assert_eq!(lines[1], "ACKDROP_LOG: `loud` is none of text, json, off");
}
