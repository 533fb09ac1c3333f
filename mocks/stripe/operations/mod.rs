//! What each operation does.

pub(crate) mod authenticate;
pub(crate) mod balance;
pub(crate) mod charges;
pub(crate) mod confirm;
pub(crate) mod coupons;
pub(crate) mod customers;
pub(crate) mod disputes;
pub(crate) mod events;
pub(crate) mod intent_terms;
pub(crate) mod invoice_payments;
pub(crate) mod invoiceitems;
pub(crate) mod invoices;
pub(crate) mod payment_intents;
pub(crate) mod payment_methods;
pub(crate) mod prices;
pub(crate) mod products;
pub(crate) mod promotion_codes;
pub(crate) mod refunds;
pub(crate) mod setup_intents;
pub(crate) mod subscription_items;
pub(crate) mod subscription_terms;
pub(crate) mod subscription_update;
pub(crate) mod subscriptions;
pub(crate) mod test_clocks;
pub(crate) mod tokens;
pub(crate) mod webhook_endpoints;
