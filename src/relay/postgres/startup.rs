//! How a connection begins: TLS, a request to cancel, or the startup message.

use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::connection::Connection;
use super::frames::{error, length, text};
use super::{login, upstream};
use crate::ledger::Peer;
use crate::net::accept::handshake;
use crate::net::ending::Ending;
use crate::net::socket::Socket;
use crate::net::stream::Stream;
use crate::relay::{Relay, SslMode};
use crate::store::Scope;

/// How long a startup message may be, as the server has it.
const LONGEST: u32 = 10_000;
const CANCEL: u32 = 80_877_102;
const SSL: u32 = 80_877_103;
const GSS: u32 = 80_877_104;
/// The first byte of a TLS handshake, for clients that ask for none in words.
const TLS_HANDSHAKE: u8 = 0x16;
/// The name by which psql 17 wants TLS for this protocol to be known; it refuses others.
const ALPN: &[&[u8]] = &[b"postgresql"];
/// How often a client may ask for encryption.
const MOST_REQUESTS: usize = 4;

/// Is a startup message.
#[derive(Debug)]
pub(super) struct Startup {
    /// The message as it came.
    pub(super) bytes: Vec<u8>,
    /// The parameters.
    pub(super) parameters: Vec<(String, String)>,
}

enum Hello {
    Startup(Startup),
    Cancel(Vec<u8>),
}

/// Serves one client to its end.
pub(super) async fn serve(relay: Arc<Relay>, socket: Socket, peer: Peer) {
    let (stop, hang_cap) = (relay.house.way.stop.clone(), relay.house.way.hang_cap);
    let begun = tokio::select! {
        () = stop.cancelled() => None,
        begun = tokio::time::timeout(relay.house.limits.idle, begin(&relay, socket)) => begun.ok().flatten(),
    };
    match begun {
        None => {}
        Some((stream, Hello::Cancel(request))) => {
            tokio::select! {
                () = stop.cancelled() => {}
                () = upstream::cancel(&relay, &request) => {}
            }
            Ending::Close.apply(stream, &stop, hang_cap).await;
        }
        Some((stream, Hello::Startup(startup))) => converse(relay, stream, peer, startup).await,
    }
}

/// Connects to the upstream, logs in where that is the relay's to do, and relays.
async fn converse(relay: Arc<Relay>, mut stream: Stream, peer: Peer, startup: Startup) {
    let (stop, hang_cap) = (relay.house.way.stop.clone(), relay.house.way.hang_cap);
    let begun = async {
        let scope = scope(&relay, &startup).map_err(|why| error("FATAL", "22023", &why))?;
        let opened = login::open(&relay, &startup).await?;
        Ok::<_, Vec<u8>>((scope, opened))
    };
    let begun = tokio::select! {
        () = stop.cancelled() => return,
        begun = begun => begun,
    };
    match begun {
        Ok((scope, opened)) => {
            let replicates = startup
                .parameters
                .iter()
                .any(|(name, value)| name == "replication" && !matches!(value.as_str(), "false" | "off" | "no" | "0"));
            Connection::new(relay, stream, peer, scope, opened, replicates)
                .run()
                .await;
        }
        Err(no) => {
            let said = async {
                stream.write_all(&no).await?;
                stream.flush().await
            };
            let _ = tokio::time::timeout(relay.house.limits.idle, said).await;
            Ending::Close.apply(stream, &stop, hang_cap).await;
        }
    }
}

/// Reads up to the startup message, or a request to cancel; none if the client left or speaks something else.
async fn begin(relay: &Relay, socket: Socket) -> Option<(Stream, Hello)> {
    let mut stream = match socket.first_byte().await.ok()?? {
        TLS_HANDSHAKE if offers_tls(relay) => handshake(ALPN, Stream::Plain(socket), &relay.house).await?,
        _ => Stream::Plain(socket),
    };
    for _ in 0..MOST_REQUESTS {
        let (code, bytes) = packet(&mut stream).await?;
        match code {
            // Inside TLS there is no more to ask for.
            SSL | GSS if matches!(stream, Stream::Tls(_)) => return None,
            SSL if offers_tls(relay) => {
                stream.write_all(b"S").await.ok()?;
                let socket = stream.socket();
                drop(stream);
                stream = handshake(ALPN, Stream::Plain(socket), &relay.house).await?;
            }
            SSL | GSS => stream.write_all(b"N").await.ok()?,
            CANCEL => return Some((stream, Hello::Cancel(bytes))),
            _ if code >> 16 == 3 => {
                let parameters = parameters(&bytes[8..]);
                return Some((stream, Hello::Startup(Startup { bytes, parameters })));
            }
            _ => {
                let why = format!(
                    "the relay speaks version 3 of the protocol, not {}.{}",
                    code >> 16,
                    code & 0xffff
                );
                stream.write_all(&error("FATAL", "0A000", &why)).await.ok()?;
                return None;
            }
        }
    }
    None
}

/// Says whether a client gets TLS: not where its own login goes on to a server inside TLS. It would sign that it could have had a channel
/// binding, and the server, which offers one, would refuse that.
fn offers_tls(relay: &Relay) -> bool {
    let upstream = &relay.spec.upstream;
    upstream.sslmode == SslMode::Disable || upstream.password.is_some()
}

/// Reads one packet without a tag: its code, and all of it. Nothing behind it is read: that may belong to TLS.
async fn packet(stream: &mut Stream) -> Option<(u32, Vec<u8>)> {
    let mut bytes = vec![0; 8];
    stream.read_exact(&mut bytes).await.ok()?;
    let length = Some(length(&bytes)).filter(|length| (8..=LONGEST).contains(length))?;
    let code = self::length(&bytes[4..]);
    bytes.resize(usize::try_from(length).ok()?, 0);
    stream.read_exact(&mut bytes[8..]).await.ok()?;
    Some((code, bytes))
}

fn parameters(mut body: &[u8]) -> Vec<(String, String)> {
    let mut parameters = Vec::new();
    while let Some(name) = text(&mut body).filter(|name| !name.is_empty()) {
        let Some(value) = text(&mut body) else { break };
        let owned = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        parameters.push((owned(name), owned(value)));
    }
    parameters
}

/// Returns the scope that `application_name=~alice` names, or the relay's.
fn scope(relay: &Relay, startup: &Startup) -> Result<Scope, String> {
    let mut named = startup.parameters.iter().filter(|(name, _)| name == "application_name");
    let named = named.find_map(|(_, value)| value.strip_prefix('~'));
    match named {
        Some(name) => {
            Scope::parse(name).map_err(|e| format!("application_name begins with ~ and so names a scope, but {e}"))
        }
        None => Ok(relay.spec.scope.clone().unwrap_or_default()),
    }
}
