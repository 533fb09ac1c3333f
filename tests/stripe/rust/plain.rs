//! Posts without the SDK and without a key.

use std::{error::Error, time::Duration};

use bytes::Bytes;
use http::{Request, header::CONTENT_TYPE};
use http_body_util::{BodyExt, Full};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};

pub(crate) async fn form(url: &str, body: &str) -> Result<(), Box<dyn Error>> {
    post(url, "application/x-www-form-urlencoded", body.to_owned()).await
}

pub(crate) async fn json(url: &str, body: &serde_json::Value) -> Result<(), Box<dyn Error>> {
    post(url, "application/json", body.to_string()).await
}

async fn post(url: &str, kind: &str, body: String) -> Result<(), Box<dyn Error>> {
    let request = Request::post(url)
        .header(CONTENT_TYPE, kind)
        .body(Full::new(Bytes::from(body)))?;
    let client = Client::builder(TokioExecutor::new()).build_http();
    let exchange = async {
        let answer = client.request(request).await?;
        let status = answer.status();
        Ok::<_, Box<dyn Error>>((status, answer.into_body().collect().await?.to_bytes()))
    };
    let (status, said) = tokio::time::timeout(Duration::from_secs(30), exchange).await??;
    if status.is_client_error() || status.is_server_error() {
        return Err(format!("{url}: {status} {}", String::from_utf8_lossy(&said)).into());
    }
    Ok(())
}
