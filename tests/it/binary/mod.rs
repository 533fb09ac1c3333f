//! The binary as its user meets it: what it prints, and its exit codes.

mod commands;
mod faults;
mod objects;
mod relay;
mod serve;

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Is a running process; killed when a test fails.
struct Served {
    child: Child,
    out: BufReader<ChildStdout>,
    err: BufReader<ChildStderr>,
    /// The lines that it printed at its start.
    printed: Vec<String>,
}

/// Returns the command, without any variable of ours.
fn ackdrop(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackdrop"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("ACKDROP_")) {
        command.env_remove(name);
    }
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs a command to its end: exit code, standard output, standard error.
fn run(command: &mut Command) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

const FREE_PORTS: [&str; 8] = [
    "--http",
    "127.0.0.1:0",
    "--https",
    "127.0.0.1:0",
    "--smtp",
    "127.0.0.1:0",
    "--smtps",
    "127.0.0.1:0",
];

impl Served {
    /// Starts a suite on free ports, and waits for the addresses it prints.
    fn start(arguments: &[&str], env: &[(&str, &str)]) -> Self {
        let mut command = ackdrop(&FREE_PORTS);
        command
            .args(arguments)
            .envs(env.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let err = BufReader::new(child.stderr.take().unwrap());
        let mut served = Self {
            child,
            out,
            err,
            printed: Vec::new(),
        };
        for _ in 0..5 {
            let line = served.out_line();
            served.printed.push(line);
        }
        served
    }

    fn out_line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Reads the next line of the log.
    fn log_line(&mut self) -> String {
        let mut line = String::new();
        self.err.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn url(&self, kind: &str) -> String {
        let begin = format!("{kind}://");
        let mut words = self.printed.iter().flat_map(|line| line.split_whitespace());
        words.find(|word| word.starts_with(&begin)).unwrap().to_owned()
    }

    fn addr(&self, kind: &str) -> SocketAddr {
        self.url(kind).split_once("://").unwrap().1.parse().unwrap()
    }

    /// Runs a command that asks this suite.
    fn ask(&self, arguments: &[&str]) -> (i32, String, String) {
        run(ackdrop(arguments).env("ACKDROP_URL", self.url("http")))
    }

    /// Sends raw bytes, and returns what came back.
    fn call(&self, request: &str) -> String {
        let mut stream = std::net::TcpStream::connect(self.addr("http")).unwrap();
        std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
        let mut answer = String::new();
        drop(stream.read_to_string(&mut answer));
        answer
    }

    /// Creates an order by raw bytes and returns what came back.
    fn order(&self, reference: &str) -> String {
        let body = format!("{{\"reference\": \"{reference}\"}}");
        let request = format!(
            "POST /orders HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.call(&request)
    }

    /// Asks it to end, and returns its exit code, how long it took, and what was left of its log.
    fn terminate(mut self) -> (i32, Duration, String) {
        let begun = Instant::now();
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        let status = self.child.wait().unwrap();
        let took = begun.elapsed();
        let mut log = String::new();
        self.err.read_to_string(&mut log).unwrap();
        (status.code().unwrap_or(-1), took, log)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
