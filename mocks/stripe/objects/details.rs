//! Addresses, billing details and shipping: read from parameters, shown in several objects.

use serde::Serialize;

use crate::mocks::stripe::failure::Outcome;
use crate::mocks::stripe::params::{Change, Params};

type Text = Option<Box<str>>;

/// Is a postal address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Address {
    city: Text,
    country: Text,
    line1: Text,
    line2: Text,
    pub(crate) postal_code: Text,
    state: Text,
}

/// Says who pays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Billing {
    pub(crate) address: Address,
    pub(crate) email: Text,
    pub(crate) name: Text,
    pub(crate) phone: Text,
    tax_id: Text,
}

/// Says where goods go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Shipping {
    address: Address,
    carrier: Text,
    name: Text,
    phone: Text,
    tracking_number: Text,
}

impl Address {
    fn merge(&mut self, params: &Params<'_>) -> Outcome<()> {
        params.only(&["city", "country", "line1", "line2", "postal_code", "state"])?;
        params.change("city")?.apply(&mut self.city);
        params.change("country")?.apply(&mut self.country);
        params.change("line1")?.apply(&mut self.line1);
        params.change("line2")?.apply(&mut self.line2);
        params.change("postal_code")?.apply(&mut self.postal_code);
        params.change("state")?.apply(&mut self.state);
        Ok(())
    }

    /// Changes an address by the parameter of this name.
    pub(crate) fn change(to: &mut Option<Box<Self>>, params: &Params<'_>, name: &str) -> Outcome<()> {
        match params.nested_change(name)? {
            Change::Keep => {}
            Change::Clear => *to = None,
            Change::Set(given) => {
                let mut address = to.take().unwrap_or_default();
                address.merge(&given)?;
                *to = Some(address);
            }
        }
        Ok(())
    }
}

impl Billing {
    /// Changes billing details by the parameter `billing_details`.
    pub(crate) fn merge(&mut self, params: &Params<'_>) -> Outcome<()> {
        let Some(given) = params.nested("billing_details")? else {
            return Ok(());
        };
        given.only(&["address", "email", "name", "phone", "tax_id"])?;
        given.change("email")?.apply(&mut self.email);
        given.change("name")?.apply(&mut self.name);
        given.change("phone")?.apply(&mut self.phone);
        given.change("tax_id")?.apply(&mut self.tax_id);
        match given.nested_change("address")? {
            Change::Keep => Ok(()),
            Change::Clear => {
                self.address = Address::default();
                Ok(())
            }
            Change::Set(address) => self.address.merge(&address),
        }
    }

    /// Reads what a card's own hash says of its holder.
    pub(crate) fn of_card(params: &Params<'_>) -> Outcome<Self> {
        let mut billing = Self::default();
        billing.merge_card(params)?;
        Ok(billing)
    }

    /// Changes what a card says of its holder.
    pub(crate) fn merge_card(&mut self, params: &Params<'_>) -> Outcome<()> {
        params.change("name")?.apply(&mut self.name);
        let address = &mut self.address;
        params.change("address_city")?.apply(&mut address.city);
        params.change("address_country")?.apply(&mut address.country);
        params.change("address_line1")?.apply(&mut address.line1);
        params.change("address_line2")?.apply(&mut address.line2);
        params.change("address_state")?.apply(&mut address.state);
        params.change("address_zip")?.apply(&mut address.postal_code);
        Ok(())
    }

    /// Changes what a source says of its owner, by the parameter `owner`.
    pub(crate) fn merge_owner(&mut self, params: &Params<'_>) -> Outcome<()> {
        let Some(given) = params.nested("owner")? else {
            return Ok(());
        };
        given.only(&["address", "email", "name", "phone"])?;
        given.change("email")?.apply(&mut self.email);
        given.change("name")?.apply(&mut self.name);
        given.change("phone")?.apply(&mut self.phone);
        match given.nested("address")? {
            Some(address) => self.address.merge(&address),
            None => Ok(()),
        }
    }

    /// Returns the address as a card shows it: city, country, line1, line2, state, zip.
    pub(crate) fn lines(&self) -> [Option<&str>; 6] {
        let a = &self.address;
        [&a.city, &a.country, &a.line1, &a.line2, &a.state, &a.postal_code].map(|t| t.as_deref())
    }

    /// Returns it, unless there is nothing in it.
    pub(crate) fn unless_empty(self) -> Option<std::sync::Arc<Self>> {
        (self != Self::default()).then(|| self.into())
    }
}

impl Shipping {
    /// Changes shipping by the parameter `shipping`.
    pub(crate) fn change(to: &mut Option<Box<Self>>, params: &Params<'_>) -> Outcome<()> {
        let given = match params.nested_change("shipping")? {
            Change::Keep => return Ok(()),
            Change::Clear => {
                *to = None;
                return Ok(());
            }
            Change::Set(given) => given,
        };
        given.only(&["address", "carrier", "name", "phone", "tracking_number"])?;
        let mut shipping = to.take().unwrap_or_default();
        if let Some(address) = given.nested("address")? {
            shipping.address.merge(&address)?;
        }
        given.change("carrier")?.apply(&mut shipping.carrier);
        given.change("name")?.apply(&mut shipping.name);
        given.change("phone")?.apply(&mut shipping.phone);
        given.change("tracking_number")?.apply(&mut shipping.tracking_number);
        *to = Some(shipping);
        Ok(())
    }
}

/// Says that a checkout session reckons no tax; unlike an invoice, it gives no reason.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct SessionTax {
    enabled: bool,
    liability: (),
    provider: (),
    status: (),
}

impl SessionTax {
    pub(crate) const OFF: Self = Self {
        enabled: false,
        liability: (),
        provider: (),
        status: (),
    };
}

/// Says what a subscription does as its trial ends.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct TrialSettings {
    end_behavior: EndBehavior,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct EndBehavior {
    billing_cycle_anchor: (),
    missing_payment_method: &'static str,
}

impl TrialSettings {
    pub(crate) fn new(missing_payment_method: &'static str) -> Self {
        Self {
            end_behavior: EndBehavior {
                billing_cycle_anchor: (),
                missing_payment_method,
            },
        }
    }
}
