//! The objects: compact immutable versions, and how each is shown.

mod balance;
mod card;
mod charge;
mod country;
mod customer;
mod deleted;
mod details;
mod event;
mod intent;
mod meter;
mod meter_event;
mod method;
mod preferences;
mod refund;
mod resource;
mod shown;
mod source;
mod token;

pub(crate) use balance::{Balance, Holdings};
pub(crate) use card::{PaymentSource, Source};
pub(crate) use charge::{Charge, Terms};
pub(crate) use country::CountrySpec;
pub(crate) use customer::Customer;
pub(crate) use deleted::Deleted;
pub(crate) use details::{Address, Billing, Shipping};
pub(crate) use event::{Event, Request};
pub(crate) use intent::{CaptureMethod, Failed, Intent, IntentTerms, Status};
pub(crate) use meter::{Meter, MeterName};
pub(crate) use meter_event::{Adjustment, Identifier, MeterEvent, MeterEventV2, Payload};
pub(crate) use method::Method;
pub(crate) use preferences::Preferences;
pub(crate) use refund::Refund;
pub(crate) use resource::{Kind, Resource, Target, Thing};
pub(crate) use shown::{Expanded, Link, Page, Shown};
pub(crate) use source::{By, SourceObject, Status as SourceStatus};
pub(crate) use token::Token;
