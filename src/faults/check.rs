//! Checks what the fields of a rule are together, and makes the rule of them.

use std::time::Duration;

use serde_json::Value;

use super::catalog::{self, Catalog, Protocol, Reach};
use super::condition::{Condition, Field, Wanted};
use super::direction::{self, Direction};
use super::occasion::On;
use super::parse::{Draft, HowName};
use super::problem::Problem;
use super::reader::{Reader, with_suggestion};
use super::rule::{Action, Answer, How, Loss, Mode, Point, RuleSpec, Step, Tamper};
use super::word::Word;
use crate::ledger::Outcome;

/// Fields that only some protocols have.
const OF_PROTOCOLS: [(&str, &[Protocol]); 12] = [
    ("sender", &[Protocol::Smtp]),
    ("recipient", &[Protocol::Smtp]),
    ("subject", &[Protocol::Smtp]),
    ("step", &[Protocol::Smtp, Protocol::Tcp]),
    ("method", &[Protocol::Http]),
    ("path", &[Protocol::Http]),
    ("json", &[Protocol::Http]),
    ("sql", &[Protocol::Postgres]),
    ("after", &[Protocol::Tcp]),
    ("header", &[Protocol::Http, Protocol::Smtp]),
    ("key", &[Protocol::Http, Protocol::Smtp]),
    ("code", &[Protocol::Http, Protocol::Smtp, Protocol::Postgres]),
];
/// Steps that TCP has, and those of them that SMTP has not.
const STEPS_OF_TCP: [Step; 3] = [Step::Connect, Step::Request, Step::Answer];
/// The length of a SQLSTATE.
const SQLSTATE: usize = 5;
/// Outcomes that an attempt can have when rules are asked after the commit.
const OUTCOMES: [Outcome; 5] = [
    Outcome::Accepted,
    Outcome::Replayed,
    Outcome::Refused,
    Outcome::Read,
    Outcome::Unknown,
];

/// How many copies are sent at most, and behind how many others.
const MOST_COPIES: u64 = 100;
/// How long what is reordered waits, if nobody says otherwise.
const REORDERED: Duration = Duration::from_secs(10);
/// How old a stale signature is, if nobody says otherwise: twice what receivers tolerate.
const AGED: Duration = Duration::from_secs(600);

/// Checks provider and operation against what there is, and tells by which protocols a match may come.
pub(super) fn reach(reader: &mut Reader<'_>, draft: &Draft, catalog: &Catalog) -> Reach {
    let provider = draft.pattern(&Field::Provider);
    let mut known = catalog.named(provider);
    if let Some(provider) = provider
        && known.is_empty()
    {
        let names = catalog.provider_names();
        let why = with_suggestion("unknown provider", provider.as_str(), names.iter().copied());
        reader.report_allowing("provider", why, names);
        return Reach::ANY;
    }
    if let Some(operation) = draft.pattern(&Field::Operation) {
        let mut all: Vec<&str> = known
            .iter()
            .flat_map(|known| known.operations.iter().map(String::as_str))
            .collect();
        let of_itself = known.iter().any(|known| known.has_unasked(operation));
        known.retain(|known| known.has_operation(operation));
        if known.is_empty() && of_itself {
            let why = "is what the provider does of itself: no client asks for it, so that no rule can meet it";
            all.sort_unstable();
            all.dedup();
            reader.report_allowing("operation", why, all);
            return Reach::ANY;
        }
        if known.is_empty() {
            all.sort_unstable();
            all.dedup();
            let what = match provider {
                Some(provider) => format!("provider {:?} has no such operation", provider.as_str()),
                None => "no provider has such an operation".to_owned(),
            };
            let why = with_suggestion(&what, operation.as_str(), all.iter().copied());
            reader.report_allowing("operation", why, all);
            return Reach::ANY;
        }
    }
    catalog::reach(&known)
}

/// Checks the draft and makes the rule.
pub(super) fn finish(mut reader: Reader<'_>, draft: Draft, reach: Reach) -> Result<RuleSpec, Vec<Problem>> {
    let direction = direction::check(&mut reader, &draft, reach);
    let reach = check_protocol(&mut reader, &draft, reach);
    check_status(&mut reader, &draft, reach);
    let point = draft.mode.map(|mode| {
        check_fields_of_mode(&mut reader, &draft, mode, reach);
        let point = point_of(mode, &draft, direction);
        check_step(&mut reader, &draft, mode, point, reach);
        check_outcome(&mut reader, &draft, point);
        (mode, point)
    });
    let problems = reader.into_problems();
    match point {
        Some((mode, point)) if problems.is_empty() => Ok(build(draft, mode, point, direction)),
        _ => Err(problems),
    }
}

/// Refuses fields that no match can have, and narrows the reach by those that only some protocols have.
fn check_protocol(reader: &mut Reader<'_>, draft: &Draft, reach: Reach) -> Reach {
    let mut narrowed = reach;
    let mut narrowed_by = None;
    for (field, protocols) in OF_PROTOCOLS {
        if !reader.has(field) {
            continue;
        }
        let words = || {
            protocols
                .iter()
                .map(|protocol| protocol.word())
                .collect::<Vec<_>>()
                .join(" and ")
        };
        if field == "sql" && !reach.postgres {
            reader.report(field, "sql matches only behind a PostgreSQL relay");
        } else if reach.among(protocols).is_nothing() && !reach.words().is_empty() {
            let why = format!(
                "belongs to {}, and what this rule names speaks {}",
                words(),
                reach.words()
            );
            reader.report(field, why);
        } else if narrowed.among(protocols).is_nothing() && !narrowed.words().is_empty() {
            let other = narrowed_by.unwrap_or_default();
            let why = format!(
                "belongs to {} and {other} to {}: no attempt has both",
                words(),
                narrowed.words()
            );
            reader.report(field, why);
        } else if narrowed.among(protocols) != narrowed {
            narrowed = narrowed.among(protocols);
            narrowed_by = Some(field);
        }
    }
    narrowed = match draft.step {
        Some(Step::Request | Step::Answer) => narrowed.among(&[Protocol::Tcp]),
        Some(step) if !STEPS_OF_TCP.contains(&step) => narrowed.among(&[Protocol::Smtp]),
        _ => narrowed,
    };
    if let Some(step) = draft.step
        && narrowed.words().is_empty()
        && !reach.among(&[Protocol::Smtp, Protocol::Tcp]).words().is_empty()
    {
        reader.report(
            "step",
            format!(
                "{step} is no step of what this rule names, which speaks {}",
                reach.words()
            ),
        );
    }
    if reader.has("headers") && !narrowed.http && !narrowed.words().is_empty() {
        let why = match narrowed.smtp {
            true => "an SMTP reply has no header fields",
            false => "only an answer of HTTP has header fields",
        };
        reader.report("headers", why);
    }
    narrowed
}

fn check_status(reader: &mut Reader<'_>, draft: &Draft, reach: Reach) {
    let Some(status) = draft.status else { return };
    if reach.is_only(Protocol::Postgres) {
        return reader.report("status", "PostgreSQL has none: its errors have a code, such as 40001");
    }
    if reach.is_only(Protocol::Tcp) {
        return reader.report("status", "a connection over TCP has none");
    }
    if reach.smtp && !(400..=599).contains(&status) {
        if reach.http && (200..=599).contains(&status) {
            let why = "is no SMTP error reply (400 to 599): name a provider that speaks HTTP";
            reader.report("status", why);
        } else {
            reader.report("status", "must be 400 to 599");
        }
    } else if !(200..=599).contains(&status) {
        // A 1xx head ends no exchange: the client would wait for ever for the real one.
        reader.report("status", "must be 200 to 599");
    }
}

/// Lists the modes that a field goes with, if not all.
fn modes_of(field: &str) -> &'static [Mode] {
    use Mode::{
        Delay, DropAfterCommit, Duplicate, ErrorAfterCommit, FailBeforeCommit, HoldAfterCommit, HoldBeforeCommit,
        Refuse, Reorder, StaleTimestamp,
    };
    match field {
        "how" => &[FailBeforeCommit, DropAfterCommit],
        "status" | "headers" | "body" => &[FailBeforeCommit, ErrorAfterCommit, Refuse],
        "code" => &[ErrorAfterCommit, Refuse],
        "delay" => &[Delay, Reorder, StaleTimestamp],
        "at" => &[Delay],
        "copies" => &[Duplicate],
        "behind" => &[Reorder],
        "barrier" => &[HoldBeforeCommit, HoldAfterCommit],
        _ => Mode::ALL,
    }
}

fn check_fields_of_mode(reader: &mut Reader<'_>, draft: &Draft, mode: Mode, reach: Reach) {
    if reach.is_only(Protocol::Tcp) && matches!(mode, Mode::Refuse | Mode::ErrorAfterCommit) {
        let why = format!("{mode} needs words, and a connection over TCP has none that a relay could speak");
        reader.report("mode", why);
    }
    if let Some(code) = draft.code.as_deref().filter(|_| reach.is_only(Protocol::Postgres)) {
        let right = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit();
        if code.len() != SQLSTATE || !code.bytes().all(right) {
            let why = "is no SQLSTATE: five characters of A-Z and 0-9, such as 40001";
            reader.report("code", why);
        }
    }
    for field in [
        "how", "status", "code", "headers", "body", "delay", "at", "barrier", "copies", "behind",
    ] {
        let modes = modes_of(field);
        if reader.has(field) && !modes.contains(&mode) {
            let modes = modes.iter().map(|mode| format!("{field} with mode {mode}"));
            reader.report_allowing(field, format!("does not go with mode {mode}"), modes);
        }
    }
    match mode {
        Mode::Delay if !reader.has("delay") => {
            reader.report_allowing("delay", "is missing", crate::duration::EXAMPLES);
        }
        Mode::FailBeforeCommit => check_loss(reader, draft),
        _ => {}
    }
    check_bytes(reader, draft, mode);
    if draft.copies.is_some_and(|copies| !(2..=MOST_COPIES).contains(&copies)) {
        reader.report("copies", format!("must be 2 to {MOST_COPIES}"));
    }
    if draft.behind.is_some_and(|behind| !(1..=MOST_COPIES).contains(&behind)) {
        reader.report("behind", format!("must be 1 to {MOST_COPIES}"));
    }
    if reader.has("after") && draft.step.is_some_and(|step| step != Step::Answer) {
        reader.report_allowing("after", "goes with step answer", ["answer"]);
    }
    if draft.after == Some(0) {
        reader.report("after", "must be at least 1: an answer follows bytes that were sent");
    }
}

fn check_loss(reader: &mut Reader<'_>, draft: &Draft) {
    // Over TCP it ends the one direction, as it does after the commit.
    if draft.how == Some(HowName::Truncate) && draft.step != Some(Step::Request) {
        let why = "truncate needs an answer, and before the commit there is none";
        reader.report_allowing("how", why, ["close", "reset", "hang"]);
    }
    if reader.has("how") && reader.has("status") {
        reader.report("status", "goes without how: a gateway's answer, or none");
    }
    for field in ["headers", "body"] {
        if reader.has(field) && !reader.has("status") {
            reader.report(field, "goes with status: without one there is no answer");
        }
    }
}

fn check_bytes(reader: &mut Reader<'_>, draft: &Draft, mode: Mode) {
    let truncates = mode == Mode::DropAfterCommit && draft.how == Some(HowName::Truncate);
    let in_data = matches!(draft.step, Some(Step::MidData | Step::Request));
    match (reader.has("bytes"), truncates, in_data) {
        (false, true, _) => {
            reader.report("bytes", "is missing: how much of the answer truncate lets through");
        }
        (true, false, false) => {
            let allowed = ["with how truncate", "with step mid-data", "with step request"];
            reader.report_allowing("bytes", "has nothing to count here", allowed);
        }
        (true, false, true) if draft.bytes == Some(0) => {
            let before = match draft.step {
                Some(Step::Request) => "must be at least 1 for request; before any byte is step connect",
                _ => "must be at least 1 for mid-data; before any content is step data",
            };
            reader.report("bytes", before);
        }
        _ => {}
    }
}

fn point_of(mode: Mode, draft: &Draft, direction: Direction) -> Point {
    match mode {
        Mode::Duplicate | Mode::Reorder | Mode::Drop | Mode::BadSignature | Mode::StaleTimestamp => Point::Before,
        Mode::Delay if !direction.incoming => Point::Before,
        Mode::FailBeforeCommit | Mode::HoldBeforeCommit | Mode::Refuse => Point::Before,
        Mode::DropAfterCommit | Mode::ErrorAfterCommit | Mode::HoldAfterCommit => Point::After,
        Mode::Delay => draft.at.or_else(|| draft.step.map(Step::point)).unwrap_or(Point::After),
        Mode::Pass if draft.outcome.is_some() => Point::After,
        Mode::Pass => draft.step.map_or(Point::Before, Step::point),
    }
}

fn check_outcome(reader: &mut Reader<'_>, draft: &Draft, point: Point) {
    let Some(outcome) = draft.outcome else { return };
    if point == Point::Before {
        reader.report(
            "outcome",
            "is known only after the commit, and this rule acts before it",
        );
    } else if !OUTCOMES.contains(&outcome) {
        let why = "never reaches a commit, so no rule is asked after it";
        reader.report_allowing("outcome", why, OUTCOMES.map(Outcome::as_str));
    }
}

fn check_step(reader: &mut Reader<'_>, draft: &Draft, mode: Mode, point: Point, reach: Reach) {
    let Some(step) = draft.step else { return };
    if step.point() != point {
        let there = |step: &&Step| match step {
            Step::Connect => true,
            Step::Request | Step::Answer => reach.tcp,
            _ => reach.smtp,
        };
        let steps = Step::ALL.iter().filter(|step| step.point() == point).filter(there);
        let why = format!("step {step} does not go with mode {mode}, which acts {point} the commit");
        reader.report_allowing("step", why, steps);
    }
    if !reach.smtp {
        return;
    }
    for field in unknown_at(step, reach) {
        if reader.has(field) {
            reader.report(field, format!("is not yet known at step {step}"));
        }
    }
}

/// Lists the conditions of mail that are not yet known at a step.
fn unknown_at(step: Step, reach: Reach) -> &'static [&'static str] {
    const AT_CONNECT: [&str; 7] = ["scope", "operation", "key", "header", "sender", "recipient", "subject"];
    match step {
        Step::Connect | Step::Greeting | Step::Ehlo if reach.fixed_scope => &AT_CONNECT[1..],
        Step::Connect | Step::Greeting | Step::Ehlo => &AT_CONNECT,
        Step::Auth | Step::Quit => &AT_CONNECT[1..],
        Step::Mail => &["key", "header", "recipient", "subject"],
        Step::Rcpt | Step::Data | Step::MidData => &["key", "header", "subject"],
        Step::Dot | Step::Commit | Step::Request | Step::Answer => &[],
    }
}

fn build(draft: Draft, mode: Mode, point: Point, direction: Direction) -> RuleSpec {
    let owner = draft
        .pattern(&Field::Scope)
        .and_then(|scope| scope.literal().map(str::to_owned));
    let mark = match draft.step.or(draft.after.map(|_| Step::Answer)) {
        Some(Step::MidData | Step::Request) => draft.bytes.unwrap_or(1),
        Some(Step::Answer) => draft.after.unwrap_or(1),
        _ => 0,
    };
    let action = action(&draft, mode);
    let mut conditions = draft.conditions;
    if point == Point::After {
        conditions.push(Condition {
            field: Field::Outcome,
            wanted: draft.outcome.map_or(Wanted::Committed, Wanted::Outcome),
        });
    }
    conditions.sort_by(|a, b| a.field.cmp(&b.field));
    // That `after` is given says the step.
    let step = draft.step.or(draft.after.map(|_| Step::Answer));
    RuleSpec {
        given: draft.given,
        conditions,
        owner,
        direction,
        mode,
        action,
        point,
        step,
        mark,
        on: draft.on.unwrap_or(On::Always),
        expires_in: draft.expires_in,
    }
}

fn action(draft: &Draft, mode: Mode) -> Action {
    let how = match draft.how {
        None | Some(HowName::Close) => How::Close,
        Some(HowName::Reset) => How::Reset,
        Some(HowName::Hang) => How::Hang,
        Some(HowName::Truncate) => How::Truncate {
            bytes: draft.bytes.unwrap_or(0),
        },
    };
    let answer = || Answer {
        status: draft.status.and_then(|status| u16::try_from(status).ok()),
        code: draft.code.clone(),
        headers: answer_headers(draft),
        body: draft.body.clone(),
    };
    match mode {
        Mode::Pass => Action::Pass,
        Mode::FailBeforeCommit if draft.status.is_some() => Action::Fail(Loss::Gateway(answer())),
        Mode::FailBeforeCommit => Action::Fail(Loss::End(how)),
        Mode::DropAfterCommit => Action::Drop(how),
        Mode::ErrorAfterCommit => Action::Error(answer()),
        Mode::HoldBeforeCommit | Mode::HoldAfterCommit => Action::Hold { barrier: draft.barrier },
        Mode::Delay => Action::Delay(draft.delay.unwrap_or_default()),
        Mode::Refuse => Action::Refuse(answer()),
        Mode::Duplicate => Action::Tamper(Tamper::Copies(small(draft.copies, 2))),
        Mode::Reorder => {
            let most = draft.delay.unwrap_or(REORDERED);
            Action::Tamper(Tamper::Behind(small(draft.behind, 1), most))
        }
        Mode::Drop => Action::Tamper(Tamper::Never),
        Mode::BadSignature => Action::Tamper(Tamper::WrongSecret),
        Mode::StaleTimestamp => Action::Tamper(Tamper::Aged(draft.delay.unwrap_or(AGED))),
    }
}

fn small(number: Option<u64>, usual: u32) -> u32 {
    number.and_then(|number| u32::try_from(number).ok()).unwrap_or(usual)
}

/// Returns the header fields of an answer; a body that is given as JSON is sent as JSON, unless they say what it is.
fn answer_headers(draft: &Draft) -> Vec<(String, String)> {
    const TYPE: &str = "content-type";
    let mut headers = draft.headers.clone();
    let is_json = matches!(draft.given.get("body"), Some(Value::Object(_) | Value::Array(_)));
    if is_json && headers.iter().all(|(name, _)| name != TYPE) {
        headers.push((TYPE.to_owned(), "application/json".to_owned()));
    }
    headers
}
