//! Addresses to listen on.

use super::{Problem, Source};
use crate::suite::Listen;

/// Remembers which addresses are asked for, to report two listeners that want the same one.
#[derive(Debug, Default)]
pub(super) struct Taken(Vec<(Listen, Source)>);

impl Taken {
    pub(super) fn claim(&mut self, listen: Listen, source: &Source) -> Result<(), Problem> {
        if let Some((_, first)) = self.0.iter().find(|(taken, _)| taken.overlaps(&listen)) {
            let message = format!("{listen} is wanted by {first} too");
            return Err(Problem::new(source.clone(), message));
        }
        self.0.push((listen, source.clone()));
        Ok(())
    }
}
