//! How a client logs in and goes on inside TLS.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::session::Session;
use crate::faults::Step;
use crate::net::accept::handshake;
use crate::net::ending::Ending;
use crate::net::smtp::lines::Lines;
use crate::net::smtp::speech::Speech;
use crate::net::stream::Stream;
use crate::store::Scope;

impl Session {
    /// Lets a client log in: to the upstream, or, where the relay has logged in itself, with whatever it says.
    pub(super) async fn auth(&mut self, line: &[u8], mechanism: &str, initial: Option<String>) -> Result<(), Ending> {
        if let Some(speech) = self.meet_session(Step::Auth).await? {
            return self.say(&speech, None).await;
        }
        if self.relay.spec.upstream.user.is_some() {
            return self.take_any_login(mechanism, initial).await;
        }
        let mut heard = self.ask(line).await?;
        while heard.code == 334 {
            self.say(&heard.speech(), None).await?;
            let Some(line) = self.line().await? else {
                return Err(Ending::Gone);
            };
            heard = self.ask(&line).await?;
        }
        self.logged_in |= heard.is_positive();
        self.say(&heard.speech(), None).await
    }

    async fn take_any_login(&mut self, mechanism: &str, initial: Option<String>) -> Result<(), Ending> {
        let prompts: &[&str] = match (mechanism, &initial) {
            ("PLAIN", Some(_)) => &[],
            ("PLAIN", None) => &[""],
            ("LOGIN", Some(_)) => &["UGFzc3dvcmQ6"],
            ("LOGIN", None) => &["VXNlcm5hbWU6", "UGFzc3dvcmQ6"],
            _ => {
                let speech = self.own(504, "only PLAIN and LOGIN are taken here");
                return self.say(&speech, None).await;
            }
        };
        let mut said: Vec<String> = initial.into_iter().collect();
        for prompt in prompts {
            self.say(&Speech::new(334, *prompt), None).await?;
            let Some(line) = self.line().await? else {
                return Err(Ending::Gone);
            };
            said.push(String::from_utf8_lossy(line.trim_ascii_end()).into_owned());
        }
        self.login_scope = said.first().and_then(|first| scope_of(mechanism, first));
        self.say(
            &Speech::new(235, "2.7.0 The relay has logged in itself, and takes any login"),
            None,
        )
        .await
    }

    pub(super) async fn start_tls(&mut self, line: &[u8]) -> Result<(), Ending> {
        let ended = self.interrupt();
        let heard = self.ask(line).await?;
        if heard.code != 220 {
            return self.say(&heard.speech(), ended).await;
        }
        let link = self.link.take().ok_or(Ending::Close)?;
        match link.secure().await {
            Ok(link) => self.link = Some(link),
            Err(silent) => return self.leave(self.own(421, &silent.to_string()), ended).await,
        }
        self.say(&heard.speech(), ended).await?;
        self.flush().await?;
        // RFC 3207, section 4.2: what stands behind STARTTLS must not be obeyed inside TLS.
        (self.input, self.lines) = (Vec::new(), Lines::default());
        let socket = self.stream.socket();
        match handshake(&[], Stream::Plain(socket), &self.relay.house).await {
            Some(stream) => {
                self.stream = stream;
                Ok(())
            }
            None => Err(Ending::Gone),
        }
    }
}

/// Finds the scope that the first word of a login carries.
fn scope_of(mechanism: &str, first: &str) -> Option<Scope> {
    let decoded = STANDARD.decode(first.trim()).ok()?;
    let text = String::from_utf8(decoded).ok()?;
    let user = match mechanism {
        "PLAIN" => text.split('\0').nth(1)?,
        _ => &text,
    };
    Scope::parse(user.strip_prefix('~')?).ok()
}
