//! The two workers. Each has one job, and all it knows of what happened is what it hears.

use super::job::{Heard, Job};
use crate::ledger::Class;

/// How often a worker tries at most, as SDKs do.
const TRIES: usize = 3;

/// Names a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worker {
    /// Tries again after any error.
    Naive,
    /// Tries again only where the provider makes that safe.
    Careful,
}

/// Is what a worker says of its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) belief: Belief,
    /// The last error it met.
    pub(super) heard: Option<String>,
}

/// Names how often the worker believes that it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Belief {
    /// It was answered yes.
    Once,
    /// It was answered no.
    Never,
    /// It was not answered: zero times or once.
    Unsure,
}

/// Names where the job is in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nobody looks at it again.
    Done,
    /// A person, or a sweeper, looks up what really happened.
    Review,
}

impl Worker {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Careful => "careful",
        }
    }

    /// Does a job, as well as it can.
    pub(super) async fn work(self, job: &Job) -> Told {
        let mut told = Told {
            belief: Belief::Unsure,
            heard: None,
        };
        for _ in 0..TRIES {
            (told.belief, told.heard) = match job.attempt().await {
                Heard::Yes => (Belief::Once, told.heard),
                Heard::No(answer) => (Belief::Never, Some(answer)),
                Heard::Nothing(error) => (Belief::Unsure, Some(error)),
            };
            if !self.tries_again(told.belief, job.provider.class()) {
                break;
            }
        }
        told
    }

    fn tries_again(self, belief: Belief, class: Class) -> bool {
        match (self, belief) {
            (_, Belief::Once) => false,
            (Self::Naive, Belief::Never | Belief::Unsure) => true,
            // A no is an answer, and where the key is a hint a second attempt may be a second effect.
            (Self::Careful, Belief::Never) => false,
            (Self::Careful, Belief::Unsure) => class == Class::KeyEnforced,
        }
    }
}

impl Belief {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Never => "never",
            Self::Unsure => "unsure",
        }
    }

    /// Says where a job ends of which its worker believes this.
    pub(super) fn state(self) -> State {
        match self {
            Self::Once => State::Done,
            Self::Never | Self::Unsure => State::Review,
        }
    }
}

impl State {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Review => "review",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Belief, Class, Worker};

    #[test]
    fn the_careful_worker_repeats_only_what_the_provider_makes_safe() {
        let naive = |belief, class| Worker::Naive.tries_again(belief, class);
        let careful = |belief, class| Worker::Careful.tries_again(belief, class);
        assert!(careful(Belief::Unsure, Class::KeyEnforced));
        assert!(!careful(Belief::Unsure, Class::KeyAdvisory));
        for class in [Class::KeyEnforced, Class::KeyAdvisory] {
            assert!(naive(Belief::Unsure, class) && naive(Belief::Never, class));
            assert!(!careful(Belief::Never, class));
            assert!(!careful(Belief::Once, class) && !naive(Belief::Once, class));
        }
    }
}
