//! Currencies: which there are, and how small and large an amount may be.

use serde::{Serialize, Serializer};

use super::failure::{Failure, Outcome};

/// The largest amount, in minor units.
const LARGEST: i64 = 99_999_999;

static CODES: [&str; 135] = [
    "usd", "aed", "afn", "all", "amd", "ang", "aoa", "ars", "aud", "awg", "azn", "bam", "bbd", "bdt", "bgn", "bhd",
    "bif", "bmd", "bnd", "bob", "brl", "bsd", "bwp", "byn", "bzd", "cad", "cdf", "chf", "clp", "cny", "cop", "crc",
    "cve", "czk", "djf", "dkk", "dop", "dzd", "egp", "etb", "eur", "fjd", "fkp", "gbp", "gel", "gip", "gmd", "gnf",
    "gtq", "gyd", "hkd", "hnl", "htg", "huf", "idr", "ils", "inr", "isk", "jmd", "jod", "jpy", "kes", "kgs", "khr",
    "kmf", "krw", "kwd", "kyd", "kzt", "lak", "lbp", "lkr", "lrd", "lsl", "mad", "mdl", "mga", "mkd", "mmk", "mnt",
    "mop", "mur", "mvr", "mwk", "mxn", "myr", "mzn", "nad", "ngn", "nio", "nok", "npr", "nzd", "omr", "pab", "pen",
    "pgk", "php", "pkr", "pln", "pyg", "qar", "ron", "rsd", "rub", "rwf", "sar", "sbd", "scr", "sek", "sgd", "shp",
    "sle", "sos", "srd", "std", "szl", "thb", "tjs", "tnd", "top", "try", "ttd", "twd", "tzs", "uah", "ugx", "uyu",
    "uzs", "vnd", "vuv", "wst", "xaf", "xcd", "zar",
];

const WITHOUT_CENTS: [&str; 13] = [
    "bif", "clp", "djf", "gnf", "jpy", "kmf", "krw", "mga", "pyg", "rwf", "vnd", "vuv", "xaf",
];

/// The smallest charge where it is not 50 minor units.
const SMALLEST: [(&str, i64); 15] = [
    ("aed", 200),
    ("bgn", 100),
    ("czk", 1500),
    ("dkk", 250),
    ("gbp", 30),
    ("hkd", 400),
    ("huf", 17500),
    ("mxn", 1000),
    ("myr", 200),
    ("nok", 300),
    ("pln", 200),
    ("ron", 200),
    ("sek", 300),
    ("thb", 1000),
    ("inr", 50),
];

/// Is a currency that Stripe supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Currency(u8);

/// Lists the codes of all currencies.
pub(crate) fn codes() -> &'static [&'static str] {
    &CODES
}

impl Currency {
    /// The currency of the account.
    pub(crate) const USD: Self = Self(0);

    /// Reads a code; upper case is taken too.
    pub(crate) fn parse(code: &str, param: &str) -> Outcome<Self> {
        let lower = code.to_ascii_lowercase();
        let index = CODES.iter().position(|c| **c == lower);
        let index = index.and_then(|i| u8::try_from(i).ok()).map(Self);
        index.ok_or_else(|| {
            let code: String = lower.chars().take(20).collect();
            let list = CODES.join(", ");
            let message = format!("Invalid currency: {code}. Stripe currently supports these currencies: {list}");
            Failure::invalid(message).param(param)
        })
    }

    pub(crate) fn code(self) -> &'static str {
        CODES[usize::from(self.0)]
    }

    /// Returns the smallest amount that can be charged.
    pub(crate) fn smallest(self) -> i64 {
        let smallest = SMALLEST.iter().find(|(code, _)| *code == self.code());
        smallest.map_or(50, |(_, amount)| *amount)
    }

    /// Checks that an amount can be charged.
    pub(crate) fn check(self, amount: i64, param: &str) -> Outcome<()> {
        let smallest = self.smallest();
        if amount < smallest {
            let message = format!("Amount must be at least {} {}", self.show(smallest), self.code());
            return Err(Failure::invalid(message).code("amount_too_small").param(param));
        }
        if amount > LARGEST {
            let message = format!("Amount must be no more than {}", self.show(LARGEST));
            return Err(Failure::invalid(message).code("amount_too_large").param(param));
        }
        Ok(())
    }

    /// Writes an amount as people do: `$1,234.50`.
    pub(crate) fn show(self, amount: i64) -> String {
        let symbol = match self.code() {
            "usd" => "$",
            "eur" => "€",
            "gbp" => "£",
            "jpy" => "¥",
            _ => "",
        };
        if WITHOUT_CENTS.contains(&self.code()) {
            return format!("{symbol}{}", thousands(amount));
        }
        format!("{symbol}{}.{:02}", thousands(amount / 100), amount % 100)
    }
}

impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

fn thousands(number: i64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_bounds_and_are_shown_as_people_write_them() {
        let usd = Currency::parse("USD", "currency").expect("usd");
        let jpy = Currency::parse("jpy", "currency").expect("jpy");
        assert_eq!(
            (usd.show(50), usd.show(99_999_999)),
            ("$0.50".into(), "$999,999.99".into())
        );
        assert_eq!(jpy.show(1234), "¥1,234");
        assert!(usd.check(50, "amount").is_ok() && usd.check(49, "amount").is_err());
        assert!(usd.check(LARGEST, "amount").is_ok() && usd.check(LARGEST + 1, "amount").is_err());
        assert!(Currency::parse("xyz", "currency").is_err());
        let mut codes = CODES.to_vec();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), CODES.len());
    }
}
