//! `ackdrop ready`: for health checks, and for scripts that have just started a suite.

use std::time::Duration;

use http::{Method, StatusCode};
use tokio::time::{Instant, sleep};

use super::client::Remote;
use super::target::Target;
use super::{Answer, Console, Failure};
use crate::config::duration;

/// How often the suite is asked while waiting.
const EVERY: Duration = Duration::from_millis(50);

/// Says whether the suite takes requests: exit code 0, or 1 when it does not or cannot be reached.
#[derive(Debug, clap::Args)]
pub struct Ready {
    /// Ask again and again, for at most so long, until it is
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration)]
    timeout: Duration,
    #[command(flatten)]
    target: Target,
}

impl Ready {
    pub(super) async fn run(self, console: &mut Console<'_>) -> Result<Answer, Failure> {
        let remote = self.target.remote(console.env)?;
        let end = Instant::now() + self.timeout;
        loop {
            let state = ask(&remote).await;
            if state.is_ok() || Instant::now() >= end {
                return show(&remote, state, console);
            }
            sleep(EVERY).await;
        }
    }
}

async fn ask(remote: &Remote) -> Result<(), String> {
    match remote.ask(Method::GET, "/_ready", None).await {
        Ok(reply) if reply.status == StatusCode::OK => Ok(()),
        Ok(reply) => Err(remote.refusal(&reply).to_string()),
        Err(failure) => Err(failure.to_string()),
    }
}

fn show(remote: &Remote, state: Result<(), String>, console: &mut Console<'_>) -> Result<Answer, Failure> {
    let (answer, why) = match state {
        Ok(()) => (Answer::Yes, None),
        Err(why) => (Answer::No, Some(why)),
    };
    if remote.json {
        let ready = answer == Answer::Yes;
        writeln!(console.out, "{}", serde_json::json!({"ready": ready, "reason": why}))?;
    } else {
        let text = why.map_or_else(|| "ready".to_owned(), |why| format!("not ready: {why}"));
        writeln!(console.out, "{text}")?;
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Answer;
    use crate::cli::testing::Stub;

    #[tokio::test]
    async fn ready_is_yes_or_no() {
        let (ended, text) = Stub::answering(200, json!({})).await.run(&["ready"]).await;
        assert_eq!((ended.unwrap(), text.as_str()), (Answer::Yes, "ready\n"));
        let starting = json!({"error": {"message": "starting"}});
        let (ended, text) = Stub::answering(503, starting).await.run(&["ready"]).await;
        assert_eq!((ended.unwrap(), text.as_str()), (Answer::No, "not ready: starting\n"));
    }

    #[tokio::test]
    async fn nobody_there_is_a_no_as_well() {
        let free = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let stub = Stub::answering(200, json!({})).await;
        let (ended, text) = stub.run(&["ready", "--url", &format!("http://{free}"), "--json"]).await;
        assert_eq!(ended.unwrap(), Answer::No);
        assert!(text.starts_with(r#"{"ready":false,"reason":"cannot reach "#), "{text}");
    }

    #[tokio::test]
    async fn with_a_timeout_it_is_asked_until_it_is_ready() {
        let stub = Stub::answering_each(vec![(503, String::new()), (503, String::new()), (200, String::new())]).await;
        assert_eq!(stub.run(&["ready", "--timeout", "1m"]).await.0.unwrap(), Answer::Yes);
        assert_eq!(stub.seen().len(), 3);
    }
}
