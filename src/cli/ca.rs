//! `ackdrop ca`: the certificate that clients must trust.

use std::path::PathBuf;

use http::Method;

use super::target::Target;
use super::{Answer, Console, Failure};

/// Prints the CA's certificate as PEM, for a file: `ackdrop ca > ca.pem`. How clients are told to trust it goes to standard error.
#[derive(Debug, clap::Args)]
pub struct Ca {
    /// Read it from the folder that `serve --ca DIR` keeps, without asking a suite
    #[arg(long, value_name = "DIR")]
    ca: Option<PathBuf>,
    #[command(flatten)]
    target: Target,
}

impl Ca {
    pub(super) async fn run(self, console: &mut Console<'_>) -> Result<Answer, Failure> {
        let remote = self.target.remote(console.env)?;
        let pem = match self.ca {
            Some(dir) => {
                let file = dir.join("ca.pem");
                let wrong = |why: String| Failure::Usage(format!("cannot read {}: {why}", file.display()));
                let pem = std::fs::read(&file).map_err(|error| wrong(error.to_string()))?;
                certificate(pem).ok_or_else(|| wrong(NO_PEM.to_owned()))?
            }
            None => {
                let pem = remote.call(Method::GET, "/_ca.pem", None).await?;
                certificate(pem.to_vec()).ok_or_else(|| remote.strange(NO_PEM.to_owned()))?
            }
        };
        if remote.json {
            writeln!(
                console.out,
                "{}",
                serde_json::json!({"pem": String::from_utf8_lossy(&pem)})
            )?;
        } else {
            console.out.write_all(&pem)?;
            console.out.flush()?;
            // Where standard error is closed the certificate alone has to do.
            let _ = console.err.write_all(HOW.as_bytes());
        }
        Ok(Answer::Yes)
    }
}

/// Says how clients are told to trust it.
const HOW: &str = "
Keep it in a file (ackdrop ca > ca.pem), and tell your client:
  Node     NODE_EXTRA_CA_CERTS=ca.pem node app.js
  Python   SSL_CERT_FILE=ca.pem (requests: REQUESTS_CA_BUNDLE=ca.pem; stripe: stripe.ca_bundle_path = \"ca.pem\")
  Java     keytool -importcert -noprompt -alias ackdrop -file ca.pem -keystore ca.p12 -storepass changeit
           java -Djavax.net.ssl.trustStore=ca.p12 -Djavax.net.ssl.trustStorePassword=changeit …
  curl     curl --cacert ca.pem … (or CURL_CA_BUNDLE=ca.pem)
  Go       SSL_CERT_FILE=ca.pem (on Linux)
  Docker   COPY ca.pem /usr/local/share/ca-certificates/ackdrop.crt
           RUN update-ca-certificates
           or mount it, and set the variable of your client: -v ./ca.pem:/ca.pem -e NODE_EXTRA_CA_CERTS=/ca.pem
The CA is made anew at each start, unless `ackdrop --ca DIR` keeps it.
";

const NO_PEM: &str = "no certificate in PEM";

fn certificate(pem: Vec<u8>) -> Option<Vec<u8>> {
    pem.starts_with(b"-----BEGIN CERTIFICATE-----").then_some(pem)
}

#[cfg(test)]
mod tests {
    use super::Failure;
    use crate::cli::testing::Stub;
    use crate::net::tls::Authority;

    #[tokio::test]
    async fn from_the_suite_and_from_its_folder_comes_the_same_certificate() {
        let dir = tempfile::tempdir().unwrap();
        let authority = Authority::open(Some(dir.path())).unwrap();
        let stub = Stub::answering_text(200, authority.pem()).await;
        assert_eq!(stub.run(&["ca"]).await.1, authority.pem());
        assert_eq!(
            stub.run(&["ca", "--ca", dir.path().to_str().unwrap()]).await.1,
            authority.pem()
        );
        assert_eq!(stub.seen(), ["GET /_ca.pem - "], "the folder is read without asking");
    }

    #[tokio::test]
    async fn what_is_no_certificate_is_not_printed() {
        let stub = Stub::answering_text(200, "<html>").await;
        let (ended, text) = stub.run(&["ca"]).await;
        assert!(matches!(ended, Err(Failure::Strange { .. })) && text.is_empty());
        let (ended, _) = stub.run(&["ca", "--ca", "/nowhere"]).await;
        assert!(
            ended
                .unwrap_err()
                .to_string()
                .starts_with("cannot read /nowhere/ca.pem: ")
        );
    }
}
