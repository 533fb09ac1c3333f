//! What can be searched, and by which query fields (docs.stripe.com/search).

use super::{Fact, Searchable, Type};
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{Charge, Customer, Intent, Invoice, Price, Product, Subscription};

/// Makes resources searchable: one row a field, with its type and what an object says of it.
macro_rules! searchable {
    ($($resource:ident $name:literal $(if $living:expr,)? { $($field:literal $type:ident $fact:expr;)* })*) => {$(
        impl Searchable for $resource {
            const NAME: &'static str = $name;
            const NOTES: &'static str = concat!("stripe.", $name, ".notes");
            const INDEX: &'static str = concat!("stripe.", $name, ".index");
            const FIELDS: &'static [(&'static str, Type)] = &[$(($field, Type::$type)),*];

            fn fact(&self, field: &str) -> Fact<'_> {
                match field {
                    $($field => {
                        let fact: fn(&Self) -> Fact<'_> = $fact;
                        fact(self)
                    })*
                    _ => Fact::None,
                }
            }

            fn metadata(&self) -> &Metadata {
                &self.metadata
            }

            fn created(&self) -> i64 {
                self.created
            }

            $(fn living(&self) -> bool {
                let living: fn(&Self) -> bool = $living;
                living(self)
            })?
        }
    )*};
}

searchable! {
    Charge "charges" {
        "amount" Number |one| Fact::Number(one.amount);
        "billing_details.address.postal_code" Token |one| one.billing.as_deref().and_then(|b| b.address.postal_code.as_deref()).into();
        "created" Number |one| Fact::Number(one.created);
        "currency" Token |one| Fact::Text(one.currency.code());
        "customer" Token |one| one.customer.as_deref().into();
        "disputed" Flag |one| Fact::Flag(one.dispute().is_some());
        "payment_method_details.card.brand" Token |one| Fact::Text(one.card.test.brand);
        "payment_method_details.card.exp_month" Number |one| Fact::Number(one.card.exp_month.into());
        "payment_method_details.card.exp_year" Number |one| Fact::Number(one.card.exp_year.into());
        "payment_method_details.card.fingerprint" Token |_| Fact::None;
        "payment_method_details.card.last4" Token |one| Fact::Text(one.card.last4());
        "refunded" Flag |one| Fact::Flag(one.refunded());
        "status" Token |one| Fact::Text(if one.paid() { "succeeded" } else { "failed" });
    }

    Customer "customers" if |one| !one.deleted, {
        "created" Number |one| Fact::Number(one.created);
        "description" Text |one| one.description.as_deref().into();
        "email" Text |one| one.email.as_deref().into();
        "name" Text |one| one.name.as_deref().into();
        "phone" Text |one| one.phone.as_deref().into();
    }

    Intent "payment_intents" {
        "amount" Number |one| Fact::Number(one.amount);
        "created" Number |one| Fact::Number(one.created);
        "currency" Token |one| Fact::Text(one.currency.code());
        "customer" Token |one| one.customer.as_deref().into();
        "status" Token |one| Fact::Text(one.status.as_str());
    }

    Invoice "invoices" {
        "created" Number |one| Fact::Number(one.created);
        "currency" Token |one| Fact::Text(one.currency.code());
        "customer" Token |one| Fact::Text(&one.customer);
        "number" Text |one| one.number.as_deref().into();
        "status" Token |one| Fact::Text(one.status.as_str());
        "subscription" Token |one| one.subscription.as_deref().into();
        "total" Number |one| Fact::Number(one.sums.total);
    }

    Price "prices" {
        "active" Flag |one| Fact::Flag(one.active);
        "created" Number |one| Fact::Number(one.created);
        "currency" Token |one| Fact::Text(one.currency.code());
        "lookup_key" Text |one| one.lookup_key.as_deref().into();
        "product" Token |one| Fact::Text(&one.product);
        "type" Token |one| Fact::Text(if one.recurring.is_some() { "recurring" } else { "one_time" });
    }

    Product "products" {
        "active" Flag |one| Fact::Flag(one.active);
        "created" Number |one| Fact::Number(one.created);
        "description" Text |one| one.description.as_deref().into();
        "name" Text |one| Fact::Text(&one.name);
        "shippable" Flag |one| one.shippable.map_or(Fact::None, Fact::Flag);
        "url" Text |one| one.url.as_deref().into();
    }

    Subscription "subscriptions" {
        "canceled_at" Number |one| one.canceled_at.map_or(Fact::None, Fact::Number);
        "created" Number |one| Fact::Number(one.created);
        "customer" Token |one| Fact::Text(&one.customer);
        "status" Token |one| Fact::Text(one.status.as_str());
    }
}
