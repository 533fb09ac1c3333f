//! What happens in a session, and what it is told at its start.

use super::Offer;
use crate::attempt::Mail;
use crate::net::smtp::command::Rcpt;
use crate::net::smtp::speech::Speech;
use crate::store::Scope;

/// Sets what a session offers and allows.
#[derive(Clone, Debug)]
pub(super) struct Options {
    /// How many bytes a mail may have.
    pub(super) max_mail: u64,
    /// How many recipients a mail may have.
    pub(super) max_recipients: usize,
    /// What is offered.
    pub(super) offer: Offer,
}

/// Is what happened.
#[derive(Debug)]
pub(super) enum Event {
    /// Nothing but an answer.
    Say(Speech),
    /// An answer, and the end of the session.
    Leave(Speech),
    /// EHLO or HELO. A transaction, if there was one, is over.
    Hello(Speech),
    /// A login, accepted unless [`Session::log_out`](super::session::Session::log_out).
    Auth(Speech),
    /// RSET. A transaction, if there was one, is over.
    Reset(Speech),
    /// QUIT. A transaction, if there was one, is over.
    Quit(Speech),
    /// STARTTLS, accepted: what was sent behind it is to be thrown away, and [`Session::secure`](super::session::Session::secure) called.
    StartTls(Speech),
    /// A transaction begins; the one before, if there was one, is over.
    Mail {
        line: String,
        speech: Speech,
        refused: bool,
    },
    /// A recipient; to be added by [`Session::add`](super::session::Session::add).
    Rcpt { rcpt: Rcpt, speech: Speech },
    /// DATA; to be gone on with by [`Session::open`](super::session::Session::open).
    Data(Speech),
    /// The first BDAT.
    Chunk,
    /// Some content came, or its end.
    Progress,
    /// DATA or BDAT, but no recipient was accepted: the transaction is over.
    Nobody(Speech),
    /// All content came, and the mail had been refused before: the transaction is over.
    Refused(Speech),
    /// The mail is whole, and the transaction over.
    Whole(Mail),
}

/// Is a login.
#[derive(Clone, Debug)]
pub(super) struct Login {
    /// The user's name.
    pub(super) user: String,
    /// The scope that the name carries.
    pub(super) scope: Option<Scope>,
}
