//! Requests that the suite sends: webhooks and deliveries. The other direction of everything else here.
//!
//! [`Courier`] knows where a request may go: [`Allowed`] judges every address that a host's name resolves to, and the connection goes to
//! one of those, so that a second look-up cannot lead elsewhere. [`Opened`] is a connection that waits; many are opened first and then
//! released in one moment. [`Try`] is one request as it stands in the ledger, and [`Courier::deliver`] does all of it in one call.
//!
//! Invariant: nothing is sent that no [`Try`] has entered into the ledger, and a try says `failed` only when not one byte of it left.

mod allowed;
mod batch;
mod courier;
mod gate;
mod letter;
mod meter;
mod opened;
mod parcel;
mod record;
mod signature;
mod target;
#[cfg(test)]
mod tests;
mod trouble;

pub use allowed::Allowed;
pub use batch::{Batch, LONGEST_BATCH, Pace, Sent};
pub use courier::{Courier, Found, NoRoots};
pub use gate::{Gate, Going};
pub use letter::{Letter, Sender};
pub use opened::{Head, Opened};
pub use parcel::{Parcel, Unfit};
pub use record::{Report, Times, Try, Witness};
pub use signature::{Scheme, Secret};
pub use target::{Target, WrongUrl};
pub use trouble::{Trouble, What};

use std::time::Duration;

/// How long one request may take, if nobody says otherwise: to connect, and again from its release to the end of the answer.
pub const TIMEOUT: Duration = Duration::from_secs(20);
/// How many bytes of an answer are read, head and body each.
pub const LARGEST_ANSWER: usize = 64 << 10;
