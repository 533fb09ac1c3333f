//! What an invoice adds up to. Pure: from amounts and coupons to reductions.

use crate::mocks::stripe::objects::Coupon;

/// Is a line as it is added up.
#[derive(Clone, Debug)]
pub(crate) struct Entry<'c> {
    pub(crate) amount: i64,
    pub(crate) discountable: bool,
    /// The coupons of its own, which come before those of the whole.
    pub(crate) own: Vec<&'c Coupon>,
}

/// Is what comes off a line: by its own coupons, in their order, then by the invoice's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) own: Vec<i64>,
    pub(crate) whole: Vec<i64>,
}

impl Taken {
    pub(crate) fn sum(&self) -> i64 {
        self.own.iter().chain(&self.whole).sum()
    }
}

/// Says what comes off each line. Nothing comes off what is a credit already, and never more than there is.
pub(crate) fn reduce(entries: &[Entry<'_>], whole: &[&Coupon]) -> Vec<Taken> {
    let mut taken: Vec<Taken> = Vec::with_capacity(entries.len());
    let mut left: Vec<i64> = Vec::with_capacity(entries.len());
    for entry in entries {
        let mut rest = if entry.discountable { entry.amount.max(0) } else { 0 };
        let mut own = Vec::with_capacity(entry.own.len());
        for coupon in &entry.own {
            let off = coupon.takes_off(rest);
            rest -= off;
            own.push(off);
        }
        left.push(rest);
        taken.push(Taken { own, whole: Vec::new() });
    }
    for coupon in whole {
        let off = coupon.takes_off(left.iter().sum());
        for (place, share) in spread(off, &left).into_iter().enumerate() {
            left[place] -= share;
            taken[place].whole.push(share);
        }
    }
    taken
}

/// Spreads an amount over others in proportion: the shares add up to it, and none is more than what it is a share of.
fn spread(amount: i64, over: &[i64]) -> Vec<i64> {
    let all: i128 = over.iter().map(|part| i128::from(*part)).sum();
    if all == 0 {
        return vec![0; over.len()];
    }
    let (mut reached, mut given) = (0i128, 0i128);
    let share = |part: &i64| {
        reached += i128::from(*part);
        let until = i128::from(amount) * reached / all;
        let share = until - given;
        given = until;
        i64::try_from(share).unwrap_or_default()
    };
    over.iter().map(share).collect()
}

/// Says what is to be paid of a total, and what the customer's balance is then: a credit is used up first, and what is owed too little
/// to be charged is carried over.
pub(crate) fn settle(total: i64, balance: i64, smallest: i64) -> (i64, i64) {
    let owed = total.saturating_add(balance);
    if owed < smallest { (0, owed) } else { (owed, 0) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::mocks::stripe::currency::Currency;
    use crate::mocks::stripe::decimal::Decimal;
    use crate::mocks::stripe::metadata::Metadata;
    use crate::mocks::stripe::objects::{Lasts, Off};

    fn coupon(off: Off) -> Coupon {
        Coupon {
            id: "c".into(),
            created: 0,
            off,
            lasts: Lasts::Once,
            name: None,
            max_redemptions: None,
            redeem_by: None,
            redeemed: 0,
            expired: false,
            metadata: Metadata::default(),
        }
    }

    fn usd() -> Currency {
        Currency::parse("usd", "currency").expect("a currency")
    }

    #[test]
    fn own_coupons_come_first_and_the_rest_is_spread() {
        let (third, dollar) = (coupon(Off::Percent(Decimal::from(33))), coupon(Off::Amount(100, usd())));
        let entry = |amount, own| Entry {
            amount,
            discountable: true,
            own,
        };
        let taken = reduce(
            &[entry(1000, vec![&third]), entry(330, vec![]), entry(-500, vec![])],
            &[&dollar],
        );
        assert_eq!((&*taken[0].own, &*taken[0].whole), (&[330][..], &[67][..]));
        assert_eq!((&*taken[1].whole, &*taken[2].whole), (&[33][..], &[0][..]));
        let fixed = Entry {
            discountable: false,
            ..entry(1000, vec![&third])
        };
        assert_eq!(reduce(&[fixed], &[&dollar])[0].sum(), 0);
    }

    #[test]
    fn a_balance_is_used_first_and_a_trifle_is_carried_over() {
        assert_eq!(settle(1000, 0, 50), (1000, 0));
        assert_eq!(settle(1000, -300, 50), (700, 0));
        assert_eq!(settle(1000, -1300, 50), (0, -300));
        assert_eq!(settle(1000, 200, 50), (1200, 0));
        assert_eq!(settle(49, 0, 50), (0, 49));
        assert_eq!(settle(-200, 0, 50), (0, -200));
    }

    fn coupons() -> impl Strategy<Value = Vec<Coupon>> {
        let one = prop_oneof![
            (1..5000i64).prop_map(|amount| coupon(Off::Amount(amount, usd()))),
            (1..=100i64).prop_map(|percent| coupon(Off::Percent(Decimal::from(percent)))),
        ];
        proptest::collection::vec(one, 0..3)
    }

    proptest! {
        #[test]
        fn nothing_is_taken_twice(
            lines in proptest::collection::vec((-5000..20_000i64, any::<bool>(), coupons()), 0..8),
            whole in coupons(),
            balance in -10_000..10_000i64,
        ) {
            let entries: Vec<_> = lines
                .iter()
                .map(|(amount, discountable, own)| Entry { amount: *amount, discountable: *discountable, own: own.iter().collect() })
                .collect();
            let taken = reduce(&entries, &whole.iter().collect::<Vec<_>>());
            for (entry, taken) in entries.iter().zip(&taken) {
                prop_assert!(taken.own.iter().chain(&taken.whole).all(|off| *off >= 0));
                let most = if entry.discountable { entry.amount.max(0) } else { 0 };
                prop_assert!(taken.sum() <= most);
            }
            let subtotal: i64 = entries.iter().map(|e| e.amount).sum();
            let total = subtotal - taken.iter().map(Taken::sum).sum::<i64>();
            let (due, after) = settle(total, balance, 50);
            prop_assert!(due >= 0);
            prop_assert_eq!(due + after, total + balance);
        }
    }
}
