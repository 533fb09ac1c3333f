//! A mailer that sends one mail in one session, as engines do.

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Take};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use super::job::Heard;

/// How many bytes of replies a session reads at most.
const LONGEST_SESSION: u64 = 64 << 10;

/// Is a mail to be sent, and the login to send it by.
#[derive(Debug)]
pub(super) struct Mail {
    pub(super) login: String,
    pub(super) sender: &'static str,
    pub(super) recipient: &'static str,
    pub(super) subject: &'static str,
    pub(super) text: &'static str,
}

impl Mail {
    /// Sends it once, under a Message-ID of this try.
    pub(super) async fn send(&self, addr: SocketAddr) -> Heard {
        match self.session(addr).await {
            Ok(heard) => heard,
            Err(error) => Heard::Nothing(error.to_string()),
        }
    }

    async fn session(&self, addr: SocketAddr) -> io::Result<Heard> {
        let mut session = Session::open(addr).await?;
        let login = STANDARD.encode(format!("\0{}\0secret", self.login));
        let dialogue = [
            (None, "220"),
            (Some("EHLO worker.example".to_owned()), "250"),
            (Some(format!("AUTH PLAIN {login}")), "235"),
            (Some(format!("MAIL FROM:<{}>", self.sender)), "250"),
            (Some(format!("RCPT TO:<{}>", self.recipient)), "250"),
            (Some("DATA".to_owned()), "354"),
            (Some(self.content()), "250"),
        ];
        for (command, wanted) in dialogue {
            let reply = session.say(command.as_deref()).await?;
            if !reply.starts_with(wanted) {
                return Ok(Heard::No(reply));
            }
        }
        // The mail was taken; nothing that happens from here on changes that.
        let _ = session.say(Some("QUIT")).await;
        Ok(Heard::Yes)
    }

    /// Writes header, text and the final dot, whose CRLF the session adds.
    fn content(&self) -> String {
        let mut content = format!("Message-ID: <{:016x}@worker.example>\r\n", fastrand::u64(..));
        let headers = [("From", self.sender), ("To", self.recipient), ("Subject", self.subject)];
        for (name, value) in headers {
            let _ = write!(content, "{name}: {value}\r\n");
        }
        let _ = write!(content, "\r\n{}\r\n.", self.text);
        content
    }
}

struct Session {
    replies: BufReader<Take<OwnedReadHalf>>,
    commands: OwnedWriteHalf,
}

impl Session {
    async fn open(addr: SocketAddr) -> io::Result<Self> {
        let (read, commands) = TcpStream::connect(addr).await?.into_split();
        let replies = BufReader::new(read.take(LONGEST_SESSION));
        Ok(Self { replies, commands })
    }

    /// Sends a command, if there is one, and reads the reply to its last line.
    async fn say(&mut self, command: Option<&str>) -> io::Result<String> {
        if let Some(command) = command {
            self.commands.write_all(format!("{command}\r\n").as_bytes()).await?;
        }
        loop {
            let mut line = String::new();
            if self.replies.read_line(&mut line).await? == 0 {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the connection was closed",
                ));
            }
            if line.as_bytes().get(3) != Some(&b'-') {
                return Ok(line.trim_end().to_owned());
            }
        }
    }
}
