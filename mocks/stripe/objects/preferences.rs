//! What few customers say of themselves: kept apart, so that the many stay small.

use serde::Serialize;

use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::params::{Change, Params};

type Text = Option<Box<str>>;

/// Holds how a customer wants to be addressed and invoiced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Preferences {
    pub(crate) business_name: Text,
    pub(crate) individual_name: Text,
    pub(crate) invoice_prefix: Text,
    pub(crate) locales: Vec<Box<str>>,
    pub(crate) tax_exempt: Option<&'static str>,
    pub(crate) custom_fields: Option<Vec<CustomField>>,
    pub(crate) footer: Text,
    pub(crate) rendering: Option<Rendering>,
}

/// Is a line that a user puts on invoices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct CustomField {
    name: Box<str>,
    value: Box<str>,
}

/// Says how invoices look.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Rendering {
    amount_tax_display: Option<&'static str>,
    template: Text,
}

/// How many locales or custom fields there can be.
const MOST: usize = 20;
const MOST_CUSTOM_FIELDS: usize = 4;

impl Preferences {
    /// Changes a customer's preferences by what its parameters say; they are there only where something was said.
    pub(crate) fn change(to: &mut Option<Box<Self>>, params: &Params<'_>) -> Outcome<()> {
        let mut own = to.as_deref().cloned().unwrap_or_default();
        own.merge(params)?;
        *to = (own != Self::default()).then(|| own.into());
        Ok(())
    }

    fn merge(&mut self, params: &Params<'_>) -> Outcome<()> {
        params.change("business_name")?.apply(&mut self.business_name);
        params.change("individual_name")?.apply(&mut self.individual_name);
        if let Some(prefix) = params.text("invoice_prefix")? {
            self.invoice_prefix = Some(check_prefix(prefix)?.into());
        }
        if params.has("preferred_locales") {
            let locales = params.list("preferred_locales")?;
            check_number(locales.len(), MOST, "preferred_locales")?;
            self.locales = locales.into_iter().map(Into::into).collect();
        }
        match params.change("tax_exempt")? {
            Change::Keep => {}
            Change::Clear => self.tax_exempt = None,
            Change::Set(_) => self.tax_exempt = params.one_of("tax_exempt", &["exempt", "none", "reverse"])?,
        }
        match params.nested("invoice_settings")? {
            Some(settings) => self.merge_settings(&settings),
            None => Ok(()),
        }
    }

    fn merge_settings(&mut self, settings: &Params<'_>) -> Outcome<()> {
        settings.change("footer")?.apply(&mut self.footer);
        match settings.nested_change("custom_fields")? {
            Change::Keep => {}
            Change::Clear => self.custom_fields = None,
            Change::Set(_) => {
                let fields = settings.hashes("custom_fields")?;
                check_number(fields.len(), MOST_CUSTOM_FIELDS, &settings.name("custom_fields"))?;
                self.custom_fields = Some(fields.iter().map(CustomField::read).collect::<Outcome<_>>()?);
            }
        }
        match settings.nested_change("rendering_options")? {
            Change::Keep => {}
            Change::Clear => self.rendering = None,
            Change::Set(given) => {
                given.only(&["amount_tax_display", "template"])?;
                let own = self.rendering.get_or_insert_default();
                match given.change("amount_tax_display")? {
                    Change::Keep => {}
                    Change::Clear => own.amount_tax_display = None,
                    Change::Set(_) => {
                        let allowed = ["exclude_tax", "include_inclusive_tax"];
                        own.amount_tax_display = given.one_of("amount_tax_display", &allowed)?;
                    }
                }
                given.change("template")?.apply(&mut own.template);
            }
        }
        Ok(())
    }
}

impl CustomField {
    fn read(params: &Params<'_>) -> Outcome<Self> {
        params.only(&["name", "value"])?;
        Ok(Self {
            name: params.required("name")?.into(),
            value: params.required("value")?.into(),
        })
    }
}

fn check_prefix(prefix: &str) -> Outcome<&str> {
    let fits = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit();
    if (3..=12).contains(&prefix.len()) && prefix.bytes().all(fits) {
        return Ok(prefix);
    }
    let message = "The invoice prefix must be 3 to 12 uppercase letters or digits.";
    Err(Failure::invalid(message).param("invoice_prefix"))
}

fn check_number(number: usize, most: usize, param: &str) -> Outcome<()> {
    if number <= most {
        return Ok(());
    }
    Err(Failure::invalid(format!("Array {param} exceeded maximum {most} allowed elements.")).param(param))
}
