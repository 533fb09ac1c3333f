//! Sends one mail a line of stdin ("login, tab, timeout in ms") with lettre, and says what it saw.

use std::io::{Write as _, stdin, stdout};
use std::time::Duration;

use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::Credentials;
use lettre::{Message, SmtpTransport, Transport as _};

fn send(port: u16, user: &str, timeout: Duration) -> Result<(), Error> {
    let mail = Message::builder()
        .from("a@example.com".parse().expect("it is an address"))
        .to("b@example.com".parse().expect("it is an address"))
        .subject("Receipt 17")
        .body("Thank you.".to_owned())
        .expect("it is a mail");
    SmtpTransport::builder_dangerous("127.0.0.1")
        .port(port)
        .credentials(Credentials::new(user.to_owned(), "secret".to_owned()))
        .timeout(Some(timeout))
        .build()
        .send(&mail)
        .map(drop)
}

fn seen(sent: Result<(), Error>) -> String {
    let Err(error) = sent else { return "ok".to_owned() };
    match error.status() {
        Some(code) if error.is_transient() => format!("transient error {code}"),
        Some(code) => format!("permanent error {code}"),
        None => error.to_string(),
    }
}

fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).and_then(|arg| arg.parse().ok());
    let port = port.ok_or_else(|| std::io::Error::other("usage: lettre PORT"))?;
    writeln!(stdout(), "ready")?;
    for line in stdin().lines() {
        let line = line?;
        let (user, timeout) = line.split_once('\t').unwrap_or((&line, "30000"));
        let timeout = Duration::from_millis(timeout.parse().map_err(std::io::Error::other)?);
        writeln!(stdout(), "{}", seen(send(port, user, timeout)))?;
    }
    Ok(())
}
