//! `ackdrop serve`: run the suite until a signal.

use serde_json::Value;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Answer, Console, Failure};
use crate::config::Config;
use crate::suite::StripeWebhook;

/// Runs the suite, prints its real addresses, and stops it at SIGINT or SIGTERM.
///
/// # Errors
///
/// Fails when the suite cannot start.
pub async fn run(config: Config, console: &mut Console<'_>) -> Result<Answer, Failure> {
    // Before the addresses are printed: who reads them may send a signal at once.
    let mut signals = Signals::new()?;
    warn_if_open(&config);
    let suite = config
        .builder()
        .start()
        .await
        .map_err(|error| Failure::Usage(format!("cannot start: {error}")))?;
    let addresses = serde_json::to_value(suite.addresses()).unwrap_or_default();
    console.out.write_all(listing(&addresses).as_bytes())?;
    for (webhook, given) in suite.stripe_webhooks().iter().zip(&config.stripe_webhook) {
        console.out.write_all(webhook_line(webhook, given).as_bytes())?;
    }
    for relay in suite.relays().list() {
        let line = format!(
            "  relay  {}: {} -> {}\n",
            relay.spec.name,
            relay.url(),
            relay.spec.upstream
        );
        console.out.write_all(line.as_bytes())?;
    }
    console.out.flush()?;
    signals.next().await;
    tracing::info!("stopping");
    tokio::select! {
        ended = suite.stop() => Ok(if ended { Answer::Yes } else { Answer::No }),
        // Who asks twice is in a hurry.
        () = signals.next() => Ok(Answer::No),
    }
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> Result<Self, Failure> {
        let catch = |kind| signal(kind).map_err(|error| Failure::Usage(format!("cannot catch signals: {error}")));
        Ok(Self {
            interrupt: catch(SignalKind::interrupt())?,
            terminate: catch(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

fn warn_if_open(config: &Config) {
    let exposed = [&config.http, &config.https]
        .into_iter()
        .flatten()
        .find(|listen| !listen.addr.ip().is_loopback());
    if let (Some(listen), None) = (exposed, &config.admin_token) {
        tracing::warn!(
            "{listen} can be reached from other machines, and the admin API has no token; set --admin-token"
        );
    }
}

/// Writes where events go, with the secret that was made for it.
fn webhook_line(webhook: &StripeWebhook, given: &StripeWebhook) -> String {
    match (&given.secret, &webhook.secret) {
        (None, Some(made)) => format!("  stripe webhook  {}  {made}\n", webhook.url),
        _ => format!("  stripe webhook  {}\n", webhook.url),
    }
}

/// Writes one line a listener, as URLs to copy.
fn listing(addresses: &Value) -> String {
    let mut text = format!("ackdrop {}\n", env!("CARGO_PKG_VERSION"));
    for name in ["http", "https", "smtp", "smtps"] {
        let found = match &addresses[name] {
            Value::Array(several) => several.clone(),
            Value::Null => Vec::new(),
            one => vec![one.clone()],
        };
        for address in found.iter().filter_map(Value::as_str) {
            text.push_str(&format!("  {name:<5}  {name}://{address}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::listing;

    #[test]
    fn every_listener_is_a_line_that_can_be_copied() {
        let addresses = json!({"smtp": "127.0.0.1:1025", "http": ["127.0.0.1:8080", "[::1]:8080"], "https": null});
        let text = listing(&addresses);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "  http   http://127.0.0.1:8080",
                "  http   http://[::1]:8080",
                "  smtp   smtp://127.0.0.1:1025"
            ]
        );
    }
}
