//! The providers. Each says what it is, identifies, and handles; none knows another.

pub mod orders;
pub mod smtp;
pub mod stripe;
pub mod webhook;

use std::sync::Arc;

use crate::attempt::{About, Outbox as _, Provider as _};
use crate::ledger::Ledger;

/// The name of the provider that takes mail.
pub const MAIL: &str = "smtp";
/// The provider that sends Stripe's webhooks.
pub const WEBHOOKS: &str = stripe::webhooks::NAME;

/// Holds every provider; clones share them.
#[derive(Clone, Debug)]
pub struct Mocks {
    /// The Stripe-like API.
    pub stripe: Arc<stripe::Stripe>,
    /// The order API.
    pub orders: Arc<orders::Orders>,
    /// The mail sink.
    pub smtp: Arc<smtp::Smtp>,
    /// What sends Stripe's webhooks.
    pub stripe_webhooks: Arc<stripe::Webhooks>,
    /// The webhook target.
    pub webhook: Arc<webhook::Webhook>,
}

impl Mocks {
    /// Makes every provider.
    #[must_use]
    pub fn new(ledger: &Ledger, stripe: stripe::Stripe, orders_require_key: bool) -> Self {
        Self {
            stripe: Arc::new(stripe),
            stripe_webhooks: Arc::default(),
            orders: Arc::new(orders::Orders {
                require_key: orders_require_key,
            }),
            smtp: Arc::new(smtp::Smtp::new(ledger.clone())),
            webhook: Arc::new(webhook::Webhook::new(ledger.clone())),
        }
    }

    /// Lists them.
    #[must_use]
    pub fn about(&self) -> Vec<&'static About> {
        vec![
            self.stripe.about(),
            self.stripe_webhooks.about(),
            self.orders.about(),
            self.smtp.about(),
            self.webhook.about(),
        ]
    }
}
