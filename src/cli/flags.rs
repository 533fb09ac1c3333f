//! The flags of `serve`, from the table of settings.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches};

use crate::config::{SETTINGS, Setting};

/// Holds what the flags gave, by the setting's name.
#[derive(Clone, Debug, Default)]
pub struct Flags(BTreeMap<&'static str, Vec<String>>);

impl Flags {
    /// Returns the values, as [`Config::load`](crate::config::Config::load) takes them.
    #[must_use]
    pub fn into_values(self) -> BTreeMap<&'static str, Vec<String>> {
        self.0
    }
}

/// The names with hyphens; clap wants them to live as long as the program.
static LONG: LazyLock<Vec<String>> =
    LazyLock::new(|| SETTINGS.iter().map(|setting| setting.name.replace('_', "-")).collect());

impl Args for Flags {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.args(
            SETTINGS
                .iter()
                .zip(LONG.iter())
                .map(|(setting, long)| flag(setting, long)),
        )
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for setting in SETTINGS {
            if let Some(values) = matches.get_many::<String>(setting.name) {
                self.0.insert(setting.name, values.cloned().collect());
            }
        }
        Ok(())
    }
}

fn flag(setting: &'static Setting, long: &'static str) -> Arg {
    let default = match setting.default {
        "" => String::new(),
        text => format!(" [default: {text}]"),
    };
    let arg = Arg::new(setting.name)
        .long(long)
        .value_name(setting.value_name)
        .help(format!("{}{default}", setting.help))
        .help_heading(setting.group)
        .action(if setting.many() {
            ArgAction::Append
        } else {
            ArgAction::Set
        });
    if setting.is_switch() {
        arg.num_args(0..=1).require_equals(true).default_missing_value("true")
    } else {
        arg
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::Flags;

    #[derive(Parser)]
    struct Only {
        #[command(flatten)]
        flags: Flags,
    }

    #[test]
    fn lists_are_repeatable_and_single_values_are_not() {
        let line = ["x", "--http", ":1", "--http", ":2", "--smtp-starttls", "--log", "json"];
        let values = Only::parse_from(line).flags.into_values();
        assert_eq!(values["http"], [":1", ":2"]);
        assert_eq!(
            (&values["smtp_starttls"][..], &values["log"][..]),
            (&["true".to_owned()][..], &["json".to_owned()][..])
        );
        assert!(!values.contains_key("https"), "what was not given is not there");
        assert!(Only::try_parse_from(["x", "--log", "json", "--log", "text"]).is_err());
    }

    #[test]
    fn a_switch_takes_a_value_only_behind_an_equals_sign() {
        let values = Only::parse_from(["x", "--smtp-starttls=false"]).flags.into_values();
        assert_eq!(values["smtp_starttls"], ["false"]);
        assert!(Only::try_parse_from(["x", "--smtp-starttls", "false"]).is_err());
    }
}
