//! The harness: a suite on free ports, raw clients, and the invariants that hold after every test.

mod app;
mod conn;
mod http;
mod smtp;

pub(crate) use app::{App, with, within};
pub(crate) use conn::{Conn, End, Leave};
pub(crate) use http::{Answer, Call};
pub(crate) use smtp::{Mailer, Over, codes, letter, starttls};
