//! Country specs: what Stripe takes and pays in a country. A small table; nothing of it is state.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::{Resource, Shown};
use crate::mocks::stripe::currency;
use crate::store::Tx;

/// Is one country: its code, its currency, and the other currencies of its bank accounts.
#[derive(Debug)]
pub(crate) struct CountrySpec {
    id: &'static str,
    currency: &'static str,
    more: &'static [&'static str],
}

const fn country(id: &'static str, currency: &'static str, more: &'static [&'static str]) -> CountrySpec {
    CountrySpec { id, currency, more }
}

/// All countries, in the order in which they are listed.
static COUNTRIES: [CountrySpec; 18] = [
    country("US", "usd", &[]),
    country("AT", "eur", &["chf", "gbp", "usd"]),
    country("AU", "aud", &[]),
    country("BE", "eur", &["chf", "gbp", "usd"]),
    country("CA", "cad", &["usd"]),
    country("CH", "chf", &["eur", "gbp", "usd"]),
    country("DE", "eur", &["chf", "gbp", "usd"]),
    country("DK", "dkk", &["eur", "gbp", "usd"]),
    country("ES", "eur", &["chf", "gbp", "usd"]),
    country("FR", "eur", &["chf", "gbp", "usd"]),
    country("GB", "gbp", &["eur", "usd"]),
    country("IE", "eur", &["chf", "gbp", "usd"]),
    country("IT", "eur", &["chf", "gbp", "usd"]),
    country("JP", "jpy", &[]),
    country("NL", "eur", &["chf", "gbp", "usd"]),
    country("NZ", "nzd", &[]),
    country("SE", "sek", &["eur", "gbp", "usd"]),
    country("SG", "sgd", &["usd"]),
];

impl CountrySpec {
    /// Lists all countries.
    pub(crate) fn all() -> impl Iterator<Item = &'static Self> {
        COUNTRIES.iter()
    }
}

impl Resource for &'static CountrySpec {
    const WORD: &'static str = "country";
    const OBJECT: &'static str = "country_spec";

    fn find(_: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        CountrySpec::all().find(|country| country.id == id).map(Arc::new)
    }

    fn id(&self) -> &str {
        self.id
    }

    fn show<'s>(&'s self, _: &'s Shown) -> impl Serialize + 's {
        let currencies = [&[self.currency], self.more].concat();
        let mut methods = vec!["card", "stripe"];
        if self.id == "US" {
            methods.insert(0, "ach");
        }
        let address = [
            "address.city",
            "address.line1",
            "address.postal_code",
            "dob.day",
            "dob.month",
            "dob.year",
        ];
        Json {
            id: self.id,
            object: "country_spec",
            default_currency: self.currency,
            supported_bank_account_currencies: currencies.into_iter().map(|c| (c, [self.id])).collect(),
            supported_payment_currencies: currency::codes(),
            supported_payment_methods: methods,
            supported_transfer_countries: CountrySpec::all().map(|c| c.id).collect(),
            verification_fields: Verification {
                company: Fields::of(
                    "company",
                    &["address.city", "address.line1", "address.postal_code", "name", "tax_id"],
                ),
                individual: Fields::of(
                    "individual",
                    &[&address[..], &["email", "first_name", "last_name"]].concat(),
                ),
            },
        }
    }
}

#[derive(Serialize)]
struct Json {
    id: &'static str,
    object: &'static str,
    default_currency: &'static str,
    supported_bank_account_currencies: BTreeMap<&'static str, [&'static str; 1]>,
    supported_payment_currencies: &'static [&'static str],
    supported_payment_methods: Vec<&'static str>,
    supported_transfer_countries: Vec<&'static str>,
    verification_fields: Verification,
}

#[derive(Serialize)]
struct Verification {
    company: Fields,
    individual: Fields,
}

#[derive(Serialize)]
struct Fields {
    additional: [(); 0],
    minimum: Vec<String>,
}

impl Fields {
    fn of(whom: &str, own: &[&str]) -> Self {
        let own = own.iter().map(|field| format!("{whom}.{field}"));
        let all = ["business_profile.mcc", "business_type", "external_account"].map(str::to_owned);
        let last = ["tos_acceptance.date", "tos_acceptance.ip"].map(str::to_owned);
        Self {
            additional: [],
            minimum: all.into_iter().chain(own).chain(last).collect(),
        }
    }
}
