//! The login: the client's own, which passes through, or the relay's, with user and password of the URL.

use std::io;

use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::frames::{error, length, message, text};
use super::startup::Startup;
use super::upstream;
use crate::relay::Relay;
use crate::relay::pipe::Wire;

/// How long a message of a login may be.
const LONGEST: u32 = 64 << 10;

/// Is a connection to the server as it begins.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) server: Box<dyn Wire>,
    /// What the client is told before the server says more.
    pub(super) said: Vec<u8>,
}

/// Connects for a client, and logs in if that is the relay's to do.
///
/// # Errors
///
/// Fails with what the client is to be told.
pub(super) async fn open(relay: &Relay, startup: &Startup) -> Result<Opened, Vec<u8>> {
    let unreachable = |why: io::Error| {
        let name = &relay.spec.name;
        error(
            "FATAL",
            "08001",
            &format!("relay {name}: no connection to {}: {why}", relay.spec.upstream),
        )
    };
    let mut server = upstream::connect(relay).await.map_err(unreachable)?;
    let upstream = &relay.spec.upstream;
    let Some(password) = &upstream.password else {
        server.write_all(&startup.bytes).await.map_err(unreachable)?;
        server.flush().await.map_err(unreachable)?;
        let said = Vec::new();
        return Ok(Opened { server, said });
    };
    let user = upstream.user.as_deref().unwrap_or_default();
    let mut login = Login { server, user, password };
    let greeting = own_startup(startup, user, upstream.database());
    match login.run(&greeting).await {
        Ok(()) => Ok(Opened {
            server: login.server,
            said: message(b'R', &[0; 4]),
        }),
        Err(Refused::Said(said)) => Err(said),
        Err(Refused::Broken(why)) => Err(unreachable(why)),
    }
}

/// Makes a startup message of the client's with the user and database of the URL.
fn own_startup(startup: &Startup, user: &str, database: Option<String>) -> Vec<u8> {
    let of = |wanted: &str| {
        let mut found = startup.parameters.iter().filter(|(name, _)| name == wanted);
        found.next().map(|(_, value)| value.clone())
    };
    let database = database.or_else(|| of("database")).or_else(|| of("user"));
    let own = [("user", Some(user.to_owned())), ("database", database)];
    let mut body = startup.bytes[4..8].to_vec();
    let others = startup
        .parameters
        .iter()
        .filter(|(name, _)| name != "user" && name != "database");
    let others = others.map(|(name, value)| (name.as_str(), Some(value.clone())));
    for (name, value) in own.into_iter().chain(others) {
        let Some(value) = value else { continue };
        for text in [name, value.as_str()] {
            body.extend_from_slice(text.as_bytes());
            body.push(0);
        }
    }
    body.push(0);
    let length = u32::try_from(body.len() + 4).unwrap_or(u32::MAX);
    let mut bytes = length.to_be_bytes().to_vec();
    bytes.extend(body);
    bytes
}

enum Refused {
    /// By the server, in these words.
    Said(Vec<u8>),
    /// The connection broke, or asks for what the relay cannot do.
    Broken(io::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

struct Login<'a> {
    server: Box<dyn Wire>,
    user: &'a str,
    password: &'a str,
}

impl Login<'_> {
    async fn run(&mut self, startup: &[u8]) -> Result<(), Refused> {
        self.send(startup).await?;
        loop {
            let (kind, body) = self.authentication().await?;
            match kind {
                0 => return Ok(()),
                3 => self.answer(&with_end(self.password)).await?,
                5 => {
                    let salt = body.get(..4).and_then(|salt| salt.try_into().ok());
                    let salt = salt.ok_or_else(|| io::Error::other("its salt is cut off"))?;
                    let hash = md5_hash(self.user.as_bytes(), self.password.as_bytes(), salt);
                    self.answer(&with_end(&hash)).await?;
                }
                10 => self.scram(&body).await?,
                other => {
                    let why =
                        format!("it asks for login of kind {other}; the relay knows passwords, md5 and SCRAM-SHA-256");
                    return Err(io::Error::other(why).into());
                }
            }
        }
    }

    async fn scram(&mut self, mut mechanisms: &[u8]) -> Result<(), Refused> {
        let offered = std::iter::from_fn(|| text(&mut mechanisms));
        if !offered.into_iter().any(|name| name == SCRAM_SHA_256.as_bytes()) {
            return Err(io::Error::other("it offers no SCRAM-SHA-256").into());
        }
        let mut scram = ScramSha256::new(self.password.as_bytes(), ChannelBinding::unsupported());
        let mut first = with_end(SCRAM_SHA_256);
        let length = u32::try_from(scram.message().len()).unwrap_or_default();
        first.extend(length.to_be_bytes());
        first.extend_from_slice(scram.message());
        self.answer(&first).await?;
        let challenge = self.sasl(11).await?;
        scram.update(&challenge)?;
        let answer = scram.message().to_vec();
        self.answer(&answer).await?;
        let last = self.sasl(12).await?;
        Ok(scram.finish(&last)?)
    }

    async fn sasl(&mut self, wanted: u32) -> Result<Vec<u8>, Refused> {
        match self.authentication().await? {
            (kind, body) if kind == wanted => Ok(body),
            (kind, _) => Err(io::Error::other(format!("its login went on with {kind} where {wanted} was due")).into()),
        }
    }

    async fn authentication(&mut self) -> Result<(u32, Vec<u8>), Refused> {
        loop {
            let mut head = [0; 5];
            self.server.read_exact(&mut head).await?;
            let length = length(&head[1..]);
            if !(4..=LONGEST).contains(&length) {
                return Err(io::Error::other("it does not speak the protocol").into());
            }
            let mut body = vec![0; usize::try_from(length - 4).unwrap_or_default()];
            self.server.read_exact(&mut body).await?;
            match head[0] {
                b'R' if body.len() >= 4 => return Ok((self::length(&body), body.split_off(4))),
                b'E' => return Err(Refused::Said(message(b'E', &body))),
                b'N' | b'v' => {}
                tag => {
                    let why = format!("it began the login with a message of type {:?}", char::from(tag));
                    return Err(io::Error::other(why).into());
                }
            }
        }
    }

    async fn answer(&mut self, body: &[u8]) -> io::Result<()> {
        self.send(&message(b'p', body)).await
    }

    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.server.write_all(bytes).await?;
        self.server.flush().await
    }
}

fn with_end(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    bytes
}
