//! `ackdrop relays`: what runs, and how to start and stop one.

use clap::Subcommand;
use http::Method;
use serde_json::{Value, json};

use super::client::Remote;
use super::faults::segment;
use super::table::aligned;
use super::target::Target;
use super::{Answer, Console, Failure};

/// Lists, starts and stops relays; lists them without a subcommand.
#[derive(Debug, clap::Args)]
pub struct Relays {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the relays that run
    List,
    /// Start one: name=LISTEN,UPSTREAM[;option=value]…
    Start {
        /// `NAME=LISTEN,UPSTREAM[;option=value]…`, such as pay=127.0.0.1:9000,smtp://mail.example.com;class=enforced
        relay: String,
    },
    /// Stop one; its counts stay
    Stop {
        /// Its name
        name: String,
    },
}

impl Relays {
    pub(super) async fn run(self, console: &mut Console<'_>) -> Result<Answer, Failure> {
        let remote = self.target.remote(console.env)?;
        match self.action.unwrap_or(Action::List) {
            Action::List => {
                let (body, answer) = remote.json(Method::GET, "/_relays", None).await?;
                let relays = answer.get("relays").and_then(Value::as_array);
                let relays = relays.ok_or_else(|| remote.strange("no `relays` in it".to_owned()))?;
                write(&remote, &body, &render(relays), console)
            }
            Action::Start { relay } => {
                let (body, answer) = remote.json(Method::POST, "/_relays", Some(&json!(relay))).await?;
                write(&remote, &body, &render(&[answer]), console)
            }
            Action::Stop { name } => {
                let path = format!("/_relays/{}", segment(&name));
                let (body, _) = remote.json(Method::DELETE, &path, None).await?;
                write(&remote, &body, &format!("stopped {name}\n"), console)
            }
        }
    }
}

fn write(remote: &Remote, body: &[u8], text: &str, console: &mut Console<'_>) -> Result<Answer, Failure> {
    if remote.json {
        console.out.write_all(body.trim_ascii_end())?;
        writeln!(console.out)?;
    } else {
        console.out.write_all(text.as_bytes())?;
    }
    Ok(Answer::Yes)
}

fn render(relays: &[Value]) -> String {
    if relays.is_empty() {
        return "no relay runs\n".to_owned();
    }
    let head = ["name", "address", "upstream", "class"];
    let row = |relay: &Value| {
        let text = |name: &&str| relay[*name].as_str().unwrap_or_default().to_owned();
        head.iter().map(text).collect::<Vec<_>>()
    };
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(relays.iter().map(row));
    aligned(&rows, &[0, 1, 2, 3])
}
