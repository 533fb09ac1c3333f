//! Is the application that Stripe tells of events.

use std::{convert::Infallible, error::Error, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
    task::{JoinHandle, JoinSet},
    time::timeout,
};

const PATIENCE: Duration = Duration::from_secs(10);

/// A delivery: its body, and its signature.
pub(crate) struct Told {
    pub(crate) body: String,
    pub(crate) signature: String,
}

pub(crate) struct Receiver {
    pub(crate) url: String,
    told: mpsc::UnboundedReceiver<Told>,
    stop: oneshot::Sender<()>,
    server: JoinHandle<()>,
}

impl Receiver {
    pub(crate) async fn open() -> Result<Self, Box<dyn Error>> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/hook", listener.local_addr()?);
        let (sender, told) = mpsc::unbounded_channel();
        let (stop, stopped) = oneshot::channel();
        let server = tokio::spawn(serve(listener, sender, stopped));
        Ok(Self {
            url,
            told,
            stop,
            server,
        })
    }

    pub(crate) async fn next(&mut self) -> Result<Told, Box<dyn Error>> {
        let told = timeout(PATIENCE, self.told.recv()).await;
        let told = told.map_err(|_| format!("no delivery came within {PATIENCE:?}"))?;
        Ok(told.ok_or("the receiver has ended")?)
    }

    /// Ends once all that came is answered, for what is not would come again; tells how much of it nobody has asked for.
    pub(crate) async fn close(mut self) -> Result<usize, Box<dyn Error>> {
        let _ = self.stop.send(());
        timeout(PATIENCE, self.server).await??;
        let mut left = 0;
        while self.told.try_recv().is_ok() {
            left += 1;
        }
        Ok(left)
    }
}

async fn serve(listener: TcpListener, told: mpsc::UnboundedSender<Told>, mut stopped: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted.expect("a connection").0,
            _ = &mut stopped => break,
        };
        let told = told.clone();
        let service = service_fn(move |request| hear(request, told.clone()));
        // A connection ends with its answer, so that to wait for its end is to wait for the answer.
        let connection = http1::Builder::new()
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), service);
        connections.spawn(connection);
    }
    connections.join_all().await;
}

async fn hear(
    request: Request<Incoming>,
    told: mpsc::UnboundedSender<Told>,
) -> Result<Response<Empty<Bytes>>, Infallible> {
    let signature = request.headers().get("stripe-signature");
    let signature = signature.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let signature = signature.to_owned();
    if let Ok(body) = request.into_body().collect().await {
        let body = String::from_utf8_lossy(&body.to_bytes()).into_owned();
        let _ = told.send(Told { body, signature });
    }
    Ok(Response::new(Empty::new()))
}
