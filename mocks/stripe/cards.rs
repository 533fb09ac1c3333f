//! The test cards, and what their issuer says.

use super::declines::{
    AUTHENTICATION, BLOCKED, Decline, EXPIRED, GENERIC, INCORRECT_CVC, INCORRECT_NUMBER, INSUFFICIENT, INVALID_CVC,
    INVALID_MONTH, INVALID_YEAR, LOST, NOT_A_TEST_CARD, PROCESSING, STOLEN, VELOCITY,
};
use super::failure::{Failure, Outcome};
use super::params::Params;

/// Says what happens when a card is charged.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Behaviour {
    Succeeds,
    /// Refused, already when a customer is to keep it.
    Declines(&'static Decline),
    /// Kept by a customer, refused when charged.
    DeclinesLater(&'static Decline),
    /// Asks the holder to authenticate.
    Authenticates {
        /// Whether it does not ask while the holder is away, once it was set up for that.
        unless_set_up: bool,
        /// What the issuer says after that.
        then: Option<&'static Decline>,
    },
}

/// Is a number that Stripe gives out for tests.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TestCard {
    pub(crate) number: &'static str,
    /// What stands behind `pm_card_` and `tok_`.
    pub(crate) names: &'static [&'static str],
    pub(crate) brand: &'static str,
    pub(crate) funding: &'static str,
    pub(crate) behaviour: Behaviour,
    pub(crate) quirk: Quirk,
}

/// Says what else is special about a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quirk {
    None,
    /// Its money is available at once.
    BypassPending,
    FailsCvcCheck,
    FailsZipCheck,
    HighestRisk,
    ElevatedRisk,
    /// Its refunds fail after they succeeded.
    FailsRefund,
    /// Its refunds are pending at first.
    DelaysRefund,
    /// Its holder disputes what is charged.
    Disputes(Complaint),
}

/// Is what a holder says against a charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    pub(crate) reason: &'static str,
    /// Whether the issuer only asks, and takes nothing yet.
    pub(crate) inquiry: bool,
}

/// Is a card as given: which test card, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Card {
    pub(crate) test: &'static TestCard,
    pub(crate) exp_month: u8,
    pub(crate) exp_year: u16,
    pub(crate) cvc_given: bool,
}

const fn card(number: &'static str, names: &'static [&'static str], behaviour: Behaviour) -> TestCard {
    TestCard {
        number,
        names,
        brand: "visa",
        funding: "credit",
        behaviour,
        quirk: Quirk::None,
    }
}

const fn brand(number: &'static str, names: &'static [&'static str], brand: &'static str) -> TestCard {
    TestCard {
        brand,
        ..card(number, names, Behaviour::Succeeds)
    }
}

const fn quirk(number: &'static str, names: &'static [&'static str], quirk: Quirk) -> TestCard {
    TestCard {
        quirk,
        ..card(number, names, Behaviour::Succeeds)
    }
}

const fn disputed(
    number: &'static str,
    names: &'static [&'static str],
    reason: &'static str,
    inquiry: bool,
) -> TestCard {
    quirk(number, names, Quirk::Disputes(Complaint { reason, inquiry }))
}

const fn authenticates(
    number: &'static str,
    names: &'static [&'static str],
    then: Option<&'static Decline>,
) -> TestCard {
    let unless_set_up = false;
    card(number, names, Behaviour::Authenticates { unless_set_up, then })
}

use Behaviour::{Declines, DeclinesLater, Succeeds};

/// All test cards; the first is the plain one.
pub(crate) static TEST_CARDS: &[TestCard] = &[
    card("4242424242424242", &["visa"], Succeeds),
    TestCard {
        funding: "debit",
        ..card("4000056655665556", &["visa_debit"], Succeeds)
    },
    brand("5555555555554444", &["mastercard"], "mastercard"),
    brand("378282246310005", &["amex"], "amex"),
    brand("6011111111111117", &["discover"], "discover"),
    card(
        "4000000000000002",
        &["visa_chargeDeclined", "chargeDeclined"],
        Declines(&GENERIC),
    ),
    card(
        "4000000000009995",
        &[
            "visa_chargeDeclinedInsufficientFunds",
            "chargeDeclinedInsufficientFunds",
        ],
        Declines(&INSUFFICIENT),
    ),
    card("4000000000009987", &["visa_chargeDeclinedLostCard"], Declines(&LOST)),
    card(
        "4000000000009979",
        &["visa_chargeDeclinedStolenCard"],
        Declines(&STOLEN),
    ),
    card("4000000000000069", &["chargeDeclinedExpiredCard"], Declines(&EXPIRED)),
    card(
        "4000000000000127",
        &["chargeDeclinedIncorrectCvc"],
        Declines(&INCORRECT_CVC),
    ),
    card(
        "4000000000000119",
        &["chargeDeclinedProcessingError"],
        Declines(&PROCESSING),
    ),
    card(
        "4000000000006975",
        &["visa_chargeDeclinedVelocityLimitExceeded"],
        Declines(&VELOCITY),
    ),
    card(
        "4100000000000019",
        &[
            "radarBlock",
            "visa_chargeDeclinedFraudulent",
            "chargeDeclinedFraudulent",
        ],
        DeclinesLater(&BLOCKED),
    ),
    card("4000000000000341", &["chargeCustomerFail"], DeclinesLater(&GENERIC)),
    quirk("4000000000000077", &["bypassPending"], Quirk::BypassPending),
    quirk("4000000000005126", &["refundFail"], Quirk::FailsRefund),
    quirk("4000000000007726", &["pendingRefund"], Quirk::DelaysRefund),
    quirk("4000000000000101", &["cvcCheckFail"], Quirk::FailsCvcCheck),
    quirk("4000000000000036", &["avsZipFail"], Quirk::FailsZipCheck),
    quirk("4000000000004954", &["riskLevelHighest"], Quirk::HighestRisk),
    quirk("4000000000009235", &["riskLevelElevated"], Quirk::ElevatedRisk),
    disputed("4000000000000259", &["createDispute"], "fraudulent", false),
    disputed(
        "4000000000002685",
        &["createDisputeProductNotReceived"],
        "product_not_received",
        false,
    ),
    disputed("4000000000001976", &["createDisputeInquiry"], "general", true),
    card(
        "4000002500003155",
        &["authenticationRequiredOnSetup"],
        Behaviour::Authenticates {
            unless_set_up: true,
            then: None,
        },
    ),
    authenticates("4000002760003184", &["authenticationRequired"], None),
    authenticates(
        "4000000000003220",
        &["threeDSecure2Required", "threeDSecureRequired"],
        None,
    ),
    authenticates(
        "4000008260003178",
        &["authenticationRequiredChargeDeclinedInsufficientFunds"],
        Some(&INSUFFICIENT),
    ),
    authenticates(
        "4000008400001629",
        &["threeDSecureRequiredChargeDeclined"],
        Some(&GENERIC),
    ),
];

impl Card {
    /// Finds the card that a name like `pm_card_visa` or `tok_visa` stands for.
    pub(crate) fn named(name: &str, prefix: &str, year: i32) -> Option<Self> {
        let name = name.strip_prefix(prefix)?;
        let test = TEST_CARDS.iter().find(|c| c.names.contains(&name))?;
        Some(Self {
            test,
            exp_month: 12,
            exp_year: u16::try_from(year + 1).unwrap_or(9999),
            cvc_given: true,
        })
    }

    /// Reads number, expiry and cvc.
    pub(crate) fn read(params: &Params<'_>, today: time::Date) -> Outcome<Self> {
        let number: String = params.required("number")?.split([' ', '-']).collect();
        let needed = |name: &str| {
            params
                .integer(name)?
                .ok_or_else(|| Failure::missing(&params.name(name)))
        };
        let (month, year) = (needed("exp_month")?, needed("exp_year")?);
        let cvc = params.text("cvc")?;
        let refuse = |decline| Err(Failure::card(decline));
        if !(13..=19).contains(&number.len()) || !luhn(&number) {
            return refuse(&INCORRECT_NUMBER);
        }
        let (exp_month, exp_year) = expiry(month, year, today)?;
        if cvc.is_some_and(|c| !(3..=4).contains(&c.len()) || !c.bytes().all(|b| b.is_ascii_digit())) {
            return refuse(&INVALID_CVC);
        }
        let Some(test) = TEST_CARDS.iter().find(|c| c.number == number) else {
            return refuse(&NOT_A_TEST_CARD);
        };
        Ok(Self {
            test,
            exp_month,
            exp_year,
            cvc_given: cvc.is_some(),
        })
    }

    /// Changes the expiry.
    pub(crate) fn renewed(mut self, params: &Params<'_>, today: time::Date) -> Outcome<Self> {
        let month = params.integer("exp_month")?.unwrap_or(self.exp_month.into());
        let year = params.integer("exp_year")?.unwrap_or(self.exp_year.into());
        (self.exp_month, self.exp_year) = expiry(month, year, today)?;
        Ok(self)
    }

    pub(crate) fn last4(&self) -> &'static str {
        let number = self.test.number;
        &number[number.len() - 4..]
    }

    /// Names the number without giving it away; equal for equal numbers.
    pub(crate) fn fingerprint(&self) -> String {
        super::ids::letters(&[b"fingerprint", self.test.number.as_bytes()], 16)
    }

    /// Refuses a card that no customer may keep.
    pub(crate) fn check_keepable(&self) -> Outcome<()> {
        match self.test.behaviour {
            Declines(decline) => Err(Failure::card(decline)),
            _ => Ok(()),
        }
    }

    /// Says what the issuer answers where nobody can authenticate.
    pub(crate) fn decline(&self) -> Option<&'static Decline> {
        match self.test.behaviour {
            Succeeds => None,
            Declines(decline) | DeclinesLater(decline) => Some(decline),
            Behaviour::Authenticates { .. } => Some(&AUTHENTICATION),
        }
    }

    pub(crate) fn cvc_check(&self) -> Option<&'static str> {
        match self.test.quirk {
            Quirk::FailsCvcCheck => Some("fail"),
            _ => self.cvc_given.then_some("pass"),
        }
    }

    pub(crate) fn zip_check(&self, given: bool) -> Option<&'static str> {
        match self.test.quirk {
            Quirk::FailsZipCheck if given => Some("fail"),
            _ => given.then_some("pass"),
        }
    }

    /// Returns the risk's level and score.
    pub(crate) fn risk(&self) -> (&'static str, u8) {
        match self.test.quirk {
            Quirk::HighestRisk => ("highest", 92),
            Quirk::ElevatedRisk => ("elevated", 71),
            _ => ("normal", 24),
        }
    }
}

/// Checks month and year; two digits are of this century.
fn expiry(month: i64, year: i64, today: time::Date) -> Outcome<(u8, u16)> {
    const FURTHEST: i64 = 50;
    let year = if (0..100).contains(&year) { 2000 + year } else { year };
    let this = (i64::from(today.year()), i64::from(u8::from(today.month())));
    let month_is_real = (1..=12).contains(&month);
    match (u8::try_from(month), u16::try_from(year)) {
        (Ok(exp_month), Ok(exp_year)) if month_is_real && (this.0..=this.0 + FURTHEST).contains(&year) => {
            if (year, month) < this {
                return Err(Failure::card(&INVALID_MONTH));
            }
            Ok((exp_month, exp_year))
        }
        _ if !month_is_real => Err(Failure::card(&INVALID_MONTH)),
        _ => Err(Failure::card(&INVALID_YEAR)),
    }
}

fn luhn(number: &str) -> bool {
    let digits: Option<Vec<u32>> = number.chars().rev().map(|c| c.to_digit(10)).collect();
    let sum = |digits: Vec<u32>| {
        let weigh = |(i, d): (usize, u32)| match (i % 2, d) {
            (0, d) => d,
            (_, d) if d > 4 => d * 2 - 9,
            (_, d) => d * 2,
        };
        digits.into_iter().enumerate().map(weigh).sum::<u32>()
    };
    digits.is_some_and(|d| sum(d).is_multiple_of(10))
}
