//! The SMTP listeners: the session as a state machine of bytes, the socket that feeds it, and the attempts that come of it.
//!
//! An attempt begins at its MAIL line and ends once:
//!
//! | what happens | outcome | fate |
//! | --- | --- | --- |
//! | the final dot (or `BDAT … LAST`) | as the provider and the rules decide | of the reply to it |
//! | MAIL or DATA refused; DATA without a recipient; too large; a wrong rule in the mail | refused | of that reply |
//! | RSET, EHLO, HELO, QUIT, STARTTLS, another MAIL, or our 421 before the dot | incomplete | of the reply to what ended it |
//! | the client leaves before the dot | incomplete | lost |
//! | a rule loses it before the dot | failed | withheld, or of the gateway's reply |
//!
//! A MAIL line that cannot be read, or comes before EHLO, begins no attempt. A client that half-closes counts as gone: what it sent is
//! still carried out, and it gets no byte more.

mod auth;
mod connection;
mod envelope;
mod event;
mod mail;
mod session;
mod steps;

pub use auth::Mechanism;
pub(crate) use connection::serve;

/// Sets what sessions offer.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The mechanisms for AUTH; PLAIN and LOGIN unless set.
    pub mechanisms: std::sync::Arc<[Mechanism]>,
    /// Whether STARTTLS is offered; not unless set, for a client that does not trust the CA would fail where plaintext works.
    pub starttls: bool,
}

impl Default for Offer {
    fn default() -> Self {
        Self {
            mechanisms: [Mechanism::Plain, Mechanism::Login].into(),
            starttls: false,
        }
    }
}
