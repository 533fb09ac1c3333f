//! The PostgreSQL relay, before a real server: what the ledger counts is what the database has.

mod boundaries;
mod faults;
mod large;
mod logins;
mod lost;
mod server;
mod unseen;
