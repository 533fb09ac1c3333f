//! The table of operations: it drives routing, what the provider says of itself, and dispatch.

use std::sync::LazyLock;

use http::Method;

use super::due;
use super::objects::Kind as Shows;
use super::operations::{balance, charges, customers, payment_intents, payment_methods, refunds, tokens};
use super::scene::Handler;
use crate::attempt::{About, Kind, Operation};
use crate::ledger::Class;

/// Is one row of the table.
#[derive(Debug)]
pub(crate) struct Route {
    verb: Verb,
    /// `{id}` stands for any one segment.
    path: &'static str,
    pub(crate) name: &'static str,
    effects: &'static [&'static str],
    /// The parameters it takes, `expand` apart.
    pub(crate) params: &'static [&'static str],
    /// What its answer shows.
    pub(crate) shows: Shows,
    pub(crate) list: bool,
    /// Whether a publishable key will do.
    pub(crate) publishable: bool,
    pub(crate) run: Handler,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Get,
    Post,
    Delete,
}

/// Is what a path means.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matched<'p> {
    pub(crate) route: &'static Route,
    /// The operation, as `about` lists it.
    pub(crate) operation: &'static Operation,
    /// The id in the path, as sent.
    pub(crate) id: &'p str,
}

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
    let operations: Vec<Operation> = ROUTES
        .iter()
        .map(Route::operation)
        .chain([schedule, unrecognized])
        .collect();
    About {
        name: "stripe",
        class: Class::KeyEnforced,
        operations: operations.leak(),
    }
});

/// Finds the row that a method and a path name.
pub(crate) fn find<'p>(method: &Method, path: &'p str) -> Option<Matched<'p>> {
    let verb = match *method {
        Method::GET => Verb::Get,
        Method::POST => Verb::Post,
        Method::DELETE => Verb::Delete,
        _ => return None,
    };
    let rows = ROUTES.iter().zip(ABOUT.operations);
    rows.filter(|(route, _)| route.verb == verb)
        .find_map(|(route, operation)| {
            let id = matches(route.path, path)?;
            Some(Matched { route, operation, id })
        })
}

/// Finds the row of an operation.
pub(crate) fn named(operation: &str) -> &'static Route {
    let found = ROUTES.iter().find(|route| route.name == operation);
    found.expect("the name stands in a table of the provider's own")
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

    const fn listing(self) -> Self {
        Self { list: true, ..self }
    }

    const fn publishable(self) -> Self {
        Self {
            publishable: true,
            ..self
        }
    }
}

/// Returns the id in a path that a pattern matches.
fn matches<'p>(pattern: &str, path: &'p str) -> Option<&'p str> {
    let path = path.strip_suffix('/').unwrap_or(path);
    let (mut id, mut wanted, mut given) = ("", pattern.split('/'), path.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return Some(id),
            (Some("{id}"), Some(segment)) if !segment.is_empty() => id = segment,
            (Some(wanted), Some(given)) if wanted == given => {}
            _ => return None,
        }
    }
}

const fn row(
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
        run,
    }
}

use Verb::{Delete, Get, Post};

#[rustfmt::skip]
static ROUTES: &[Route] = &[
    row(Post, "/v1/customers", "customers.create", Shows::Customer, &["customer"], CUSTOMER_CREATE, customers::create),
    row(Get, "/v1/customers", "customers.list", Shows::Customer, &[],
        &["created", "email", "ending_before", "limit", "starting_after", "test_clock"], customers::list).listing(),
    row(Get, "/v1/customers/{id}", "customers.retrieve", Shows::Customer, &[], &[], customers::retrieve),
    row(Post, "/v1/customers/{id}", "customers.update", Shows::Customer, &["customer_update"], CUSTOMER_UPDATE, customers::update),
    row(Delete, "/v1/customers/{id}", "customers.delete", Shows::Customer, &["customer_delete"], &[], customers::delete),

    row(Post, "/v1/payment_methods", "payment_methods.create", Shows::Method, &["payment_method"],
        &["allow_redisplay", "billing_details", "card", "metadata", "radar_options", "type"], payment_methods::create).publishable(),
    row(Get, "/v1/payment_methods", "payment_methods.list", Shows::Method, &[],
        &["allow_redisplay", "customer", "ending_before", "limit", "starting_after", "type"], payment_methods::list).listing(),
    row(Get, "/v1/payment_methods/{id}", "payment_methods.retrieve", Shows::Method, &[], &[], payment_methods::retrieve),
    row(Post, "/v1/payment_methods/{id}", "payment_methods.update", Shows::Method, &["payment_method_update"],
        &["allow_redisplay", "billing_details", "card", "metadata"], payment_methods::update),
    row(Post, "/v1/payment_methods/{id}/attach", "payment_methods.attach", Shows::Method, &["payment_method_attach"],
        &["customer", "customer_account"], payment_methods::attach),
    row(Post, "/v1/payment_methods/{id}/detach", "payment_methods.detach", Shows::Method, &["payment_method_detach"],
        &[], payment_methods::detach),

    row(Post, "/v1/payment_intents", "payment_intents.create", Shows::Intent, &["payment_intent", "charge"],
        INTENT_CREATE, payment_intents::create),
    row(Get, "/v1/payment_intents", "payment_intents.list", Shows::Intent, &[],
        &["created", "customer", "customer_account", "ending_before", "limit", "starting_after"], payment_intents::list).listing(),
    row(Get, "/v1/payment_intents/{id}", "payment_intents.retrieve", Shows::Intent, &[], &["client_secret"], payment_intents::retrieve),
    row(Post, "/v1/payment_intents/{id}", "payment_intents.update", Shows::Intent, &["payment_intent_update"],
        INTENT_UPDATE, payment_intents::update),
    row(Post, "/v1/payment_intents/{id}/confirm", "payment_intents.confirm", Shows::Intent, &["payment_intent_confirm", "charge"],
        INTENT_CONFIRM, payment_intents::confirm),
    row(Post, "/v1/payment_intents/{id}/capture", "payment_intents.capture", Shows::Intent, &["payment_intent_capture", "charge_capture"],
        INTENT_CAPTURE, payment_intents::capture),
    row(Post, "/v1/payment_intents/{id}/cancel", "payment_intents.cancel", Shows::Intent, &["payment_intent_cancel"],
        &["cancellation_reason"], payment_intents::cancel),

    row(Post, "/v1/charges", "charges.create", Shows::Charge, &["charge"], CHARGE_CREATE, charges::create),
    row(Get, "/v1/charges", "charges.list", Shows::Charge, &[],
        &["created", "customer", "ending_before", "limit", "payment_intent", "starting_after", "transfer_group"], charges::list).listing(),
    row(Get, "/v1/charges/{id}", "charges.retrieve", Shows::Charge, &[], &[], charges::retrieve),
    row(Post, "/v1/charges/{id}", "charges.update", Shows::Charge, &["charge_update"],
        &["customer", "description", "fraud_details", "metadata", "receipt_email", "shipping", "transfer_group"], charges::update),
    row(Post, "/v1/charges/{id}/capture", "charges.capture", Shows::Charge, &["charge_capture"],
        CHARGE_CAPTURE, charges::capture),

    row(Post, "/v1/refunds", "refunds.create", Shows::Refund, &["refund"], REFUND_CREATE, refunds::create),
    row(Get, "/v1/refunds", "refunds.list", Shows::Refund, &[],
        &["charge", "created", "ending_before", "limit", "payment_intent", "starting_after"], refunds::list).listing(),
    row(Get, "/v1/refunds/{id}", "refunds.retrieve", Shows::Refund, &[], &[], refunds::retrieve),
    row(Post, "/v1/refunds/{id}", "refunds.update", Shows::Refund, &["refund_update"], &["metadata"], refunds::update),

    row(Post, "/v1/tokens", "tokens.create", Shows::Token, &["token"], &["card"], tokens::create).publishable(),
    row(Get, "/v1/tokens/{id}", "tokens.retrieve", Shows::Token, &[], &[], tokens::retrieve),

    row(Get, "/v1/balance", "balance.retrieve", Shows::Balance, &[], &[], balance::retrieve),
];

const CUSTOMER_CREATE: &[&str] = &[
    "address",
    "balance",
    "business_name",
    "cash_balance",
    "description",
    "email",
    "individual_name",
    "invoice_prefix",
    "invoice_settings",
    "metadata",
    "name",
    "next_invoice_sequence",
    "payment_method",
    "phone",
    "preferred_locales",
    "shipping",
    "source",
    "tax",
    "tax_exempt",
];
const CUSTOMER_UPDATE: &[&str] = &[
    "address",
    "balance",
    "business_name",
    "cash_balance",
    "default_source",
    "description",
    "email",
    "individual_name",
    "invoice_prefix",
    "invoice_settings",
    "metadata",
    "name",
    "next_invoice_sequence",
    "phone",
    "preferred_locales",
    "shipping",
    "source",
    "tax",
    "tax_exempt",
];
const INTENT_CREATE: &[&str] = &[
    "allowed_payment_method_types",
    "amount",
    "amount_details",
    "application_fee_amount",
    "automatic_payment_methods",
    "capture_method",
    "confirm",
    "confirmation_method",
    "currency",
    "customer",
    "description",
    "error_on_requires_action",
    "excluded_payment_method_types",
    "hooks",
    "mandate",
    "mandate_data",
    "metadata",
    "off_session",
    "on_behalf_of",
    "payment_details",
    "payment_method",
    "payment_method_configuration",
    "payment_method_data",
    "payment_method_options",
    "payment_method_types",
    "radar_options",
    "receipt_email",
    "return_url",
    "setup_future_usage",
    "shipping",
    "statement_descriptor",
    "statement_descriptor_suffix",
    "transfer_data",
    "transfer_group",
    "use_stripe_sdk",
];
const INTENT_UPDATE: &[&str] = &[
    "allowed_payment_method_types",
    "amount",
    "amount_details",
    "application_fee_amount",
    "capture_method",
    "currency",
    "customer",
    "description",
    "excluded_payment_method_types",
    "hooks",
    "metadata",
    "payment_details",
    "payment_method",
    "payment_method_configuration",
    "payment_method_data",
    "payment_method_options",
    "payment_method_types",
    "receipt_email",
    "setup_future_usage",
    "shipping",
    "statement_descriptor",
    "statement_descriptor_suffix",
    "transfer_data",
    "transfer_group",
];
const INTENT_CONFIRM: &[&str] = &[
    "allowed_payment_method_types",
    "amount_details",
    "capture_method",
    "client_secret",
    "error_on_requires_action",
    "excluded_payment_method_types",
    "hooks",
    "mandate",
    "mandate_data",
    "off_session",
    "payment_details",
    "payment_method",
    "payment_method_data",
    "payment_method_options",
    "payment_method_types",
    "radar_options",
    "receipt_email",
    "return_url",
    "setup_future_usage",
    "shipping",
    "use_stripe_sdk",
];
const INTENT_CAPTURE: &[&str] = &[
    "amount_details",
    "amount_to_capture",
    "application_fee_amount",
    "final_capture",
    "hooks",
    "metadata",
    "payment_details",
    "statement_descriptor",
    "statement_descriptor_suffix",
    "transfer_data",
];
const CHARGE_CREATE: &[&str] = &[
    "amount",
    "application_fee_amount",
    "capture",
    "card",
    "currency",
    "customer",
    "description",
    "metadata",
    "on_behalf_of",
    "radar_options",
    "receipt_email",
    "shipping",
    "source",
    "statement_descriptor",
    "statement_descriptor_suffix",
    "transfer_data",
    "transfer_group",
];
const CHARGE_CAPTURE: &[&str] = &[
    "amount",
    "application_fee_amount",
    "receipt_email",
    "statement_descriptor",
    "statement_descriptor_suffix",
    "transfer_data",
    "transfer_group",
];
const REFUND_CREATE: &[&str] = &[
    "amount",
    "charge",
    "instructions_email",
    "metadata",
    "payment_intent",
    "reason",
    "refund_application_fee",
    "reverse_transfer",
];
