//! `ackdrop reset`: begin again at zero.

use http::Method;

use super::target::Target;
use super::{Answer, Console, Failure};

/// Clears objects, keys, counts, journal, mails, deliveries and the API's rules; rules of file, flags and environment start again.
#[derive(Debug, clap::Args)]
pub struct Reset {
    #[command(flatten)]
    target: Target,
}

impl Reset {
    pub(super) async fn run(self, console: &mut Console<'_>) -> Result<Answer, Failure> {
        let remote = self.target.remote(console.env)?;
        let body = remote.call(Method::POST, "/_reset", None).await?;
        if remote.json {
            console.out.write_all(&body)?;
            writeln!(console.out)?;
        } else {
            writeln!(console.out, "reset")?;
        }
        Ok(Answer::Yes)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Answer, Failure};
    use crate::cli::testing::Stub;

    #[tokio::test]
    async fn one_scope_or_everything_is_reset() {
        let stub = Stub::answering(200, json!({"generation": 2})).await;
        let (ended, text) = stub.run(&["reset", "--scope", "alice"]).await;
        assert_eq!((ended.unwrap(), text.as_str()), (Answer::Yes, "reset\n"));
        assert_eq!(stub.run(&["reset", "--json"]).await.1, "{\"generation\":2}\n");
        assert_eq!(stub.seen(), ["POST /_reset?scope=alice - ", "POST /_reset - "]);
    }

    #[tokio::test]
    async fn a_suite_that_says_no_is_believed() {
        let stub = Stub::answering(401, json!({"error": {"message": "the token is wrong"}})).await;
        let (ended, text) = stub.run(&["reset"]).await;
        let said = ended.unwrap_err();
        assert!(matches!(said, Failure::Refused(_)) && said.to_string() == "the token is wrong" && text.is_empty());
    }
}
