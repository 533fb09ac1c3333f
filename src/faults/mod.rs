//! Fault rules: which attempts, at which point, what the client gets.
