//! The table of settings, and how a row's values reach their field.

use std::path::PathBuf;
use std::time::Duration;

use super::listen::Taken;
use super::value::{count, duration, mechanism, size, switch};
use super::{AllowHost, Config, Given, Listen, Log, Mechanism, Problem, Secret, Seed, StripeWebhook};
use crate::relay::Spec;

/// Describes one setting; flag, variable, file key, default and help follow from it.
#[derive(Debug)]
pub struct Setting {
    /// The name, as a key of the file; `--smtp-auth` and `ACKDROP_SMTP_AUTH` follow from `smtp_auth`.
    pub name: &'static str,
    /// The heading under which `--help` lists it.
    pub group: &'static str,
    /// What stands for the value in `--help`.
    pub value_name: &'static str,
    /// The value where none is given; empty for none.
    pub default: &'static str,
    /// One sentence for a newcomer.
    pub help: &'static str,
    pub(super) kind: Kind,
}

type Field<T> = fn(&mut Config) -> &mut T;

/// Says what is allowed, and which field gets it.
#[derive(Debug)]
pub(super) enum Kind {
    Listeners(Field<Vec<Listen>>),
    Faults(Field<Vec<Given>>),
    Relays(Field<Vec<Spec>>),
    Mechanisms(Field<Vec<Mechanism>>),
    Names(Field<Vec<String>>),
    Webhooks(Field<Vec<StripeWebhook>>),
    Hosts(Field<Vec<AllowHost>>),
    Path(Field<Option<PathBuf>>),
    Seed(Field<Option<Seed>>),
    Secret(Field<Option<Secret>>),
    Log(Field<Log>),
    Switch(Field<bool>),
    Count {
        least: u64,
        field: Field<u64>,
    },
    Size {
        least: u64,
        field: Field<u64>,
    },
    /// A time that is longer than nothing.
    Time(Field<Duration>),
    /// A time that may be nothing.
    Lag(Field<Duration>),
}

/// Every setting there is, in the order of `--help`.
#[rustfmt::skip]
pub static SETTINGS: &[Setting] = &[
    row("http", LISTENERS, "ADDR", "127.0.0.1:8080", "Listen for HTTP: the providers, and the admin API under /_… Repeatable; `off` turns it off, port 0 takes a free one", Kind::Listeners(|c| &mut c.http)),
    row("https", LISTENERS, "ADDR", "127.0.0.1:8443", "Listen for HTTPS: the same, with a certificate for any name from the suite's own CA", Kind::Listeners(|c| &mut c.https)),
    row("smtp", LISTENERS, "ADDR", "127.0.0.1:1025", "Listen for SMTP: a sink that takes every mail", Kind::Listeners(|c| &mut c.smtp)),
    row("smtps", LISTENERS, "ADDR", "127.0.0.1:1465", "Listen for SMTP inside TLS", Kind::Listeners(|c| &mut c.smtps)),
    row("relay", LISTENERS, "RELAY", "", "Relay to a real provider, counted and with faults: name=LISTEN,UPSTREAM[;option=value]…, as in pay=127.0.0.1:9000,https://api.example.com. Repeatable", Kind::Relays(|c| &mut c.relays)),
    row("upstream_ca", LISTENERS, "FILE", "", "Let relays trust the certificates of this PEM file too, beside the public authorities", Kind::Path(|c| &mut c.upstream_ca)),
    row("allow_host", GENERAL, "HOST", "", "Let clients of the forward proxy through to this host (a name, an address, or *.example.com); any other host that the suite does not play is refused. Repeatable", Kind::Hosts(|c| &mut c.allow_host)),
    row("fault", GENERAL, "RULE", "", "Arm a fault rule, as JSON or as 'drop-after-commit; how=reset; on=1'. Repeatable; the file's rules, flags' and the environment's are all armed, in this order", Kind::Faults(|c| &mut c.faults)),
    row("seed", GENERAL, "FILE", "", "Let every scope begin with the objects of this TOML or JSON file, such as a customer cus_123; a reset makes them anew", Kind::Seed(|c| &mut c.seed)),
    row("config", GENERAL, "FILE", "", "Read settings from this TOML file; its keys are these flags' names with _ for -", Kind::Path(|c| &mut c.config)),
    row("ca", GENERAL, "DIR", "", "Keep the certificate authority in this folder, as ca.pem and ca.key; without it a new one is made at each start", Kind::Path(|c| &mut c.ca)),
    row("log", GENERAL, "FORM", "text", "Log to standard error as text, json or off", Kind::Log(|c| &mut c.log)),
    row("smtp_auth", PROVIDERS, "LIST", "plain,login", "Offer these logins, any password is right: plain, login, cram-md5, xoauth2; `off` offers none", Kind::Mechanisms(|c| &mut c.smtp_auth)),
    row("smtp_starttls", PROVIDERS, "BOOL", "false", "Offer STARTTLS on the SMTP listener", Kind::Switch(|c| &mut c.smtp_starttls)),
    row("orders_require_key", PROVIDERS, "BOOL", "false", "Refuse an order without an Idempotency-Key (400)", Kind::Switch(|c| &mut c.orders_require_key)),
    row("stripe_search_lag", PROVIDERS, "TIME", "0s", "Let Stripe's search find what was written only so long after, on the scope's clock; lists and look-ups find it at once", Kind::Lag(|c| &mut c.stripe_search_lag)),
    row("stripe_webhook", PROVIDERS, "URL", "", "Deliver Stripe's events here, in every scope: URL[;secret=whsec_…][;events=charge.succeeded,…]. Repeatable; a secret that is not given is made, and printed", Kind::Webhooks(|c| &mut c.stripe_webhook)),
    row("admin_token", ADMIN, "TOKEN", "", "Ask for this token, as `Authorization: Bearer …`, on every admin call", Kind::Secret(|c| &mut c.admin_token)),
    row("admin_host", ADMIN, "HOST", "", "Accept admin changes under this host name too, besides IPs, localhost and local names. Repeatable", Kind::Names(|c| &mut c.admin_host)),
    row("deliver_host", ADMIN, "HOST", "", "Let deliveries go to this host too, by name or address, besides loopback and private addresses. Repeatable", Kind::Names(|c| &mut c.deliver_host)),
    row("journal_entries", LIMITS, "COUNT", "100000", "Keep this many attempts in the journal; counts never forget", Kind::Count { least: 0, field: |c| &mut c.limits.journal_entries }),
    row("body_memory", LIMITS, "SIZE", "256MiB", "Keep this much of recorded bodies, mails and deliveries", Kind::Size { least: 0, field: |c| &mut c.limits.body_memory }),
    row("arriving_memory", LIMITS, "SIZE", "256MiB", "Hold this much of bodies that are still arriving; past it 503 or 452", Kind::Size { least: 1, field: |c| &mut c.limits.arriving_memory }),
    row("http_body", LIMITS, "SIZE", "10MiB", "Take HTTP bodies up to this size; past it 413", Kind::Size { least: 1, field: |c| &mut c.limits.http_body }),
    row("mail_size", LIMITS, "SIZE", "50MiB", "Take mails up to this size; past it 552", Kind::Size { least: 1, field: |c| &mut c.limits.mail_size }),
    row("connections", LIMITS, "COUNT", "10000", "Keep this many connections open at once", Kind::Count { least: 1, field: |c| &mut c.limits.connections }),
    row("idle_timeout", LIMITS, "TIME", "5m", "Close a connection that is silent for so long", Kind::Time(|c| &mut c.limits.idle_timeout)),
    row("hang_cap", LIMITS, "TIME", "30m", "End a hang or a hold after so long", Kind::Time(|c| &mut c.limits.hang_cap)),
];

const LISTENERS: &str = "Listeners";
const GENERAL: &str = "Suite";
const PROVIDERS: &str = "Providers";
const ADMIN: &str = "Admin";
const LIMITS: &str = "Limits";

const fn row(
    name: &'static str,
    group: &'static str,
    value_name: &'static str,
    default: &'static str,
    help: &'static str,
    kind: Kind,
) -> Setting {
    Setting {
        name,
        group,
        value_name,
        default,
        help,
        kind,
    }
}

impl Setting {
    /// Says whether it may be given several times.
    #[must_use]
    pub fn many(&self) -> bool {
        matches!(
            self.kind,
            Kind::Listeners(_)
                | Kind::Faults(_)
                | Kind::Relays(_)
                | Kind::Mechanisms(_)
                | Kind::Names(_)
                | Kind::Hosts(_)
                | Kind::Webhooks(_)
        )
    }

    /// Says whether the bare flag means `true`.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        matches!(self.kind, Kind::Switch(_))
    }

    /// Says whether the values of all sources count, and not only those of the first source that has any.
    pub(super) fn adds_up(&self) -> bool {
        matches!(self.kind, Kind::Faults(_))
    }
}

impl Kind {
    /// Writes the values to the field, or reports what is wrong with them.
    pub(super) fn apply(&self, config: &mut Config, values: &[Given], taken: &mut Taken, problems: &mut Vec<Problem>) {
        match self {
            Self::Listeners(field) => {
                for (listen, source) in each(values, problems, Listen::parse) {
                    match taken.claim(listen, source) {
                        Ok(()) => field(config).push(listen),
                        Err(problem) => problems.push(problem),
                    }
                }
            }
            Self::Relays(field) => {
                for (spec, source) in each(values, problems, |text| Spec::parse(text).map_err(|e| e.to_string())) {
                    let named = field(config).iter().any(|other| other.name == spec.name);
                    let twice = named
                        .then(|| Problem::new(source.clone(), format!("there is a relay `{}` already", spec.name)));
                    match twice.map_or_else(|| taken.claim(spec.listen, source), Err) {
                        Ok(()) => field(config).push(spec),
                        Err(problem) => problems.push(problem),
                    }
                }
            }
            Self::Faults(field) => field(config).extend_from_slice(values),
            Self::Mechanisms(field) => {
                let names = split_lists(values);
                let chosen = each(&names, problems, mechanism);
                for (mechanism, _) in chosen {
                    if !field(config).contains(&mechanism) {
                        field(config).push(mechanism);
                    }
                }
            }
            Self::Names(field) => {
                let named = each(values, problems, host_name);
                field(config).extend(named.into_iter().map(|(name, _)| name));
            }
            Self::Webhooks(field) => {
                let read = each(values, problems, StripeWebhook::parse);
                field(config).extend(read.into_iter().map(|(webhook, _)| webhook));
            }
            Self::Hosts(field) => {
                let allowed = each(values, problems, str::parse);
                field(config).extend(allowed.into_iter().map(|(host, _)| host));
            }
            Self::Path(field) => one(values, problems, field(config), |text| {
                not_empty(text).map(|text| Some(PathBuf::from(text)))
            }),
            Self::Seed(field) => one(values, problems, field(config), |text| {
                Seed::read(not_empty(text)?).map(Some)
            }),
            Self::Secret(field) => one(values, problems, field(config), |text| {
                not_empty(text).map(|text| Some(Secret::new(text.to_owned())))
            }),
            Self::Log(field) => one(values, problems, field(config), Log::parse),
            Self::Switch(field) => one(values, problems, field(config), switch),
            Self::Count { least, field } => {
                one(values, problems, field(config), |text| at_least(*least, count(text)?));
            }
            Self::Size { least, field } => {
                one(values, problems, field(config), |text| at_least(*least, size(text)?));
            }
            Self::Lag(field) => one(values, problems, field(config), duration),
            Self::Time(field) => one(values, problems, field(config), |text| match duration(text)? {
                Duration::ZERO => Err("must be longer than nothing".to_owned()),
                time => Ok(time),
            }),
        }
    }
}

/// Reads every value of a list. `off` alone is the empty list.
fn each<'a, T>(
    values: &'a [Given],
    problems: &mut Vec<Problem>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Vec<(T, &'a super::Source)> {
    let mut read = Vec::new();
    for value in values {
        let result = match (value.text.as_str(), values.len()) {
            ("off", 1) => continue,
            ("off", _) => Err("`off` stands beside other values; give it alone".to_owned()),
            (text, _) => parse(text),
        };
        match result {
            Ok(good) => read.push((good, &value.source)),
            Err(message) => problems.push(Problem::new(value.source.clone(), message)),
        }
    }
    read
}

fn one<T>(values: &[Given], problems: &mut Vec<Problem>, field: &mut T, parse: impl Fn(&str) -> Result<T, String>) {
    match values {
        [] => {}
        [value] => match parse(&value.text) {
            Ok(good) => *field = good,
            Err(message) => problems.push(Problem::new(value.source.clone(), message)),
        },
        [_, second, ..] => {
            problems.push(Problem::new(second.source.clone(), "takes one value, not several"));
        }
    }
}

fn split_lists(values: &[Given]) -> Vec<Given> {
    let names = |value: &Given| {
        let source = value.source.clone();
        let texts: Vec<String> = value.text.split(',').map(|name| name.trim().to_owned()).collect();
        texts.into_iter().map(move |text| Given {
            text,
            source: source.clone(),
        })
    };
    values.iter().flat_map(names).collect()
}

fn not_empty(text: &str) -> Result<&str, String> {
    if text.is_empty() {
        Err("must not be empty".to_owned())
    } else {
        Ok(text)
    }
}

fn host_name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    if text.is_empty() || !text.chars().all(fits) {
        return Err(format!("`{text}` is no host name; write it without scheme and port"));
    }
    Ok(text.to_ascii_lowercase())
}

fn at_least(least: u64, number: u64) -> Result<u64, String> {
    if number < least {
        Err(format!("must be at least {least}"))
    } else {
        Ok(number)
    }
}
