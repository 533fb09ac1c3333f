//! SMTP as raw bytes.

use std::io;
use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::{App, Call, Conn, End};

/// Says how a mail session is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Smtp,
    Smtps,
    StartTls,
}

impl Over {
    pub(crate) const ALL: [Self; 3] = [Self::Smtp, Self::Smtps, Self::StartTls];

    /// Returns how an end without `close_notify` looks.
    pub(crate) fn cut(self) -> End {
        if self == Self::Smtp {
            End::Orderly
        } else {
            End::Truncated
        }
    }
}

/// Is one session, seen from its client.
pub(crate) struct Mailer {
    pub(crate) conn: Conn,
}

impl App {
    pub(crate) fn smtp(&self) -> SocketAddr {
        self.suite.addresses().smtp().unwrap()
    }

    pub(crate) fn smtps(&self) -> SocketAddr {
        self.suite.addresses().smtps().unwrap()
    }

    /// Opens a session, up to and without the greeting.
    pub(crate) async fn knock(&self, over: Over) -> Mailer {
        let conn = match over {
            Over::Smtp | Over::StartTls => Conn::plain(self.smtp()).await,
            Over::Smtps => self.connect_tls(self.smtps()).await,
        };
        Mailer { conn }
    }

    /// Opens a session, up to the reply to EHLO, the second one after STARTTLS.
    pub(crate) async fn mailer_over(&self, over: Over) -> Mailer {
        let mut mailer = self.knock(over).await;
        mailer.expect("", "220").await;
        mailer.expect("EHLO client.test", "250").await;
        if over == Over::StartTls {
            mailer.expect("STARTTLS", "220").await;
            mailer.conn = mailer.conn.secure(self.suite.ca_pem(), "mail.test").await;
            mailer.expect("EHLO client.test", "250").await;
        }
        mailer
    }

    /// Opens a plain session, up to the reply to EHLO.
    pub(crate) async fn mailer(&self) -> Mailer {
        self.mailer_over(Over::Smtp).await
    }

    /// Lists the mails that a query of `/_mail` finds, newest first.
    pub(crate) async fn mails(&self, query: &str) -> Vec<Value> {
        let list = self.admin(Call::get(&format!("/_mail{query}"))).await;
        list["mails"].as_array().unwrap().clone()
    }

    /// Returns a mail byte for byte.
    pub(crate) async fn raw(&self, mail: &Value) -> Vec<u8> {
        let answer = self
            .call(Call::get(&format!("/_mail/{}/raw", mail["id"].as_str().unwrap())))
            .await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body
    }

    /// Sends one mail on a session of its own, and returns the reply to its dot.
    pub(crate) async fn post(&self, recipient: &str, content: &str) -> String {
        self.mailer().await.post(recipient, content).await
    }
}

impl Mailer {
    /// Sends one line.
    pub(crate) async fn send(&mut self, line: &str) {
        self.conn.send(format!("{line}\r\n").as_bytes()).await;
    }

    /// Reads one reply, its lines joined by a line feed.
    pub(crate) async fn reply(&mut self) -> String {
        let mut reply = String::new();
        loop {
            let line = self.conn.line().await;
            let more = line.as_bytes().get(3) == Some(&b'-');
            reply.push_str(&line);
            if !more {
                return reply;
            }
            reply.push('\n');
        }
    }

    /// Sends one line, or none, and returns the reply.
    pub(crate) async fn say(&mut self, line: &str) -> String {
        if !line.is_empty() {
            self.send(line).await;
        }
        self.reply().await
    }

    /// Sends one line, or none, and returns the reply, which must begin so.
    pub(crate) async fn expect(&mut self, line: &str, begin: &str) -> String {
        let reply = self.say(line).await;
        assert!(reply.starts_with(begin), "{line:?}: {reply:?} and not {begin}");
        reply
    }

    /// Logs in by AUTH PLAIN, and returns the reply.
    pub(crate) async fn log_in(&mut self, user: &str, password: &str) -> String {
        let credentials = STANDARD.encode(format!("\0{user}\0{password}"));
        self.say(&format!("AUTH PLAIN {credentials}")).await
    }

    /// Begins a mail, up to the 354.
    pub(crate) async fn open(&mut self, recipient: &str) {
        self.expect("MAIL FROM:<shop@shop.test>", "250").await;
        self.expect(&format!("RCPT TO:<{recipient}>"), "250").await;
        self.expect("DATA", "354").await;
    }

    /// Sends content and the dot; it must have no line that begins with one.
    pub(crate) async fn dot(&mut self, content: &str) {
        self.conn.send(format!("{content}.\r\n").as_bytes()).await;
    }

    /// Sends one mail, and returns the reply to its dot.
    pub(crate) async fn post(&mut self, recipient: &str, content: &str) -> String {
        self.open(recipient).await;
        self.dot(content).await;
        self.reply().await
    }

    /// Sends all in one write, then reads to the end and says how it came. A reset may come while there is still something to write.
    pub(crate) async fn send_to_the_end(&mut self, wire: &str) -> (String, End) {
        let sent = self.conn.send_lossy(wire.as_bytes()).await;
        let (replies, end) = self.rest().await;
        let reset = sent.is_err_and(|e| e.kind() == io::ErrorKind::ConnectionReset);
        (replies, if reset { End::Reset } else { end })
    }

    /// Reads to the end and says how it came.
    pub(crate) async fn rest(&mut self) -> (String, End) {
        let (bytes, end) = self.conn.rest().await;
        (String::from_utf8(bytes).unwrap(), end)
    }
}

/// Writes a mail.
pub(crate) fn letter(message_id: &str, body: &str) -> String {
    format!("Message-ID: <{message_id}>\r\nFrom: shop@shop.test\r\nSubject: Receipt\r\n\r\n{body}\r\n")
}

/// Lists the replies of a text by their codes.
pub(crate) fn codes(replies: &str) -> Vec<&str> {
    let lines = replies.lines().filter(|line| line.as_bytes().get(3) != Some(&b'-'));
    lines.map(|line| &line[..3.min(line.len())]).collect()
}

impl Conn {
    /// Connects, if the listener lets it.
    pub(crate) async fn try_plain(addr: SocketAddr) -> io::Result<Self> {
        Ok(Self::of(tokio::net::TcpStream::connect(addr).await?))
    }

    /// Connects so that its drop is an RST.
    pub(crate) async fn abrupt(addr: SocketAddr) -> Self {
        let stream = tokio::net::TcpStream::connect(addr).await.unwrap();
        stream.set_zero_linger().unwrap();
        Self::of(stream)
    }
}

/// Offers STARTTLS.
pub(crate) fn starttls() -> ackdrop::suite::Offer {
    ackdrop::suite::Offer {
        starttls: true,
        ..Default::default()
    }
}
