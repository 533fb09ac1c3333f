//! `ackdrop demo`: two workers do the same jobs against the same losses; the providers count what came of it.

mod cell;
mod expected;
mod http;
mod job;
mod mailer;
mod report;
mod worker;

use std::time::Duration;

use self::cell::{Cell, Counted, Row};
use self::expected::{EXPECTED, Expected};
use self::job::Job;
use super::{Answer, Console, Failure};
use crate::Suite;
use crate::store::Scope;

/// How long the suite may take to decide what has already arrived.
const SETTLING: Duration = Duration::from_secs(10);

/// Runs the demo: one row a cell, compared with what must come out.
///
/// # Errors
///
/// Fails when the suite cannot start or cannot be asked.
pub async fn run(json: bool, console: &mut Console<'_>) -> Result<Answer, Failure> {
    let suite = Suite::builder()
        .start()
        .await
        .map_err(|error| Failure::Usage(format!("cannot start: {error}")))?;
    let rows = play(&suite).await?;
    suite.stop().await;
    let (text, answer) = conclude(&EXPECTED, &rows, json, console.color);
    console.out.write_all(text.as_bytes())?;
    Ok(answer)
}

/// Plays every cell in a scope of its own, and counts when all workers have gone home.
async fn play(suite: &Suite) -> Result<Vec<Row>, Failure> {
    let mut played = Vec::with_capacity(EXPECTED.len());
    for expected in &EXPECTED {
        let cell = expected.cell;
        let scope = Scope::parse(&cell.scope()).expect("the words of a cell make a scope's name");
        suite
            .add_fault(&cell.rule())
            .map_err(|error| Failure::Usage(format!("cannot arm {}: {error}", cell.rule())))?;
        let job = Job::new(cell.provider, &scope, suite.addresses());
        played.push((cell, scope, cell.worker.work(&job).await));
    }
    settled(suite).await?;
    let count = |(cell, scope, told): (Cell, Scope, worker::Told)| Row {
        cell,
        counted: count(suite, cell, &scope),
        told,
    };
    Ok(played.into_iter().map(count).collect())
}

/// Waits until nothing is in flight: an attempt that a worker gave up may still be carried out.
async fn settled(suite: &Suite) -> Result<(), Failure> {
    let mut changed = suite.ledger().subscribe();
    let wait = async { while suite.stats().total.in_flight > 0 && changed.changed().await.is_ok() {} };
    tokio::time::timeout(SETTLING, wait)
        .await
        .map_err(|_| Failure::Usage(format!("an attempt is undecided after {} s", SETTLING.as_secs())))
}

/// Reads what a cell's provider counted in the cell's scope. The worker is not asked.
fn count(suite: &Suite, cell: Cell, scope: &Scope) -> Counted {
    let stats = suite.stats_of(scope);
    let Some(summary) = stats.providers.get(cell.provider.name()) else {
        return Counted::default();
    };
    Counted {
        attempts: summary.counts.received,
        effects: summary.effects.get(cell.provider.effect()).copied().unwrap_or_default(),
    }
}

/// Writes the rows, and says whether they are what must come out.
fn conclude(expected: &[Expected], rows: &[Row], json: bool, color: bool) -> (String, Answer) {
    let differences = expected::differences(expected, rows);
    let text = if json {
        report::json(expected, rows)
    } else {
        report::text(rows, &differences, color)
    };
    let answer = if differences.is_empty() {
        Answer::Yes
    } else {
        Answer::No
    };
    (text, answer)
}

#[cfg(test)]
mod tests {
    use super::cell::Row;
    use super::expected::{EXPECTED, rows_as_expected};
    use super::{Answer, conclude};

    fn concluded(change: impl FnOnce(&mut Vec<Row>)) -> (String, Answer) {
        let mut rows = rows_as_expected();
        change(&mut rows);
        conclude(&EXPECTED, &rows, false, false)
    }

    #[test]
    fn the_expected_table_is_a_yes() {
        assert_eq!(concluded(|_| ()).1, Answer::Yes);
    }

    #[test]
    fn every_single_wrong_count_is_a_no() {
        for at in 0..EXPECTED.len() {
            let (text, answer) = concluded(|rows| rows[at].counted.effects += 1);
            assert_eq!(answer, Answer::No, "effects of row {at}");
            assert!(text.contains(EXPECTED[at].cell.provider.name()), "{text}");
            assert_eq!(concluded(|rows| rows[at].counted.attempts += 1).1, Answer::No);
        }
    }

    #[test]
    fn a_wrong_state_is_a_no() {
        let last = EXPECTED.len() - 1;
        let (text, answer) = concluded(|rows| rows[last].told.belief = super::worker::Belief::Once);
        assert_eq!(answer, Answer::No);
        assert!(text.contains("expected 1 attempt, 1 effect, review"), "{text}");
        assert!(text.contains("counted 1 attempt, 1 effect, done"), "{text}");
    }

    #[test]
    fn a_row_that_is_missing_is_a_no_in_both_forms() {
        assert_eq!(concluded(|rows| drop(rows.pop())).1, Answer::No);
        let rows = rows_as_expected();
        assert_eq!(conclude(&EXPECTED, &rows[1..], true, false).1, Answer::No);
    }

    #[test]
    fn machines_are_told_which_row_is_wrong() {
        let mut rows = rows_as_expected();
        rows[1].counted.effects = 2;
        let (text, answer) = conclude(&EXPECTED, &rows, true, false);
        let rows: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
        let wrong = rows.iter().filter(|row| row["as_expected"] == false);
        assert_eq!(wrong.map(|row| &row["provider"]).collect::<Vec<_>>(), ["orders"]);
        assert_eq!(answer, Answer::No);
    }
}
