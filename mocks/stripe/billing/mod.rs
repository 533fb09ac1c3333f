//! Billing: what customers owe, and how it is collected, by a call or in its own time.
//!
//! `totals` adds up (pure), `period` counts time (pure), `discounts` redeems coupons, `draft` makes invoices, `collect` finalizes and pays
//! them, `cycle` is a subscription's way through its periods, `agenda` is what falls due, on the world's clock or on a test clock.

pub(crate) mod agenda;
pub(crate) mod collect;
pub(crate) mod cycle;
pub(crate) mod discounts;
pub(crate) mod draft;
pub(crate) mod period;
pub(crate) mod totals;
