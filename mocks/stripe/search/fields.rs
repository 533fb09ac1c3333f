//! What can be searched, and by which query fields (docs.stripe.com/search).

use super::{Fact, Searchable, Type};
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{Charge, Customer, Intent, Invoice, Price, Product, Subscription};

impl Searchable for Charge {
    const NAME: &'static str = "charges";
    const NOTES: &'static str = "stripe.charges.notes";
    const INDEX: &'static str = "stripe.charges.index";
    const FIELDS: &'static [(&'static str, Type)] = &[
        ("amount", Type::Number),
        ("billing_details.address.postal_code", Type::Token),
        ("created", Type::Number),
        ("currency", Type::Token),
        ("customer", Type::Token),
        ("disputed", Type::Flag),
        ("payment_method_details.card.brand", Type::Token),
        ("payment_method_details.card.exp_month", Type::Number),
        ("payment_method_details.card.exp_year", Type::Number),
        ("payment_method_details.card.fingerprint", Type::Token),
        ("payment_method_details.card.last4", Type::Token),
        ("refunded", Type::Flag),
        ("status", Type::Token),
    ];

    fn fact(&self, field: &str) -> Fact<'_> {
        match field {
            "amount" => Fact::Number(self.amount),
            "billing_details.address.postal_code" => {
                let billing = self.billing.as_deref();
                billing.and_then(|b| b.address.postal_code.as_deref()).into()
            }
            "created" => Fact::Number(self.created),
            "currency" => Fact::Text(self.currency.code()),
            "customer" => self.customer.as_deref().into(),
            "disputed" => Fact::Flag(self.dispute().is_some()),
            "payment_method_details.card.brand" => Fact::Text(self.card.test.brand),
            "payment_method_details.card.exp_month" => Fact::Number(self.card.exp_month.into()),
            "payment_method_details.card.exp_year" => Fact::Number(self.card.exp_year.into()),
            "payment_method_details.card.last4" => Fact::Text(self.card.last4()),
            "refunded" => Fact::Flag(self.refunded()),
            "status" => Fact::Text(if self.paid() { "succeeded" } else { "failed" }),
            _ => Fact::None,
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn created(&self) -> i64 {
        self.created
    }
}

impl Searchable for Customer {
    const NAME: &'static str = "customers";
    const NOTES: &'static str = "stripe.customers.notes";
    const INDEX: &'static str = "stripe.customers.index";
    const FIELDS: &'static [(&'static str, Type)] = &[
        ("created", Type::Number),
        ("description", Type::Text),
        ("email", Type::Text),
        ("name", Type::Text),
        ("phone", Type::Text),
    ];

    fn fact(&self, field: &str) -> Fact<'_> {
        match field {
            "created" => Fact::Number(self.created),
            "description" => self.description.as_deref().into(),
            "email" => self.email.as_deref().into(),
            "name" => self.name.as_deref().into(),
            "phone" => self.phone.as_deref().into(),
            _ => Fact::None,
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn created(&self) -> i64 {
        self.created
    }

    fn living(&self) -> bool {
        !self.deleted
    }
}

impl Searchable for Intent {
    const NAME: &'static str = "payment_intents";
    const NOTES: &'static str = "stripe.payment_intents.notes";
    const INDEX: &'static str = "stripe.payment_intents.index";
    const FIELDS: &'static [(&'static str, Type)] = &[
        ("amount", Type::Number),
        ("created", Type::Number),
        ("currency", Type::Token),
        ("customer", Type::Token),
        ("status", Type::Token),
    ];

    fn fact(&self, field: &str) -> Fact<'_> {
        match field {
            "amount" => Fact::Number(self.amount),
            "created" => Fact::Number(self.created),
            "currency" => Fact::Text(self.currency.code()),
            "customer" => self.customer.as_deref().into(),
            "status" => Fact::Text(self.status.as_str()),
            _ => Fact::None,
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn created(&self) -> i64 {
        self.created
    }
}

impl Searchable for Invoice {
    const NAME: &'static str = "invoices";
    const NOTES: &'static str = "stripe.invoices.notes";
    const INDEX: &'static str = "stripe.invoices.index";
    const FIELDS: &'static [(&'static str, Type)] = &[
        ("created", Type::Number),
        ("currency", Type::Token),
        ("customer", Type::Token),
        ("number", Type::Text),
        ("status", Type::Token),
        ("subscription", Type::Token),
        ("total", Type::Number),
    ];

    fn fact(&self, field: &str) -> Fact<'_> {
        match field {
            "created" => Fact::Number(self.created),
            "currency" => Fact::Text(self.currency.code()),
            "customer" => Fact::Text(&self.customer),
            "number" => self.number.as_deref().into(),
            "status" => Fact::Text(self.status.as_str()),
            "subscription" => self.subscription.as_deref().into(),
            "total" => Fact::Number(self.sums.total),
            _ => Fact::None,
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn created(&self) -> i64 {
        self.created
    }
}

impl Searchable for Price {
    const NAME: &'static str = "prices";
    const NOTES: &'static str = "stripe.prices.notes";
    const INDEX: &'static str = "stripe.prices.index";
    const FIELDS: &'static [(&'static str, Type)] = &[
        ("active", Type::Flag),
        ("created", Type::Number),
        ("currency", Type::Token),
        ("lookup_key", Type::Text),
        ("product", Type::Token),
        ("type", Type::Token),
    ];

    fn fact(&self, field: &str) -> Fact<'_> {
        match field {
            "active" => Fact::Flag(self.active),
            "created" => Fact::Number(self.created),
            "currency" => Fact::Text(self.currency.code()),
            "lookup_key" => self.lookup_key.as_deref().into(),
            "product" => Fact::Text(&self.product),
            "type" => Fact::Text(if self.recurring.is_some() {
                "recurring"
            } else {
                "one_time"
            }),
            _ => Fact::None,
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn created(&self) -> i64 {
        self.created
    }
}

impl Searchable for Product {
    const NAME: &'static str = "products";
    const NOTES: &'static str = "stripe.products.notes";
    const INDEX: &'static str = "stripe.products.index";
    const FIELDS: &'static [(&'static str, Type)] = &[
        ("active", Type::Flag),
        ("created", Type::Number),
        ("description", Type::Text),
        ("name", Type::Text),
        ("shippable", Type::Flag),
        ("url", Type::Text),
    ];

    fn fact(&self, field: &str) -> Fact<'_> {
        match field {
            "active" => Fact::Flag(self.active),
            "created" => Fact::Number(self.created),
            "description" => self.description.as_deref().into(),
            "name" => Fact::Text(&self.name),
            "shippable" => self.shippable.map_or(Fact::None, Fact::Flag),
            "url" => self.url.as_deref().into(),
            _ => Fact::None,
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn created(&self) -> i64 {
        self.created
    }
}

impl Searchable for Subscription {
    const NAME: &'static str = "subscriptions";
    const NOTES: &'static str = "stripe.subscriptions.notes";
    const INDEX: &'static str = "stripe.subscriptions.index";
    const FIELDS: &'static [(&'static str, Type)] = &[
        ("canceled_at", Type::Number),
        ("created", Type::Number),
        ("customer", Type::Token),
        ("status", Type::Token),
    ];

    fn fact(&self, field: &str) -> Fact<'_> {
        match field {
            "canceled_at" => self.canceled_at.map_or(Fact::None, Fact::Number),
            "created" => Fact::Number(self.created),
            "customer" => Fact::Text(&self.customer),
            "status" => Fact::Text(self.status.as_str()),
            _ => Fact::None,
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn created(&self) -> i64 {
        self.created
    }
}
