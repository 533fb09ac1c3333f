//! The objects: compact immutable versions, and how each is shown.

mod balance;
mod card;
mod charge;
mod coupon;
mod customer;
mod deleted;
mod details;
mod event;
mod intent;
mod method;
mod price;
mod product;
mod promotion;
mod refund;
mod resource;
mod shown;
mod token;

pub(crate) use balance::{Balance, Holdings};
pub(crate) use card::{CardSource, Source};
pub(crate) use charge::{Charge, Terms};
pub(crate) use coupon::{Coupon, Lasts, Off};
pub(crate) use customer::Customer;
pub(crate) use deleted::Deleted;
pub(crate) use details::{Address, Billing, Shipping};
pub(crate) use event::{Event, Request};
pub(crate) use intent::{CaptureMethod, Failed, Intent, IntentTerms, Status};
pub(crate) use method::Method;
pub(crate) use price::{Interval, Plan, Price, Recurring, Transform};
pub(crate) use product::{Dimensions, Product};
pub(crate) use promotion::Promotion;
pub(crate) use refund::Refund;
pub(crate) use resource::{Kind, Resource, Target, Thing};
pub(crate) use shown::{Expanded, Link, Page, Shown};
pub(crate) use token::Token;
