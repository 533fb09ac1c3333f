//! The forward proxy: hosts that are played, allowed and refused.

mod absolute;
mod allowed;
mod bounds;
mod endings;
mod refused;
mod relayed;
mod tunnel;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Mutex;

use ackdrop::suite::{Builder, Connect};
use tokio::net::TcpStream;

use crate::support::{App, Call, Conn};

/// Where Stripe's clients go.
const STRIPE: &str = "api.stripe.com:443";

fn ask(target: &str) -> Call {
    Call::new("CONNECT", target)
}

/// Asks for a tunnel on a connection, and is given it.
async fn opened(mut conn: Conn, call: &Call) -> Conn {
    conn.send(&call.bytes()).await;
    assert_eq!(conn.answer_head().await.status, 200);
    conn
}

/// Opens a tunnel to Stripe, in plain.
async fn plain(app: &App) -> Conn {
    opened(app.connect().await, &ask("api.stripe.com:80")).await
}

/// Opens a tunnel to Stripe, and goes on inside TLS.
async fn secure(app: &App) -> Conn {
    let conn = opened(app.connect().await, &ask(STRIPE)).await;
    conn.secure(app.suite.ca_pem(), "api.stripe.com").await
}

/// Opens one of each.
async fn both(app: &App) -> [Conn; 2] {
    [plain(app).await, secure(app).await]
}

/// Leads every host to one address, and remembers what it was asked for.
#[derive(Debug, Default)]
struct Recorder {
    to: Option<SocketAddr>,
    asked: Mutex<Vec<String>>,
}

impl Recorder {
    fn to(addr: SocketAddr) -> Self {
        Self {
            to: Some(addr),
            asked: Mutex::default(),
        }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Connect for Recorder {
    fn connect<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send + 'a>> {
        self.asked.lock().unwrap().push(format!("{host}:{port}"));
        Box::pin(async move {
            let to = self.to.ok_or(io::ErrorKind::ConnectionRefused)?;
            TcpStream::connect(to).await
        })
    }
}

fn allowing(builder: Builder, hosts: &[&str]) -> Builder {
    let hosts = hosts.iter().map(|host| host.parse().unwrap());
    hosts.fold(builder, Builder::allow_host)
}
