//! `ackdrop objects`: put objects under chosen ids, and list what can be put.

use clap::Subcommand;
use http::Method;
use serde_json::Value;

use super::faults::segment;
use super::table::aligned;
use super::target::Target;
use super::{Answer, Console, Failure};

/// Puts objects under chosen ids; lists what can be put without a subcommand.
#[derive(Debug, clap::Args)]
pub struct Objects {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Put an object in place of any that has its id; nothing is counted
    Put {
        /// Which: provider/resource/id, such as `stripe/customers/cus_123`
        path: String,
        /// Its fields as JSON, such as '{"email": "a@example.com"}'
        #[arg(default_value = "{}", hide_default_value = true)]
        fields: String,
    },
    /// List the resources, and the fields that their objects may be given
    List,
}

impl Objects {
    pub(super) async fn run(self, console: &mut Console<'_>) -> Result<Answer, Failure> {
        let remote = self.target.remote(console.env)?;
        let (method, path, fields) = match self.action.unwrap_or(Action::List) {
            Action::Put { path, fields } => {
                let fields: Value = serde_json::from_str(&fields)
                    .map_err(|error| Failure::Usage(format!("the fields are no JSON: {error}")))?;
                (Method::PUT, format!("/_objects/{}", segments(&path)?), Some(fields))
            }
            Action::List => (Method::GET, "/_objects".to_owned(), None),
        };
        let (body, answer) = remote.json(method, &path, fields.as_ref()).await?;
        match answer.get("objects").filter(|_| fields.is_none() && !remote.json) {
            Some(objects) => console.out.write_all(render(objects).as_bytes())?,
            None => {
                console.out.write_all(body.trim_ascii_end())?;
                writeln!(console.out)?;
            }
        }
        Ok(Answer::Yes)
    }
}

/// Takes provider, resource and id apart; an order's reference may have slashes of its own.
fn segments(path: &str) -> Result<String, Failure> {
    let parts: Vec<&str> = path.splitn(3, '/').collect();
    if parts.len() < 3 || parts.iter().any(|part| part.is_empty()) {
        let words = format!("`{path}` names no object; write provider/resource/id, such as stripe/customers/cus_123");
        return Err(Failure::Usage(words));
    }
    Ok(parts.into_iter().map(segment).collect::<Vec<_>>().join("/"))
}

fn render(objects: &Value) -> String {
    let mut rows = vec![["object", "fields"].map(str::to_owned).to_vec()];
    for (provider, resources) in objects.as_object().into_iter().flatten() {
        for resource in resources.as_array().into_iter().flatten() {
            let text = |name: &str| resource[name].as_str().unwrap_or_default().to_owned();
            let names = resource["fields"].as_array().map(|fields| {
                let names: Vec<&str> = fields.iter().filter_map(Value::as_str).collect();
                names.join(", ")
            });
            let fields = names.unwrap_or_else(|| "any".to_owned());
            rows.push(vec![format!("{provider}/{}/{}", text("name"), text("id")), fields]);
        }
    }
    aligned(&rows, &[0, 1])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Failure;
    use crate::cli::testing::Stub;

    #[tokio::test]
    async fn an_object_is_put_under_its_path_and_shown() {
        let stub = Stub::answering(201, json!({"id": "cus_123"})).await;
        let line = ["objects", "put", "stripe/customers/cus_123", r#"{"name":"A"}"#];
        let (answer, text) = stub.run(&line).await;
        answer.unwrap();
        assert!(text.contains("cus_123"), "{text}");
        stub.run(&["objects", "put", "orders/orders/2026/17", "--scope", "alice"])
            .await
            .0
            .unwrap();
        assert_eq!(
            stub.seen(),
            [
                r#"PUT /_objects/stripe/customers/cus%5F123 - {"name":"A"}"#,
                "PUT /_objects/orders/orders/2026%2F17?scope=alice - {}",
            ]
        );
        for line in [&["objects", "put", "cus_123"][..], &["objects", "put", "a/b/c", "{"]] {
            assert!(matches!(stub.run(line).await.0, Err(Failure::Usage(_))), "{line:?}");
        }
    }

    #[tokio::test]
    async fn what_can_be_put_is_a_line_each() {
        let stub = Stub::answering(
            200,
            json!({"objects": {
            "orders": [{"name": "orders", "id": "the order's reference", "fields": null}],
            "stripe": [{"name": "customers", "id": "cus_", "fields": ["email", "name"]}]}}),
        )
        .await;
        insta::assert_snapshot!(stub.run(&["objects"]).await.1, @r"
        object                               fields
        orders/orders/the order's reference  any
        stripe/customers/cus_                email, name
        ");
    }
}
