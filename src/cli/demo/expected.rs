//! What must come out: the demo plays these cells, and says no to any other result.

use super::cell::Mode::{DropAfterCommit, FailBeforeCommit, Pass};
use super::cell::Provider::{Orders, Smtp, Stripe, Webhook};
use super::cell::{Cell, Counted, Mode, Provider, Row};
use super::worker::State::{Done, Review};
use super::worker::Worker::{Careful, Naive};
use super::worker::{State, Worker};

/// Is what one cell must come to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    pub(super) cell: Cell,
    pub(super) counted: Counted,
    pub(super) state: State,
}

/// Provider, mode and worker; attempts, effects and the state of the job.
///
/// The attempts belong to it: they show that the first answer was really lost where one effect is no surprise.
pub(super) const EXPECTED: [Expected; 24] = [
    expect(Stripe, Pass, Naive, 1, 1, Done),
    expect(Orders, Pass, Naive, 1, 1, Done),
    expect(Smtp, Pass, Naive, 1, 1, Done),
    expect(Webhook, Pass, Naive, 1, 1, Done),
    expect(Stripe, Pass, Careful, 1, 1, Done),
    expect(Orders, Pass, Careful, 1, 1, Done),
    expect(Smtp, Pass, Careful, 1, 1, Done),
    expect(Webhook, Pass, Careful, 1, 1, Done),
    expect(Stripe, FailBeforeCommit, Naive, 2, 1, Done),
    expect(Orders, FailBeforeCommit, Naive, 2, 1, Done),
    expect(Smtp, FailBeforeCommit, Naive, 2, 1, Done),
    expect(Webhook, FailBeforeCommit, Naive, 2, 1, Done),
    expect(Stripe, FailBeforeCommit, Careful, 2, 1, Done),
    expect(Orders, FailBeforeCommit, Careful, 2, 1, Done),
    expect(Smtp, FailBeforeCommit, Careful, 1, 0, Review),
    expect(Webhook, FailBeforeCommit, Careful, 1, 0, Review),
    expect(Stripe, DropAfterCommit, Naive, 2, 1, Done),
    expect(Orders, DropAfterCommit, Naive, 2, 1, Done),
    expect(Smtp, DropAfterCommit, Naive, 2, 2, Done),
    expect(Webhook, DropAfterCommit, Naive, 2, 2, Done),
    expect(Stripe, DropAfterCommit, Careful, 2, 1, Done),
    expect(Orders, DropAfterCommit, Careful, 2, 1, Done),
    expect(Smtp, DropAfterCommit, Careful, 1, 1, Review),
    expect(Webhook, DropAfterCommit, Careful, 1, 1, Review),
];

const fn expect(provider: Provider, mode: Mode, worker: Worker, attempts: u64, effects: u64, state: State) -> Expected {
    let cell = Cell { provider, mode, worker };
    let counted = Counted { attempts, effects };
    Expected { cell, counted, state }
}

impl Expected {
    pub(super) fn is_met_by(&self, row: &Row) -> bool {
        (row.cell, row.counted, row.told.belief.state()) == (self.cell, self.counted, self.state)
    }
}

/// Lists in words what came out otherwise.
pub(super) fn differences(expected: &[Expected], rows: &[Row]) -> Vec<String> {
    let difference = |expected: &Expected| {
        let Expected { cell, counted, state } = expected;
        let name = format!("{} {} {}", cell.provider.name(), cell.mode.name(), cell.worker.name());
        let wanted = came(*counted, *state);
        let Some(row) = rows.iter().find(|row| row.cell == *cell) else {
            return Some(format!("{name}: expected {wanted}; it was not played"));
        };
        if expected.is_met_by(row) {
            return None;
        }
        let got = came(row.counted, row.told.belief.state());
        let heard = row
            .told
            .heard
            .as_ref()
            .map(|heard| format!("; the worker last heard: {heard}"));
        Some(format!(
            "{name}: expected {wanted}; counted {got}{}",
            heard.unwrap_or_default()
        ))
    };
    expected.iter().filter_map(difference).collect()
}

fn came(counted: Counted, state: State) -> String {
    let plural = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let (attempts, effects) = (plural(counted.attempts, "attempt"), plural(counted.effects, "effect"));
    format!("{attempts}, {effects}, {}", state.name())
}

/// Makes the rows of a run in which everything came out as it must.
#[cfg(test)]
pub(super) fn rows_as_expected() -> Vec<Row> {
    use super::worker::{Belief, Told};
    let row = |expected: &Expected| Row {
        cell: expected.cell,
        counted: expected.counted,
        told: Told {
            belief: match expected.state {
                Done => Belief::Once,
                Review => Belief::Unsure,
            },
            heard: None,
        },
    };
    EXPECTED.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::{Done, EXPECTED, Naive, Review};
    use crate::cli::demo::cell::Mode;
    use crate::ledger::Class;

    #[test]
    fn every_cell_is_there_once() {
        let scopes: std::collections::BTreeSet<String> = EXPECTED.iter().map(|e| e.cell.scope()).collect();
        assert_eq!(scopes.len(), 4 * Mode::ALL.len() * 2);
    }

    #[test]
    fn the_list_says_what_the_demo_is_there_to_show() {
        for expected in EXPECTED {
            let (cell, effects) = (expected.cell, expected.counted.effects);
            let (advisory, naive) = (cell.provider.class() == Class::KeyAdvisory, cell.worker == Naive);
            let doubled = advisory && naive && cell.mode == Mode::DropAfterCommit;
            let unsure = advisory && !naive && cell.mode != Mode::Pass;
            assert_eq!(effects == 2, doubled, "{cell:?}");
            assert_eq!(expected.state, if unsure { Review } else { Done }, "{cell:?}");
        }
    }
}
