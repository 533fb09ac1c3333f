//! Drafts of invoices: their lines, and what they add up to.

use std::sync::Arc;

use super::totals::{self, Entry};
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{
    Customer, Discount, Invoice, InvoiceItem, InvoiceStatus, Line, LineOrigin, Payer, Period, Price, Product,
    Recurring, Reduction, Subscription, SubscriptionItem, Sums, Times,
};
use crate::mocks::stripe::scene::Scene;
use crate::store::Object;

/// Makes a draft without lines; it is not put yet.
pub(crate) fn blank(scene: &mut Scene<'_, '_>, customer: &Customer, currency: Currency, now: i64) -> Invoice {
    Invoice {
        id: scene.new_id("in_"),
        created: now,
        status: InvoiceStatus::Draft,
        number: None,
        customer: Arc::clone(&customer.id),
        payer: Payer::of(customer),
        currency,
        reason: "manual",
        sent: false,
        auto_advance: false,
        finalizes_at: None,
        subscription: None,
        subscription_metadata: Metadata::default(),
        description: None,
        footer: None,
        statement_descriptor: None,
        discounts: Vec::new(),
        lines: Vec::new(),
        period: Period { start: now, end: now },
        due_date: None,
        days_until_due: None,
        effective_at: None,
        default_method: None,
        sums: Sums::default(),
        attempt_count: 0,
        attempted: false,
        next_attempt: None,
        payments: Vec::new(),
        intent: None,
        times: Times::default(),
        clock: customer.clock.clone(),
        metadata: Metadata::default(),
    }
}

/// Lists what waits for an invoice of a customer. An index, for a list does not show what the same transaction has made.
#[derive(Clone, Debug)]
struct Waiting {
    customer: Arc<str>,
    items: Vec<Arc<str>>,
}

impl Object for Waiting {
    const TABLE: &'static str = "stripe.waiting_items";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.customer)
    }
}

/// Lists what waits for an invoice of a customer, oldest first.
pub(crate) fn pending(
    scene: &Scene<'_, '_>,
    customer: &str,
    wanted: impl Fn(&InvoiceItem) -> bool,
) -> Vec<Arc<InvoiceItem>> {
    let waiting = scene.tx.get::<Waiting>(customer);
    let ids = waiting.iter().flat_map(|waiting| &waiting.items);
    let items = ids.filter_map(|id| scene.tx.get::<InvoiceItem>(id));
    items.filter(|item| item.invoice.is_none() && wanted(item)).collect()
}

/// Puts an item that waits for an invoice.
pub(crate) fn put_pending(scene: &mut Scene<'_, '_>, item: InvoiceItem) -> Arc<InvoiceItem> {
    let still = pending(scene, &item.customer, |other| other.id != item.id);
    let item = scene.tx.put(item);
    let items = still.into_iter().chain([Arc::clone(&item)]);
    scene.tx.put(Waiting {
        customer: Arc::clone(&item.customer),
        items: items.map(|item| Arc::clone(&item.id)).collect(),
    });
    item
}

/// Puts an item on a draft.
pub(crate) fn add_item(scene: &mut Scene<'_, '_>, invoice: &mut Invoice, item: &InvoiceItem) {
    let line = line_of(scene.new_id("il_"), invoice, item);
    invoice.lines.push(Arc::clone(&scene.tx.put(line).id));
    scene.tx.put(InvoiceItem {
        invoice: Some(Arc::clone(&invoice.id)),
        ..item.clone()
    });
}

/// Makes the line of an item.
pub(crate) fn line_of(id: Arc<str>, invoice: &Invoice, item: &InvoiceItem) -> Line {
    Line {
        id,
        invoice: Arc::clone(&invoice.id),
        amount: item.amount,
        currency: item.currency,
        quantity: item.quantity,
        unit: item.unit,
        price: item.price.clone(),
        description: item.description.clone(),
        discountable: item.discountable,
        discounts: item.discounts.clone(),
        reductions: Vec::new(),
        period: item.period,
        origin: LineOrigin::Item {
            item: Arc::clone(&item.id),
            subscription: item.subscription.clone(),
            proration: item.proration,
        },
        metadata: item.metadata.clone(),
    }
}

/// Puts what a subscription's item costs for a period on a draft; in a trial that is nothing.
pub(crate) fn add_period(
    scene: &mut Scene<'_, '_>,
    invoice: &mut Invoice,
    of: &Subscription,
    item: &SubscriptionItem,
    free: bool,
) {
    let name = product_name(scene, &item.price);
    let (amount, description) = if free {
        (0, format!("Trial period for {name}"))
    } else {
        let cost = item.price.currency.show(item.price.amount(1));
        let every = item
            .price
            .recurring
            .map_or(String::new(), |recurring| format!(" / {}", words(recurring)));
        (
            item.price.amount(item.quantity),
            format!("{} × {name} (at {cost}{every})", item.quantity),
        )
    };
    let line = Line {
        id: scene.new_id("il_"),
        invoice: Arc::clone(&invoice.id),
        amount,
        currency: invoice.currency,
        quantity: item.quantity,
        unit: if free { 0.into() } else { item.price.unit },
        price: Some((Arc::clone(&item.price.id), Arc::clone(&item.price.product))),
        description: Some(description.into()),
        discountable: true,
        discounts: item.discounts.clone(),
        reductions: Vec::new(),
        period: of.period,
        origin: LineOrigin::Subscription {
            subscription: Arc::clone(&of.id),
            item: Arc::clone(&item.id),
        },
        metadata: item.metadata.clone(),
    };
    invoice.lines.push(Arc::clone(&scene.tx.put(line).id));
}

/// Names the product of a price.
pub(crate) fn product_name(scene: &Scene<'_, '_>, price: &Price) -> Arc<str> {
    let product = scene.tx.get::<Product>(&price.product);
    product.map_or_else(|| Arc::clone(&price.product), |product| Arc::clone(&product.name))
}

fn words(recurring: Recurring) -> String {
    let interval = recurring.interval.as_str();
    match recurring.count {
        1 => interval.to_owned(),
        count => format!("{count} {interval}s"),
    }
}

/// Adds a draft up anew, with the customer's balance as it is.
pub(crate) fn add_up(scene: &mut Scene<'_, '_>, invoice: &mut Invoice, now: i64) {
    let lines: Vec<_> = invoice.lines.iter().filter_map(|id| scene.tx.get::<Line>(id)).collect();
    let discounts = |ids: &[Arc<str>]| -> Vec<Arc<Discount>> {
        let found = ids.iter().filter_map(|id| scene.tx.get::<Discount>(id));
        found.filter(|discount| discount.counts(now)).collect()
    };
    let whole = discounts(&invoice.discounts);
    let own: Vec<_> = lines.iter().map(|line| discounts(&line.discounts)).collect();
    let entries: Vec<_> = lines
        .iter()
        .zip(&own)
        .map(|(line, own)| Entry {
            amount: line.amount,
            discountable: line.discountable,
            own: own.iter().map(|discount| &*discount.coupon).collect(),
        })
        .collect();
    let coupons: Vec<_> = whole.iter().map(|discount| &*discount.coupon).collect();
    let taken = totals::reduce(&entries, &coupons);
    let mut sums = Sums {
        subtotal: lines.iter().map(|line| line.amount).sum(),
        ..Sums::default()
    };
    for ((line, own), taken) in lines.iter().zip(&own).zip(&taken) {
        let mut reductions = Vec::new();
        for (discount, amount) in own.iter().zip(&taken.own).chain(whole.iter().zip(&taken.whole)) {
            note(&mut reductions, &discount.id, *amount);
            note(&mut sums.reductions, &discount.id, *amount);
        }
        if reductions != line.reductions {
            scene.tx.put(Line {
                reductions,
                ..Line::clone(line)
            });
        }
    }
    sums.total = sums.subtotal - sums.reductions.iter().map(|reduction| reduction.amount).sum::<i64>();
    let customer = scene.tx.get::<Customer>(&invoice.customer);
    sums.starting_balance = customer.map_or(0, |customer| customer.balance);
    sums.due = totals::settle(sums.total, sums.starting_balance, invoice.currency.smallest()).0;
    invoice.sums = sums;
}

/// Adds what a discount takes off to what it takes off already.
fn note(reductions: &mut Vec<Reduction>, discount: &Arc<str>, amount: i64) {
    match reductions.iter_mut().find(|reduction| reduction.discount == *discount) {
        Some(reduction) => reduction.amount += amount,
        None if amount == 0 => {}
        None => reductions.push(Reduction {
            amount,
            discount: Arc::clone(discount),
        }),
    }
}
