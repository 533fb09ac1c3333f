//! A suite that answers what a test wants, and the way to run a command against it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use clap::Parser;
use http::{Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;

use super::{Answer, Cli, Command, Console, Failure};

/// Answers every request with the next of its answers, the last one again and again.
pub(super) struct Stub {
    addr: SocketAddr,
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    answers: Vec<(u16, String)>,
    seen: Vec<String>,
}

impl Stub {
    pub(super) async fn answering(status: u16, body: Value) -> Self {
        Self::answering_text(status, &body.to_string()).await
    }

    pub(super) async fn answering_text(status: u16, body: &str) -> Self {
        Self::answering_each(vec![(status, body.to_owned())]).await
    }

    pub(super) async fn answering_each(mut answers: Vec<(u16, String)>) -> Self {
        answers.reverse();
        let shared = Arc::new(Mutex::new(Shared {
            answers,
            seen: Vec::new(),
        }));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { addr, shared }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Returns method, path, authorization and body of every request.
    pub(super) fn seen(&self) -> Vec<String> {
        self.shared.lock().unwrap().seen.clone()
    }

    /// Runs `ackdrop LINE` against this suite.
    pub(super) async fn run(&self, line: &[&str]) -> (Result<Answer, Failure>, String) {
        self.run_with(line, "").await
    }

    pub(super) async fn run_with(&self, line: &[&str], input: &str) -> (Result<Answer, Failure>, String) {
        let cli = Cli::try_parse_from([&["ackdrop"], line].concat()).unwrap_or_else(|error| panic!("{error}"));
        let Command::Ask(command) = cli.into_command() else {
            panic!("{line:?} asks nothing")
        };
        let env = BTreeMap::from([("ACKDROP_URL".to_owned(), self.url())]);
        let mut out = Vec::new();
        let mut input = input.as_bytes();
        let mut console = Console {
            out: &mut out,
            err: &mut std::io::sink(),
            input: &mut input,
            env: &env,
            color: false,
        };
        let ended = command.run(&mut console).await;
        (ended, String::from_utf8(out).unwrap())
    }
}

async fn accept(listener: TcpListener, shared: Arc<Mutex<Shared>>) {
    while let Ok((socket, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        let service = service_fn(move |request| answer(Arc::clone(&shared), request));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), service));
    }
}

async fn answer(shared: Arc<Mutex<Shared>>, request: Request<Incoming>) -> http::Result<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let token = head
        .headers
        .get(header::AUTHORIZATION)
        .map_or("-", |value| value.to_str().unwrap());
    let line = format!(
        "{} {} {token} {}",
        head.method,
        head.uri,
        String::from_utf8_lossy(&body)
    );
    let mut shared = shared.lock().unwrap();
    shared.seen.push(line);
    let (status, text) = match shared.answers.len() {
        1 => shared.answers[0].clone(),
        _ => shared.answers.pop().unwrap(),
    };
    Response::builder().status(status).body(Full::from(text))
}
