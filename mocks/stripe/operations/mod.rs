//! What each operation does.

pub(crate) mod balance;
pub(crate) mod charges;
pub(crate) mod confirm;
pub(crate) mod country_specs;
pub(crate) mod customer_methods;
pub(crate) mod customer_sources;
pub(crate) mod customers;
pub(crate) mod meter_events;
pub(crate) mod meters;
pub(crate) mod payment_intents;
pub(crate) mod payment_methods;
pub(crate) mod refunds;
pub(crate) mod sources;
pub(crate) mod tokens;
