//! Decodes what ackdrop shows, or does the program of `../README.md`, with async-stripe.
#![expect(
    clippy::print_stdout,
    reason = "it is a program of the tests, and what it prints is its result"
)]

mod decode;
mod known;
mod plain;
mod program;
mod receiver;
mod shown;

use std::process::ExitCode;

/// Prints a line a case, and knows whether one has failed.
struct Report {
    failed: bool,
}

impl Report {
    fn case(&mut self, what: &str, problems: &[String]) {
        if problems.is_empty() {
            println!("ok   rust {what}");
            return;
        }
        self.failed = true;
        let told = problems.join("; ");
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        println!("FAIL rust {what}: {told}");
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut report = Report { failed: false };
    match &args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["decode", folder] => decode::run(folder.as_ref(), &mut report),
        ["program", url, lagging, scope] => program::run(url, lagging, scope, &mut report).await,
        _ => {
            println!("usage: case program URL LAGGING SCOPE | case decode FOLDER");
            return ExitCode::from(2);
        }
    }
    ExitCode::from(u8::from(report.failed))
}
