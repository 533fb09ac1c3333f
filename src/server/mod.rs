//! All that owns a socket.
