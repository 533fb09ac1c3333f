//! What each operation does.

pub(crate) mod balance;
pub(crate) mod charges;
pub(crate) mod confirm;
pub(crate) mod customers;
pub(crate) mod events;
pub(crate) mod payment_intents;
pub(crate) mod payment_methods;
pub(crate) mod refunds;
pub(crate) mod tokens;
pub(crate) mod webhook_endpoints;
