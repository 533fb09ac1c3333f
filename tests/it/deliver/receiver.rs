//! A receiver of webhooks that a test writes: it hears a whole request and says raw bytes.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Is one request as it came.
#[derive(Clone, Debug)]
pub(super) struct Heard {
    pub(super) head: String,
    pub(super) body: String,
    pub(super) at: Instant,
}

impl Heard {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let pairs = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut found = pairs.filter(|(n, _)| n.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value)
    }
}

/// Is a receiver on a port of its own; its drop ends it.
pub(super) struct Receiver {
    pub(super) url: String,
    heard: Arc<Mutex<Vec<Heard>>>,
    task: JoinHandle<()>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Receiver {
    /// Answers every request by a closure, which gets it and the stream.
    pub(super) async fn start<F>(answer: impl Fn(Heard, TcpStream) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let heard: Arc<Mutex<Vec<Heard>>> = Arc::default();
        let (all, answer) = (Arc::clone(&heard), Arc::new(answer));
        let task = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (all, answer) = (Arc::clone(&all), Arc::clone(&answer));
                tokio::spawn(async move {
                    if let Some(heard) = hear(&mut stream).await {
                        all.lock().unwrap().push(heard.clone());
                        answer(heard, stream).await;
                    }
                });
            }
        });
        Self { url, heard, task }
    }

    /// Answers every request with a status.
    pub(super) async fn saying(status: &'static str) -> Self {
        Self::start(move |_, stream| say(stream, status)).await
    }

    /// Returns all requests, in the order in which they were whole.
    pub(super) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    pub(super) fn bodies(&self) -> Vec<String> {
        self.heard().into_iter().map(|heard| heard.body).collect()
    }
}

/// Answers with a status and a short body.
pub(super) async fn say(mut stream: TcpStream, status: &str) {
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\nok");
    drop(stream.write_all(answer.as_bytes()).await);
    // Until the sender has read it: a close with bytes on the way would be a reset.
    drop(stream.read(&mut [0; 16]).await);
}

pub(super) async fn hear(stream: &mut TcpStream) -> Option<Heard> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4_096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let heard = Heard {
                head: head.to_owned(),
                body: body.to_owned(),
                at: Instant::now(),
            };
            let length = heard.header("content-length").map_or(0, |n| n.parse().unwrap());
            if body.len() >= length {
                return Some(heard);
            }
        }
        match stream.read(&mut chunk).await {
            Ok(n) if n > 0 => bytes.extend_from_slice(&chunk[..n]),
            _ => return None,
        }
    }
}
