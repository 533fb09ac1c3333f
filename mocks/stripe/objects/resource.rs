//! The table of resources: what each says of itself, and the things that stand in answers.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::{
    Adjustment, BalanceTransaction, Charge, CountrySpec, Coupon, Customer, Deleted, Discount, Dispute, Endpoint, Event,
    Holdings, Intent, Invoice, InvoiceItem, InvoicePayment, Line, Meter, MeterEvent, MeterEventV2, Method,
    PaymentSource, Price, Product, Promotion, Refund, Secret, Session, SessionLine, Setup, Shown, SourceObject,
    Subscription, SubscriptionItem, TestClock, Token,
};
use crate::store::Tx;

/// Is a resource: one row of the table. Its object is kept in the store, and shown by this.
pub(crate) trait Resource: Sized {
    /// The name that Stripe's messages give it.
    const WORD: &'static str;
    /// What `object` says in JSON.
    const OBJECT: &'static str;
    /// Where its fields lead: what `expand[]` can put there. A field inside a hash is named with a dot.
    const LINKS: &'static [(&'static str, Target)] = &[];
    /// The links that are always expanded: what belongs to it and is shown inside it.
    const INSIDE: &'static [&'static str] = &[];

    /// Finds the current version.
    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>>;

    /// Returns the id; empty where it has none.
    fn id(&self) -> &str;

    /// Returns the id that a field holds which leads to one object.
    fn reference(&self, _field: &str) -> Option<Arc<str>> {
        None
    }

    /// Lists the ids that a field leads to, in the order in which they are shown.
    fn members(&self, _field: &str) -> Vec<Arc<str>> {
        Vec::new()
    }

    /// Names the path under which what a field leads to is listed.
    fn members_url(&self, _field: &str) -> String {
        String::new()
    }

    /// Shows it.
    fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's;
}

/// Says where a field leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// To one object, whose id it holds.
    One(Kind),
    /// To one object of one of these kinds.
    OneOf(&'static [Kind]),
    /// To a list of them, of which a page is shown.
    Many(Kind),
    /// To some of them, whose ids stand in an array.
    Each(Kind),
}

macro_rules! resources {
    ($($name:ident: $type:ty),* $(,)?) => {
        /// Names a resource.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Kind { $($name),* }

        /// Is a version of an object.
        #[derive(Clone, Debug)]
        pub(crate) enum Thing { $($name(Arc<$type>)),* }

        impl Kind {
            /// Lists all.
            #[cfg(test)]
            pub(crate) const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Names the kind as Stripe's messages do.
            pub(crate) fn word(self) -> &'static str {
                match self { $(Self::$name => <$type>::WORD),* }
            }

            /// Names the kind as its JSON does.
            #[cfg(test)]
            pub(crate) fn object(self) -> &'static str {
                match self { $(Self::$name => <$type>::OBJECT),* }
            }

            /// Says where its fields lead.
            pub(crate) fn links(self) -> &'static [(&'static str, Target)] {
                match self { $(Self::$name => <$type>::LINKS),* }
            }

            /// Says which links are always expanded.
            pub(crate) fn inside(self) -> &'static [&'static str] {
                match self { $(Self::$name => <$type>::INSIDE),* }
            }

            /// Finds the current version of an object.
            pub(crate) fn find(self, tx: &Tx<'_>, id: &str) -> Option<Thing> {
                match self { $(Self::$name => <$type>::find(tx, id).map(Thing::$name)),* }
            }
        }

        impl Thing {
            pub(crate) fn kind(&self) -> Kind {
                match self { $(Self::$name(_) => Kind::$name),* }
            }

            pub(crate) fn id(&self) -> &str {
                match self { $(Self::$name(object) => Resource::id(&**object)),* }
            }

            /// Returns the id that a link's field holds.
            pub(crate) fn reference(&self, field: &str) -> Option<Arc<str>> {
                match self { $(Self::$name(object) => object.reference(field)),* }
            }

            /// Lists the ids that a link's field leads to.
            pub(crate) fn members(&self, field: &str) -> Vec<Arc<str>> {
                match self { $(Self::$name(object) => object.members(field)),* }
            }

            /// Names the path under which those are listed.
            pub(crate) fn members_url(&self, field: &str) -> String {
                match self { $(Self::$name(object) => object.members_url(field)),* }
            }
        }

        $(impl From<Arc<$type>> for Thing {
            fn from(object: Arc<$type>) -> Self {
                Self::$name(object)
            }
        })*

        impl Serialize for Shown {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match &self.thing { $(Thing::$name(object) => object.show(self).serialize(serializer)),* }
            }
        }
    };
}

resources! {
    Balance: Holdings,
    Card: PaymentSource,
    Charge: Charge,
    CountrySpec: &'static CountrySpec,
    Coupon: Coupon,
    Customer: Customer,
    Deleted: Deleted,
    Discount: Discount,
    Dispute: Dispute,
    Endpoint: Endpoint,
    Event: Event,
    Intent: Intent,
    Invoice: Invoice,
    InvoiceItem: InvoiceItem,
    InvoicePayment: InvoicePayment,
    Line: Line,
    Meter: Meter,
    MeterEvent: MeterEvent,
    MeterEventAdjustment: Adjustment,
    MeterEventV2: MeterEventV2,
    Method: Method,
    Movement: BalanceTransaction,
    Price: Price,
    Product: Product,
    Promotion: Promotion,
    Refund: Refund,
    Secret: Secret,
    Session: Session,
    SessionLine: SessionLine,
    Setup: Setup,
    Source: SourceObject,
    Subscription: Subscription,
    SubscriptionItem: SubscriptionItem,
    TestClock: TestClock,
    Token: Token,
}

impl Kind {
    /// Finds the link that a path begins with: the name that comes back is the table's own, with what is left of the path.
    pub(crate) fn link<'p>(self, path: &'p str) -> Option<(&'static str, Target, &'p str)> {
        self.links().iter().find_map(|(name, target)| {
            let rest = path.strip_prefix(name)?;
            let rest = match rest.strip_prefix('.') {
                Some(rest) if !rest.is_empty() => rest,
                _ if rest.is_empty() => rest,
                _ => return None,
            };
            Some((*name, *target, rest))
        })
    }
}

impl Thing {
    /// Shows it with nothing expanded; only for what has nothing inside.
    pub(crate) fn plain(self) -> Shown {
        Shown {
            thing: self,
            expanded: None,
        }
    }
}
