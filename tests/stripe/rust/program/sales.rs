//! What is sold: by a price, by a subscription, and by a checkout.

use std::collections::BTreeSet;

use stripe::StripeError;
use stripe_billing::{
    invoice::ListInvoice,
    subscription::{CreateSubscription, CreateSubscriptionItems, RetrieveSubscription},
    test_helpers_test_clock::{AdvanceTestHelpersTestClock, CreateTestHelpersTestClock, RetrieveTestHelpersTestClock},
};
use stripe_checkout::checkout_session::{
    CreateCheckoutSession, CreateCheckoutSessionLineItems, ListLineItemsCheckoutSession, RetrieveCheckoutSession,
};
use stripe_core::customer::{CreateCustomer, CreateCustomerInvoiceSettings};
use stripe_product::{
    price::{CreatePrice, CreatePriceRecurring, CreatePriceRecurringInterval, ListPrice},
    product::CreateProduct,
};
use stripe_shared::{
    CheckoutSessionMode, CheckoutSessionPaymentStatus, CheckoutSessionStatus, InvoiceStatus, SubscriptionStatus,
    TestHelpersTestClockStatus,
};
use stripe_types::Currency;

use super::{Program, Step, equal};
use crate::plain;

impl Program {
    pub(super) async fn product(&mut self) -> Step {
        let create = CreateProduct::new(format!("Plan {}", self.scope));
        let product = create.send(&self.client).await?.id;
        let price = || CreatePrice::new(Currency::USD).product(&product);
        let month = CreatePriceRecurring::new(CreatePriceRecurringInterval::Month);
        let monthly = price().unit_amount(1500).recurring(month).send(&self.client).await?.id;
        let single = price().unit_amount(700).send(&self.client).await?.id;
        self.monthly = monthly.to_string();
        self.single = single.to_string();
        let prices = ListPrice::new().product(&product).send(&self.client).await?.data;
        equal(prices.len(), 2)?;
        let ids: BTreeSet<_> = prices.into_iter().map(|each| each.id).collect();
        equal(ids, BTreeSet::from([monthly, single]))
    }

    pub(super) async fn subscription(&mut self) -> Step {
        const BEGIN: i64 = 1_900_000_000;
        const DAY: i64 = 86_400;
        let clock = CreateTestHelpersTestClock::new(BEGIN).send(&self.client).await?.id;
        let settings = CreateCustomerInvoiceSettings {
            default_payment_method: Some("pm_card_visa".to_owned()),
            ..CreateCustomerInvoiceSettings::new()
        };
        let create = CreateCustomer::new()
            .test_clock(&clock)
            .email(format!("clock-{}", self.email))
            .payment_method("pm_card_visa")
            .invoice_settings(settings);
        let customer = create.send(&self.client).await?;
        let item = CreateSubscriptionItems {
            price: Some(self.monthly.clone()),
            ..CreateSubscriptionItems::new()
        };
        let create = CreateSubscription::new()
            .customer(&customer.id)
            .items([item])
            .trial_period_days(7_u32);
        let made = create.send(&self.client).await?;
        equal(made.status, SubscriptionStatus::Trialing)?;
        equal(made.trial_end, Some(BEGIN + 7 * DAY))?;
        let paid = |amount| (amount, Some(InvoiceStatus::Paid));
        equal(self.invoices(&made.id).await?, vec![paid(0)])?;
        self.advance(&clock, BEGIN + 8 * DAY).await?;
        self.advance(&clock, BEGIN + 8 * DAY + 7200).await?;
        let subscription = RetrieveSubscription::new(&made.id).send(&self.client).await?;
        equal(subscription.status, SubscriptionStatus::Active)?;
        equal(self.invoices(&made.id).await?, vec![paid(1500), paid(0)])
    }

    async fn invoices(&self, subscription: &str) -> Result<Vec<(i64, Option<InvoiceStatus>)>, StripeError> {
        let page = ListInvoice::new().subscription(subscription).send(&self.client).await?;
        let each = page.data.into_iter().map(|each| (each.amount_paid, each.status));
        Ok(each.collect())
    }

    async fn advance(&self, clock: &str, to: i64) -> Step {
        AdvanceTestHelpersTestClock::new(clock, to).send(&self.client).await?;
        for _ in 0..100 {
            let clock = RetrieveTestHelpersTestClock::new(clock).send(&self.client).await?;
            if clock.status == TestHelpersTestClockStatus::Ready {
                return Ok(());
            }
        }
        Err("the clock is not ready".into())
    }

    pub(super) async fn checkout(&mut self) -> Step {
        let item = CreateCheckoutSessionLineItems {
            price: Some(self.single.clone()),
            quantity: Some(2),
            ..CreateCheckoutSessionLineItems::new()
        };
        let create = CreateCheckoutSession::new()
            .mode(CheckoutSessionMode::Payment)
            .customer(&self.customer)
            .line_items([item])
            .success_url("https://example.com/ok");
        let session = create.send(&self.client).await?;
        equal(session.status, Some(CheckoutSessionStatus::Open))?;
        plain::form(&session.url.ok_or("the session has no URL")?, "").await?;
        let session = RetrieveCheckoutSession::new(session.id).send(&self.client).await?;
        equal(session.status, Some(CheckoutSessionStatus::Complete))?;
        equal(session.payment_status, CheckoutSessionPaymentStatus::Paid)?;
        equal(session.amount_total, Some(1400))?;
        let items = ListLineItemsCheckoutSession::new(session.id)
            .send(&self.client)
            .await?
            .data;
        let quantities: Vec<_> = items.iter().map(|each| each.quantity).collect();
        equal(quantities, vec![Some(2)])
    }
}
