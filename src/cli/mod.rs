//! Command-line types, and the commands that talk to a running suite.
//!
//! Every command writes to the [`Console`] it is handed and returns an [`Answer`] or a [`Failure`]; main makes the exit code of it.

mod assert;
mod ca;
mod client;
mod console;
mod deliver;
pub mod demo;
mod events;
mod faults;
mod flags;
mod holds;
mod objects;
mod ready;
mod relays;
mod reset;
pub mod serve;
mod sse;
mod stats;
mod table;
mod target;
#[cfg(test)]
mod testing;

use clap::{Parser, Subcommand};

pub use self::console::{Answer, Console, Failure};
pub use self::flags::Flags;

/// Provider test doubles that commit, count every side effect, and lose the answer exactly where told.
///
/// ackdrop plays a payment API, an order API, a mail server and a webhook target. Point a workflow at it, have it lose an
/// answer after the provider has committed, and ask how often the side effect really happened: zero times, once, or twice.
///
/// Without a command it runs the suite; the options below are those of `serve`.
#[derive(Debug, Parser)]
#[command(name = "ackdrop", version, args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    flags: Flags,
}

const EXAMPLES: &str = "\
Values:
  ADDR  IP:PORT, localhost:PORT (127.0.0.1 and ::1), :PORT (all interfaces), or off
  SIZE  bytes as 1024, or with a unit: 10MB, 256MiB
  TIME  250ms, 2s, 5m, 1h
  Every option is also a variable, ACKDROP_… (several values: one a line), and a key of the --config file;
  a flag wins over a variable, a variable over the file.

Examples:
  ackdrop                                                    run the suite on its usual ports
  ackdrop faults add 'drop-after-commit; how=reset; on=1'    lose the next accepted answer
  ackdrop stats                                              how often did it really happen?
  ackdrop assert 'stripe.charge == 1' --watch 3s             wait until it is so, and look for late effects
  ackdrop reset                                              begin again at zero

Exit codes: 0 fine; 1 the suite said no, or the answer is no; 2 wrong usage, or the suite cannot be reached.";

/// Names what to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the suite (the default command)
    ///
    /// Runs until SIGINT or SIGTERM.
    #[command(after_help = EXAMPLES)]
    Serve(Flags),
    /// Show in one process what blind retries do: naive worker against careful worker
    Demo {
        /// Print JSON for machines
        #[arg(long)]
        json: bool,
    },
    /// Names a question to a running suite.
    #[command(flatten)]
    Ask(Ask),
}

/// Names a question to a running suite.
#[derive(Debug, Subcommand)]
pub enum Ask {
    /// Show what was received, accepted, and done twice
    Stats(stats::Stats),
    /// Wait until counts are as expected: exit code 0 or 1
    Assert(assert::Assert),
    /// Show every attempt, one a line
    Events(events::Events),
    /// Arm, list and clear fault rules
    Faults(faults::Faults),
    /// List and release attempts that a hold stopped
    Holds(holds::Holds),
    /// Send an event to a receiver, in copies of one moment: exit code 0 or 1
    Deliver(Box<deliver::Deliver>),
    /// Put objects under ids of your choice; list what can be put
    Objects(objects::Objects),
    /// List, start and stop relays to real providers
    Relays(relays::Relays),
    /// Clear state, counts and API rules, of everything or of one scope
    Reset(reset::Reset),
    /// Say whether the suite takes requests: exit code 0 or 1
    Ready(ready::Ready),
    /// Print the certificate that clients must trust, as PEM
    Ca(ca::Ca),
}

impl Cli {
    /// Returns the command asked for; without one, `serve`.
    #[must_use]
    pub fn into_command(self) -> Command {
        self.command.unwrap_or(Command::Serve(self.flags))
    }
}

impl Ask {
    /// Asks, and prints the answer.
    ///
    /// # Errors
    ///
    /// Fails when the suite cannot be reached, refuses, or answers what no suite answers.
    pub async fn run(self, console: &mut Console<'_>) -> Result<Answer, Failure> {
        match self {
            Self::Stats(command) => command.run(console).await,
            Self::Assert(command) => command.run(console).await,
            Self::Events(command) => command.run(console).await,
            Self::Faults(command) => command.run(console).await,
            Self::Holds(command) => command.run(console).await,
            Self::Deliver(command) => command.run(console).await,
            Self::Objects(command) => command.run(console).await,
            Self::Relays(command) => command.run(console).await,
            Self::Reset(command) => command.run(console).await,
            Self::Ready(command) => command.run(console).await,
            Self::Ca(command) => command.run(console).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::{Ask, Cli, Command};

    #[test]
    fn the_types_are_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn serve_is_the_default_command() {
        for line in [
            &["ackdrop", "--http", "off"][..],
            &["ackdrop", "serve", "--http", "off"],
        ] {
            let Command::Serve(flags) = Cli::parse_from(line).into_command() else {
                panic!("{line:?} is serve");
            };
            assert_eq!(flags.into_values()["http"], ["off"]);
        }
    }

    #[test]
    fn options_of_serve_do_not_slip_in_before_another_command() {
        assert!(Cli::try_parse_from(["ackdrop", "--http", "off", "stats"]).is_err());
        let stats = Cli::parse_from(["ackdrop", "stats", "--json"]).into_command();
        assert!(matches!(stats, Command::Ask(Ask::Stats(_))));
    }

    #[test]
    fn help_names_every_setting_and_every_command() {
        let help = Cli::command().render_long_help().to_string();
        for setting in crate::config::SETTINGS {
            assert!(
                help.contains(&format!("--{} ", setting.name.replace('_', "-")))
                    || help.contains(&format!("--{}[", setting.name.replace('_', "-"))),
                "{}",
                setting.name
            );
        }
        for command in [
            "serve", "demo", "stats", "assert", "events", "faults", "holds", "deliver", "objects", "reset", "ready",
            "ca",
        ] {
            assert!(help.contains(&format!("\n  {command} ")), "{command}");
        }
    }
}
