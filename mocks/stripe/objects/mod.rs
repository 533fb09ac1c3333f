//! The objects: compact immutable versions, and how each is shown.

mod balance;
mod card;
mod charge;
mod customer;
mod deleted;
mod details;
mod endpoint;
mod event;
mod intent;
mod method;
mod refund;
mod resource;
mod shown;
mod token;

pub(crate) use balance::{Balance, Holdings};
pub(crate) use card::{CardSource, Source};
pub(crate) use charge::{Charge, Terms};
pub(crate) use customer::Customer;
pub(crate) use deleted::Deleted;
pub(crate) use details::{Address, Billing, Shipping};
pub(crate) use endpoint::Endpoint;
pub(crate) use event::{Event, Request};
pub(crate) use intent::{CaptureMethod, Failed, Intent, IntentTerms, Status};
pub(crate) use method::Method;
pub(crate) use refund::Refund;
pub(crate) use resource::{Kind, Resource, Target, Thing};
pub(crate) use shown::{Expanded, Link, Page, Shown};
pub(crate) use token::Token;
