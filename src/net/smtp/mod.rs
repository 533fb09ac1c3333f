//! What SMTP sessions are made of, whoever holds them: lines, commands, content, replies. It eats bytes, and owns no socket.

pub(crate) mod command;
pub(crate) mod content;
pub(crate) mod lines;
pub(crate) mod speech;
