//! The admin API: what it shows, and what it refuses.

mod about;
mod events;
mod guard;
mod holds;
mod journal;
mod stats;
mod stream;
