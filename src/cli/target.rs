//! Which suite is meant: flags over environment over default.

use std::collections::BTreeMap;

use http::Uri;

use super::Failure;
use super::client::Remote;

const DEFAULT_URL: &str = "http://127.0.0.1:8080";

/// Says which suite is meant, and what of it.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct Target {
    /// Where the suite is: its HTTP listener [env: `ACKDROP_URL`] [default: <http://127.0.0.1:8080>]
    #[arg(
        long,
        global = true,
        value_name = "URL",
        help = "Where the suite is: its HTTP listener [env: ACKDROP_URL] [default: http://127.0.0.1:8080]"
    )]
    pub(super) url: Option<String>,
    /// Only this scope's world [env: `ACKDROP_SCOPE`] [default: all of them]
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        help = "Only this scope's world [env: ACKDROP_SCOPE] [default: all of them]"
    )]
    pub(super) scope: Option<String>,
    /// The suite's --admin-token [env: `ACKDROP_ADMIN_TOKEN`]
    #[arg(
        long,
        global = true,
        value_name = "TOKEN",
        help = "The suite's --admin-token [env: ACKDROP_ADMIN_TOKEN]"
    )]
    pub(super) token: Option<String>,
    /// Print the suite's JSON, for machines
    #[arg(long, global = true)]
    pub(super) json: bool,
}

impl Target {
    /// Fills what no flag gave from the environment and the defaults.
    pub(super) fn remote(&self, env: &BTreeMap<String, String>) -> Result<Remote, Failure> {
        let variable = |name: &str| env.get(name).filter(|value| !value.trim().is_empty()).cloned();
        let url = self.url.clone().or_else(|| variable("ACKDROP_URL"));
        let url = url.unwrap_or_else(|| DEFAULT_URL.to_owned());
        let remote = Remote {
            url: url.trim().trim_end_matches('/').to_owned(),
            json: self.json,
            scope: self.scope.clone().or_else(|| variable("ACKDROP_SCOPE")),
            token: self.token.clone().or_else(|| variable("ACKDROP_ADMIN_TOKEN")),
        };
        check_url(&remote.url).map(|()| remote)
    }
}

fn check_url(url: &str) -> Result<(), Failure> {
    let wrong = |why: &str| {
        Err(Failure::Usage(format!(
            "`{url}` {why}; write http://HOST:PORT, the suite's HTTP listener"
        )))
    };
    match url.parse::<Uri>() {
        Ok(uri) if uri.query().is_some() => wrong("has a query"),
        Ok(uri) if uri.scheme_str() == Some("http") && uri.host().is_some() => Ok(()),
        Ok(uri) if uri.scheme_str() == Some("https") => wrong("asks for TLS, which these commands do not speak"),
        _ => wrong("is no URL"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Target;

    fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn flags_win_over_the_environment_and_that_over_the_default() {
        let none = Target::default();
        assert_eq!(
            none.remote(&env(&[])).unwrap().uri("/_stats"),
            "http://127.0.0.1:8080/_stats"
        );
        let set = env(&[("ACKDROP_URL", "http://suite:1/"), ("ACKDROP_SCOPE", "a b")]);
        assert_eq!(
            none.remote(&set).unwrap().uri("/_stats"),
            "http://suite:1/_stats?scope=a+b"
        );
        let flags = Target {
            url: Some("http://h:2/~x".to_owned()),
            scope: Some("c".to_owned()),
            ..none
        };
        assert_eq!(
            flags.remote(&set).unwrap().uri("/_stats"),
            "http://h:2/~x/_stats?scope=c"
        );
    }

    #[test]
    fn a_wrong_url_says_how_to_write_one() {
        for (url, words) in [
            ("localhost:8080", "is no URL"),
            ("https://h", "asks for TLS"),
            ("http://h/?x", "has a query"),
        ] {
            let target = Target {
                url: Some(url.to_owned()),
                ..Target::default()
            };
            let said = target.remote(&env(&[])).unwrap_err().to_string();
            assert!(said.contains(words) && said.contains("http://HOST:PORT"), "{said}");
        }
    }
}
