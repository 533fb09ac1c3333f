//! The SMTP listeners: the session as a state machine of bytes, the socket that feeds it, and the attempts that come of it.

mod auth;
mod command;
mod content;
mod envelope;
mod lines;
mod session;
mod speech;

pub use auth::Mechanism;

/// Sets what a session offers and allows.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many bytes a mail may have.
    pub max_mail: u64,
    /// How many recipients a mail may have.
    pub max_recipients: usize,
    /// The mechanisms offered for AUTH.
    pub mechanisms: std::sync::Arc<[Mechanism]>,
    /// Whether STARTTLS is offered.
    pub starttls: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_mail: 50 << 20,
            max_recipients: 1_000,
            mechanisms: [Mechanism::Plain, Mechanism::Login].into(),
            starttls: false,
        }
    }
}
