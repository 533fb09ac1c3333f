//! What each operation does.

pub(crate) mod authenticate;
pub(crate) mod balance;
pub(crate) mod charges;
pub(crate) mod confirm;
pub(crate) mod country_specs;
pub(crate) mod coupons;
pub(crate) mod customer_methods;
pub(crate) mod customer_sources;
pub(crate) mod customers;
pub(crate) mod disputes;
pub(crate) mod events;
pub(crate) mod intent_terms;
pub(crate) mod meter_events;
pub(crate) mod meters;
pub(crate) mod payment_intents;
pub(crate) mod payment_methods;
pub(crate) mod prices;
pub(crate) mod products;
pub(crate) mod promotion_codes;
pub(crate) mod refunds;
pub(crate) mod setup_intents;
pub(crate) mod sources;
pub(crate) mod tokens;
pub(crate) mod webhook_endpoints;
