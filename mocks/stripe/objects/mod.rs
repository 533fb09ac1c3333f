//! The objects: compact immutable versions, and how each is shown.

mod balance;
mod card;
mod charge;
mod customer;
mod deleted;
mod details;
mod dispute;
mod event;
mod intent;
mod method;
mod movement;
mod refund;
mod resource;
mod setup;
mod shown;
mod token;

pub(crate) use balance::{Balance, Holdings, Settling};
pub(crate) use card::{CardSource, Source};
pub(crate) use charge::{Charge, History, Terms};
pub(crate) use customer::Customer;
pub(crate) use deleted::Deleted;
pub(crate) use details::{Address, Billing, Shipping};
pub(crate) use dispute::{Dispute, Evidence, Stage};
pub(crate) use event::{Event, Request};
pub(crate) use intent::{CaptureMethod, Failed, Intent, IntentTerms, LastError, NextAction, Status};
pub(crate) use method::Method;
pub(crate) use movement::{BalanceTransaction, Cause, Movement, key_of};
pub(crate) use refund::{Refund, RefundStatus};
pub(crate) use resource::{Kind, Resource, Target, Thing};
pub(crate) use setup::{Setup, SetupStatus};
pub(crate) use shown::{Expanded, Link, Page, Shown};
pub(crate) use token::Token;
