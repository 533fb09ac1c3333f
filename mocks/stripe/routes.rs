//! The table of operations: it drives routing, what the provider says of itself, and dispatch. Each resource keeps its rows beside what they do.

use std::sync::LazyLock;

use http::Method;

use super::due;
use super::kind::Parameter;
use super::objects::Kind as Shows;
use super::operations::{
    authenticate, balance, charges, checkout, country_specs, coupons, customer_methods, customer_sources, customers,
    disputes, events, invoice_payments, invoiceitems, invoices, meter_events, meters, payment_intents, payment_methods,
    prices, products, promotion_codes, refunds, setup_intents, sources, subscription_items, subscriptions, test_clocks,
    tokens, webhook_endpoints,
};
use super::scene::Handler;
use crate::attempt::{About, Kind, Operation};
use crate::ledger::Class;

/// Is one row of the table.
#[derive(Debug)]
pub(crate) struct Route {
    verb: Verb,
    /// `{id}` stands for any one segment; where there are two, the first is `{parent}`.
    path: &'static str,
    pub(crate) name: &'static str,
    effects: &'static [&'static str],
    /// The parameters it takes, `expand` apart, each with its kind.
    params: &'static [&'static str],
    /// What its answer shows.
    pub(crate) shows: Shows,
    pub(crate) list: bool,
    /// Whether a publishable key will do.
    pub(crate) publishable: bool,
    /// Whether none is needed.
    pub(crate) keyless: bool,
    pub(crate) run: Handler,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Post,
    Delete,
}

/// Is what a path means.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matched<'p> {
    pub(crate) route: &'static Route,
    pub(crate) parameters: &'static [Parameter],
    /// The operation, as `about` lists it.
    pub(crate) operation: &'static Operation,
    /// The last id in the path, as sent; empty where there is none.
    pub(crate) id: &'p str,
    /// The id before it, of what it belongs to; empty where there is none.
    pub(crate) parent: &'p str,
}

/// All rows.
static TABLE: &[&[Route]] = &[
    customers::ROUTES,
    payment_methods::ROUTES,
    payment_intents::ROUTES,
    charges::ROUTES,
    refunds::ROUTES,
    disputes::ROUTES,
    setup_intents::ROUTES,
    authenticate::ROUTES,
    tokens::ROUTES,
    balance::ROUTES,
    products::ROUTES,
    prices::ROUTES,
    coupons::ROUTES,
    promotion_codes::ROUTES,
    invoiceitems::ROUTES,
    invoices::ROUTES,
    invoice_payments::ROUTES,
    subscriptions::ROUTES,
    subscription_items::ROUTES,
    test_clocks::ROUTES,
    checkout::ROUTES,
    events::ROUTES,
    webhook_endpoints::ROUTES,
    customer_sources::ROUTES,
    customer_methods::ROUTES,
    sources::ROUTES,
    country_specs::ROUTES,
    meters::ROUTES,
    meter_events::ROUTES,
];

/// Is what the provider says of itself.
pub(crate) static ABOUT: LazyLock<About> = LazyLock::new(|| {
    let schedule = Operation {
        name: due::OPERATION,
        kind: Kind::Write,
        effects: due::EFFECTS,
    };
    let unrecognized = Operation {
        name: "unrecognized",
        kind: Kind::Write,
        effects: &[],
    };
    let operations: Vec<Operation> = rows().map(Route::operation).chain([schedule, unrecognized]).collect();
    About {
        name: "stripe",
        class: Class::KeyEnforced,
        operations: operations.leak(),
    }
});

/// The rows' places by path, one router a verb.
static ROUTERS: LazyLock<[matchit::Router<usize>; 3]> = LazyLock::new(|| {
    [Verb::Get, Verb::Post, Verb::Delete].map(|verb| {
        let mut router = matchit::Router::new();
        for (place, route) in rows().enumerate().filter(|(_, route)| route.verb == verb) {
            let inserted = router.insert(route.path, place);
            inserted.expect("no two rows of a verb have one path");
        }
        router
    })
});

/// The rows by their places, with their parameters.
static ROWS: LazyLock<Vec<(&'static Route, Vec<Parameter>)>> = LazyLock::new(|| {
    let read = |route: &'static Route| route.params.iter().copied().map(Parameter::read).collect();
    rows().map(|route| (route, read(route))).collect()
});

/// Finds the row that a method and a path name.
pub(crate) fn find<'p>(method: &Method, path: &'p str) -> Option<Matched<'p>> {
    let verb = match *method {
        Method::GET => Verb::Get,
        Method::POST => Verb::Post,
        Method::DELETE => Verb::Delete,
        _ => return None,
    };
    let path = path.strip_suffix('/').unwrap_or(path);
    let matched = ROUTERS[verb as usize].at(path).ok()?;
    let place = *matched.value;
    let (route, parameters) = &ROWS[place];
    Some(Matched {
        route,
        parameters,
        operation: &ABOUT.operations[place],
        id: matched.params.get("id").unwrap_or_default(),
        parent: matched.params.get("parent").unwrap_or_default(),
    })
}

/// Names the parameters of an operation.
pub(crate) fn parameters(operation: &str) -> Vec<&'static str> {
    let found = ROWS.iter().find(|(route, _)| route.name == operation);
    let (_, parameters) = found.expect("the name stands in a table of the provider's own");
    parameters.iter().map(|parameter| parameter.name).collect()
}

/// Lists the rows, in the order of the operations.
pub(crate) fn rows() -> impl Iterator<Item = &'static Route> {
    TABLE.iter().copied().flatten()
}

/// Returns the operation of all other paths.
pub(crate) fn unrecognized() -> &'static Operation {
    ABOUT.operation("unrecognized")
}

impl Route {
    fn operation(&self) -> Operation {
        Operation {
            name: self.name,
            kind: match self.verb {
                Verb::Get => Kind::Read,
                Verb::Post | Verb::Delete => Kind::Write,
            },
            effects: self.effects,
        }
    }

    /// Lists the parameters as the table writes them.
    #[cfg(test)]
    pub(crate) fn params(&self) -> &'static [&'static str] {
        self.params
    }

    /// Says that it answers with a list.
    pub(crate) const fn listing(self) -> Self {
        Self { list: true, ..self }
    }

    /// Says that a publishable key will do.
    pub(crate) const fn publishable(self) -> Self {
        Self {
            publishable: true,
            ..self
        }
    }

    /// Says that no key is needed: a customer calls it, in a browser.
    pub(crate) const fn keyless(self) -> Self {
        Self {
            publishable: true,
            keyless: true,
            ..self
        }
    }
}

/// Makes a row.
pub(crate) const fn row(
    verb: Verb,
    path: &'static str,
    name: &'static str,
    shows: Shows,
    effects: &'static [&'static str],
    params: &'static [&'static str],
    run: Handler,
) -> Route {
    Route {
        verb,
        path,
        name,
        effects,
        params,
        shows,
        list: false,
        publishable: false,
        keyless: false,
        run,
    }
}
