//! Parses, reads the configuration, serves.

use std::io::{IsTerminal, stderr, stdin, stdout};
use std::process::ExitCode;

use ackdrop::cli::{Answer, Cli, Command, Console, Failure, demo, serve};
use ackdrop::config::{self, Config, Log};
use clap::Parser;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::{Layer, fmt, layer::SubscriberExt, registry, util::SubscriberInitExt};

#[tokio::main]
async fn main() -> ExitCode {
    let command = match Cli::try_parse() {
        Ok(cli) => cli.into_command(),
        Err(said) => {
            // Help and version come this way too; where they cannot be printed nothing can.
            let _ = said.print();
            return ExitCode::from(if said.use_stderr() { 2 } else { 0 });
        }
    };
    let env = &config::environment();
    let (out, err, input) = (&mut stdout(), &mut stderr(), &mut stdin());
    // See https://no-color.org.
    let color = stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let mut console = Console {
        out,
        err,
        input,
        env,
        color,
    };
    let ended = match command {
        Command::Serve(flags) => match Config::load(flags.into_values(), env.clone()) {
            Ok(config) => {
                log_to_stderr(config.log);
                serve::run(config, &mut console).await
            }
            Err(problems) => Err(Failure::Usage(format!("the settings are wrong\n{problems}"))),
        },
        Command::Demo { json } => demo::run(json, &mut console).await,
        Command::Ask(question) => question.run(&mut console).await,
    };
    Answer::report(ended, &mut stderr())
}

/// Sends the suite's own log to standard error, and of its libraries' only what is wrong.
fn log_to_stderr(form: Log) {
    let lines = fmt::layer()
        .with_writer(stderr)
        .with_target(false)
        .with_ansi(stderr().is_terminal());
    let layer = match form {
        Log::Text => lines.boxed(),
        Log::Json => lines.json().boxed(),
        Log::Off => return,
    };
    let filter = Targets::new()
        .with_default(LevelFilter::WARN)
        .with_target("ackdrop", LevelFilter::INFO);
    registry().with(layer.with_filter(filter)).init();
}
