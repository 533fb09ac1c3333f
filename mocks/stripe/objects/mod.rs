//! The objects: compact immutable versions, and how each is shown.

mod balance;
mod card;
mod charge;
mod customer;
mod details;
mod intent;
mod method;
mod refund;
mod shown;
mod token;

pub(crate) use balance::{Balance, Holdings};
pub(crate) use card::Source;
pub(crate) use charge::{Charge, Terms};
pub(crate) use customer::Customer;
pub(crate) use details::{Address, Billing, Shipping};
pub(crate) use intent::{CaptureMethod, Failed, Intent, IntentTerms, Status};
pub(crate) use method::Method;
pub(crate) use refund::Refund;
pub(crate) use shown::{Expanded, Kind, Link, Page, Shown, Target, Thing};
pub(crate) use token::Token;
