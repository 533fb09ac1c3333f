//! What waits for a subscription's next invoice: extras, and what a change is worth for the rest of a period.

use std::sync::Arc;

use crate::mocks::stripe::billing::{draft, period};
use crate::mocks::stripe::decimal::Decimal;
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{InvoiceItem, Period, Subscription, SubscriptionItem};
use crate::mocks::stripe::scene::Scene;

use super::subscription_terms::Extra;

/// Lets something wait for the subscription's next invoice.
pub(crate) fn put_extra(scene: &mut Scene<'_, '_>, extra: Extra, of: &Subscription, now: i64) {
    let item = InvoiceItem {
        id: scene.new_id("ii_"),
        amount: extra.price.amount(extra.quantity),
        quantity: extra.quantity,
        unit: extra.price.unit,
        price: Some((Arc::clone(&extra.price.id), Arc::clone(&extra.price.product))),
        description: Some((*draft::product_name(scene, &extra.price)).into()),
        discountable: extra.discountable,
        metadata: extra.metadata,
        ..waiting(of, now)
    };
    let item = draft::put_pending(scene, item);
    scene.event("invoiceitem.created", item);
}

/// Credits what is left of an item's period.
pub(crate) fn credit(scene: &mut Scene<'_, '_>, of: &Subscription, item: &SubscriptionItem, now: i64) {
    prorate(scene, of, item, now, false);
}

/// Owes what is left of an item's period.
pub(crate) fn charge(scene: &mut Scene<'_, '_>, of: &Subscription, item: &SubscriptionItem, now: i64) {
    prorate(scene, of, item, now, true);
}

fn prorate(scene: &mut Scene<'_, '_>, of: &Subscription, item: &SubscriptionItem, now: i64, owed: bool) {
    let whole = item.price.amount(item.quantity);
    let amount = period::rest(if owed { whole } else { -whole }, of.period, now);
    if amount == 0 {
        return;
    }
    let name = draft::product_name(scene, &item.price);
    let what = if owed { "Remaining" } else { "Unused" };
    let times = if item.quantity == 1 {
        String::new()
    } else {
        format!("{} × ", item.quantity)
    };
    let prorated = InvoiceItem {
        id: scene.new_id("ii_"),
        amount,
        quantity: item.quantity,
        unit: Decimal::from(amount),
        price: Some((Arc::clone(&item.price.id), Arc::clone(&item.price.product))),
        description: Some(format!("{what} time on {times}{name}").into()),
        discountable: false,
        period: Period {
            start: now,
            end: of.period.end,
        },
        proration: true,
        ..waiting(of, now)
    };
    let prorated = draft::put_pending(scene, prorated);
    scene.event("invoiceitem.created", prorated);
}

fn waiting(of: &Subscription, now: i64) -> InvoiceItem {
    InvoiceItem {
        id: "".into(),
        date: now,
        customer: Arc::clone(&of.customer),
        invoice: None,
        was_pending: true,
        subscription: Some(Arc::clone(&of.id)),
        amount: 0,
        currency: of.currency,
        quantity: 1,
        unit: Decimal::default(),
        price: None,
        description: None,
        discountable: true,
        discounts: Vec::new(),
        period: Period { start: now, end: now },
        proration: false,
        clock: of.clock.clone(),
        metadata: Metadata::default(),
    }
}
