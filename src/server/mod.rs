//! All that owns a socket.
pub mod smtp;
