//! What names mean: providers, their operations and effects, and the words of outcome and fate. What has no meaning is refused with the
//! nearest names: a misspelt one would be a zero that holds for ever.

use std::collections::HashSet;
use std::ops::Range;

use super::Expectation;
use super::grammar::{self, Draft};
use super::problem::Fault;
use super::subject::{Subject, Tally};
use crate::attempt::About;

/// How many names are suggested.
const SUGGESTED: usize = 3;
/// How long a name may be to be compared with others.
const COMPARED: usize = 100;
const FAULTS: &str = "faults";

/// Knows every name.
pub(super) struct Vocabulary<'p> {
    providers: &'p [&'static About],
}

impl<'p> Vocabulary<'p> {
    pub(super) fn new(providers: &'p [&'static About]) -> Self {
        Self { providers }
    }

    /// Reads one expectation.
    pub(super) fn read(&self, text: &str) -> Result<Expectation, Fault> {
        match grammar::parse(text)? {
            Draft::AllFaultsFired => Ok(Expectation::AllFaultsFired),
            Draft::Count {
                name: place,
                operator,
                number,
            } => {
                let name = &text[place.clone()];
                let subject = self.subject(name).ok_or_else(|| self.explain(name, place.start))?;
                Ok(Expectation::Count {
                    subject,
                    operator,
                    number,
                })
            }
        }
    }

    /// Finds what a name means.
    fn subject(&self, name: &str) -> Option<Subject> {
        let total = |tally| Subject::Attempts {
            provider: None,
            operation: None,
            tally,
        };
        let Some((first, rest)) = name.split_once('.') else {
            let kind = || self.providers.iter().find_map(|about| effect(about, name));
            return tally(name)
                .map(total)
                .or_else(|| (name == "unmatched").then_some(Subject::Unmatched))
                .or_else(|| kind().map(|kind| Subject::Effects { provider: None, kind }));
        };
        match (first, rest) {
            (FAULTS, "armed") => return Some(Subject::FaultsArmed),
            (FAULTS, "fired") => return Some(Subject::FaultsFired),
            _ => {}
        }
        let about = self.provider(first)?;
        let provider = Some(about.name);
        let Some((front, last)) = rest.rsplit_once('.') else {
            let attempts = |tally| Subject::Attempts {
                provider,
                operation: None,
                tally,
            };
            let effects = |kind| Subject::Effects { provider, kind };
            return tally(rest).map(attempts).or_else(|| effect(about, rest).map(effects));
        };
        let tally = tally(last)?;
        let operation = Some(operation(about, front)?);
        Some(Subject::Attempts {
            provider,
            operation,
            tally,
        })
    }

    fn provider(&self, name: &str) -> Option<&'static About> {
        self.providers.iter().find(|about| about.name == name).copied()
    }

    /// Says which part of a name means nothing, and what may have been meant.
    fn explain(&self, name: &str, at: usize) -> Fault {
        let (place, why, known) = self.unknown_part(name);
        let nearest = self.nearest(name);
        let why = if nearest.is_empty() {
            format!("{why}; there are {}", once(known).join(", "))
        } else {
            why
        };
        Fault {
            place: at + place.start..at + place.end,
            why,
            nearest,
        }
    }

    /// Returns the part of a name that means nothing, why it does not, and what would.
    fn unknown_part(&self, name: &str) -> (Range<usize>, String, Vec<&'static str>) {
        let words = || Tally::all().map(Tally::as_str).collect::<Vec<_>>();
        let whole = 0..name.len();
        let Some((first, rest)) = name.split_once('.') else {
            let known = words().into_iter().chain(["unmatched"]).chain(self.kinds()).collect();
            return (whole, format!("nothing is counted as `{name}`"), known);
        };
        let behind = first.len() + 1..name.len();
        if first == FAULTS {
            let why = format!("`{rest}` is not counted of faults");
            return (behind, why, vec!["faults.armed", "faults.fired"]);
        }
        let Some(about) = self.provider(first) else {
            let known = self.providers.iter().map(|about| about.name).collect();
            return (0..first.len(), format!("there is no provider `{first}`"), known);
        };
        if operation(about, rest).is_some() {
            let why = format!("`{rest}` is an operation: of it, attempts are counted by outcome or fate");
            return (behind, why, words());
        }
        match rest.rsplit_once('.') {
            Some((front, last)) if operation(about, front).is_some() => {
                let why = format!("`{last}` is neither an outcome nor a fate");
                (name.len() - last.len()..name.len(), why, words())
            }
            Some((front, last)) if tally(last).is_some() => {
                let why = format!("`{first}` has no operation `{front}`");
                let known = about.operations.iter().map(|operation| operation.name).collect();
                (behind.start..behind.start + front.len(), why, known)
            }
            _ => {
                let why = format!("`{first}` has no effect `{rest}`, and there is no such outcome or fate");
                (behind, why, effects(about).chain(words()).collect())
            }
        }
    }

    /// Returns the nearest names, the nearest first.
    fn nearest(&self, name: &str) -> Vec<String> {
        let length = name.chars().count();
        if length > COMPARED {
            return Vec::new();
        }
        let suffix = format!(".{name}");
        let prefix = format!("{name}.");
        let distance = |candidate: &String| {
            if candidate.ends_with(&suffix) || candidate.strip_prefix(&prefix) == Some("accepted") {
                0
            } else {
                strsim::osa_distance(name, candidate)
            }
        };
        let mut near: Vec<(usize, String)> = self.names().map(|name| (distance(&name), name)).collect();
        near.retain(|(distance, _)| *distance <= (length / 3).max(2));
        near.sort();
        near.dedup();
        let best = near.first().map_or(0, |(distance, _)| *distance);
        // What is much farther than the best is noise.
        let near = near.into_iter().filter(|(distance, _)| *distance <= best + 1);
        near.map(|(_, name)| name).take(SUGGESTED).collect()
    }

    /// Iterates over every name.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        let words = || Tally::all().map(Tally::as_str);
        let totals = words()
            .chain(["unmatched", "faults.armed", "faults.fired"])
            .chain(self.kinds());
        let of_providers = self.providers.iter().flat_map(move |about| {
            let own = words()
                .chain(effects(about))
                .map(move |word| format!("{}.{word}", about.name));
            let operations = about.operations.iter().flat_map(move |operation| {
                let name = format!("{}.{}", about.name, operation.name);
                words().map(move |word| format!("{name}.{word}"))
            });
            own.chain(operations)
        });
        totals.map(str::to_owned).chain(of_providers)
    }

    fn kinds(&self) -> impl Iterator<Item = &'static str> {
        self.providers.iter().flat_map(|about| effects(about))
    }
}

/// Leaves out what was there before.
fn once(mut words: Vec<&'static str>) -> Vec<&'static str> {
    let mut seen = HashSet::new();
    words.retain(|word| seen.insert(*word));
    words
}

fn tally(word: &str) -> Option<Tally> {
    Tally::all().find(|tally| tally.as_str() == word)
}

/// Iterates over the kinds of effect that a provider's operations have.
fn effects(about: &'static About) -> impl Iterator<Item = &'static str> {
    about.operations.iter().flat_map(|operation| operation.effects).copied()
}

fn effect(about: &'static About, kind: &str) -> Option<&'static str> {
    effects(about).find(|known| *known == kind)
}

fn operation(about: &'static About, name: &str) -> Option<&'static str> {
    let mut operations = about.operations.iter().map(|operation| operation.name);
    operations.find(|known| *known == name)
}
