//! Where a setting was written.

use std::fmt;
use std::path::Path;

/// Says which of the places a setting came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The configuration file.
    File,
    /// The command line.
    Flag,
    /// A variable of the environment.
    Environment,
    /// The built-in default.
    Default,
}

/// Names the exact place, as the user would look it up: `--http`, `ACKDROP_HTTP`, `ackdrop.toml: http`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// The kind of place.
    pub origin: Origin,
    place: String,
}

impl Source {
    pub(super) fn flag(name: &str) -> Self {
        Self {
            origin: Origin::Flag,
            place: flag_name(name),
        }
    }

    pub(super) fn environment(variable: &str) -> Self {
        Self {
            origin: Origin::Environment,
            place: variable.to_owned(),
        }
    }

    pub(super) fn file(path: &Path, key: &str) -> Self {
        Self {
            origin: Origin::File,
            place: format!("{}: {key}", path.display()),
        }
    }

    pub(super) fn whole_file(path: &Path) -> Self {
        Self {
            origin: Origin::File,
            place: path.display().to_string(),
        }
    }

    pub(super) fn default(name: &str) -> Self {
        Self {
            origin: Origin::Default,
            place: format!("default of {}", flag_name(name)),
        }
    }

    /// Tells apart the values of one place: the second `--fault`, the second line of a variable.
    pub(super) fn nth(mut self, index: usize, of: usize) -> Self {
        if of > 1 {
            let n = index + 1;
            self.place.push_str(&match self.origin {
                Origin::Environment => format!(" line {n}"),
                _ => format!(" #{n}"),
            });
        }
        self
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)
    }
}

pub(super) fn flag_name(name: &str) -> String {
    format!("--{}", name.replace('_', "-"))
}

pub(super) fn variable(name: &str) -> String {
    format!("ACKDROP_{}", name.to_ascii_uppercase())
}
