//! Does the program of `../README.md`.

mod sales;

use std::{collections::HashMap, error::Error, fmt::Debug, panic::Location};

use futures_util::TryStreamExt;
use serde_json::json;
use stripe::{
    ApiErrorsCode, ApiErrorsType, Client, ClientBuilder, IdempotencyKey, RequestStrategy, StripeError, StripeRequest,
};
use stripe_core::{
    charge::RetrieveCharge,
    customer::{
        CreateCustomer, ListCustomer, RetrieveCustomer, RetrieveCustomerReturned, SearchCustomer, UpdateCustomer,
        UpdateCustomerInvoiceSettings,
    },
    event::ListEvent,
    payment_intent::{
        CapturePaymentIntent, CreatePaymentIntent, CreatePaymentIntentAutomaticPaymentMethods as Automatic,
        CreatePaymentIntentAutomaticPaymentMethodsAllowRedirects as AllowRedirects, RetrievePaymentIntent,
        SearchPaymentIntent,
    },
    refund::{CreateRefund, ListRefund},
};
use stripe_misc::webhook_endpoint::{CreateWebhookEndpoint, CreateWebhookEndpointEnabledEvents};
use stripe_payment::payment_method::{
    AttachPaymentMethod, CreatePaymentMethod, CreatePaymentMethodCard, CreatePaymentMethodTokenParams,
    CreatePaymentMethodType,
};
use stripe_product::product::CreateProduct;
use stripe_shared::{Customer, EventType, PaymentIntentCaptureMethod, PaymentIntentStatus};
use stripe_types::Currency;
use stripe_webhook::{Event, EventObject, Webhook, WebhookError};

use crate::{Report, plain, receiver::Receiver};

type Step = Result<(), Box<dyn Error>>;

/// Is what the steps hand on to each other.
struct Program {
    url: String,
    lagging: Client,
    lagging_url: String,
    scope: String,
    email: String,
    client: Client,
    customer: String,
    method: String,
    intent: String,
    charge: String,
    monthly: String,
    single: String,
}

pub(crate) async fn run(url: &str, lagging: &str, scope: &str, report: &mut Report) {
    let at = |url: &str| {
        let builder = ClientBuilder::new(format!("sk_test_~{scope}")).url(format!("{url}/"));
        builder.build().expect("a client")
    };
    let mut program = Program {
        url: url.to_owned(),
        lagging: at(lagging),
        lagging_url: lagging.to_owned(),
        scope: scope.to_owned(),
        email: format!("{scope}@example.com"),
        client: at(url),
        customer: String::new(),
        method: String::new(),
        intent: String::new(),
        charge: String::new(),
        monthly: String::new(),
        single: String::new(),
    };
    let mut told = |name: &str, step: Step| {
        let problem = step.err().map(|error| error.to_string());
        report.case(&format!("program {name}"), problem.as_slice());
    };
    told("customer", program.customer().await);
    told("payment method", program.payment_method().await);
    told("3DS", program.three_ds().await);
    told("capture", program.capture().await);
    told("decline", program.decline().await);
    told("partial refund", program.refund().await);
    told("product and prices", program.product().await);
    told("subscription", program.subscription().await);
    told("checkout", program.checkout().await);
    told("list and search", program.list_and_search().await);
    told("lagging search", program.lagging_search().await);
    told("auto-pagination", program.auto_pagination().await);
    told("webhook", program.webhook().await);
}

impl Program {
    async fn customer(&mut self) -> Step {
        let create = CreateCustomer::new()
            .email(&self.email)
            .name("Ada")
            .metadata(order("17"));
        let key = format!("{}-customer", self.scope);
        self.customer = self.once(&create, &key).await?.id.to_string();
        let again = self.once(&create, &key).await?;
        equal(again.id.as_str(), self.customer.as_str())?;
        equal(again.metadata, Some(order("17")))
    }

    async fn payment_method(&mut self) -> Step {
        let card = CreatePaymentMethodCard::TokenParams(CreatePaymentMethodTokenParams::new("tok_visa"));
        let create = CreatePaymentMethod::new()
            .type_(CreatePaymentMethodType::Card)
            .card(card);
        self.method = create.send(&self.client).await?.id.to_string();
        let attach = AttachPaymentMethod::new(&*self.method).customer(&self.customer);
        attach.send(&self.client).await?;
        let settings = UpdateCustomerInvoiceSettings {
            default_payment_method: Some(self.method.clone()),
            ..UpdateCustomerInvoiceSettings::new()
        };
        let update = UpdateCustomer::new(&*self.customer).invoice_settings(settings);
        update.send(&self.client).await?;
        let retrieve =
            RetrieveCustomer::new(&*self.customer).expand(["invoice_settings.default_payment_method".to_owned()]);
        let RetrieveCustomerReturned::Customer(customer) = retrieve.send(&self.client).await? else {
            return Err("the customer is deleted".into());
        };
        let settings = customer.invoice_settings.ok_or("no invoice_settings")?;
        let method = settings.default_payment_method.ok_or("no default_payment_method")?;
        let method = method.as_object().ok_or("default_payment_method is not expanded")?;
        equal(method.id.as_str(), self.method.as_str())?;
        let owner = method.customer.as_ref().map(|customer| customer.id().as_str());
        equal(owner, Some(self.customer.as_str()))?;
        equal(method.card.as_ref().map(|card| card.last4.as_str()), Some("4242"))
    }

    async fn three_ds(&mut self) -> Step {
        let create = CreatePaymentIntent::new(2000, Currency::USD)
            .customer(&self.customer)
            .payment_method("pm_card_threeDSecure2Required")
            .confirm(true)
            .return_url("https://example.com/back")
            .metadata(order(&format!("{}-3ds", self.scope)));
        let intent = create.send(&self.client).await?;
        equal(intent.status, PaymentIntentStatus::RequiresAction)?;
        let action = intent.next_action.ok_or("no next_action")?;
        equal(action.type_.as_str(), "redirect_to_url")?;
        let url = action.redirect_to_url.and_then(|redirect| redirect.url);
        plain::form(&url.ok_or("no URL to redirect to")?, "result=succeed").await?;
        let retrieve = RetrievePaymentIntent::new(&intent.id).expand(["latest_charge".to_owned()]);
        let intent = retrieve.send(&self.client).await?;
        let charge = intent.latest_charge.ok_or("no latest_charge")?;
        let charge = charge.as_object().ok_or("latest_charge is not expanded")?;
        equal(intent.status, PaymentIntentStatus::Succeeded)?;
        equal(
            (intent.amount_received, charge.paid, charge.captured),
            (2000, true, true),
        )?;
        self.intent = intent.id.to_string();
        self.charge = charge.id.to_string();
        Ok(())
    }

    async fn capture(&mut self) -> Step {
        let create = CreatePaymentIntent::new(5000, Currency::USD)
            .customer(&self.customer)
            .payment_method(&self.method)
            .automatic_payment_methods(no_redirects())
            .capture_method(PaymentIntentCaptureMethod::Manual)
            .confirm(true);
        let intent = create.send(&self.client).await?;
        equal(intent.status, PaymentIntentStatus::RequiresCapture)?;
        equal(intent.amount_capturable, 5000)?;
        let capture = CapturePaymentIntent::new(intent.id).amount_to_capture(3000);
        let intent = capture.send(&self.client).await?;
        equal(intent.status, PaymentIntentStatus::Succeeded)?;
        equal(intent.amount_received, 3000)
    }

    async fn decline(&mut self) -> Step {
        let create = CreatePaymentIntent::new(1000, Currency::USD)
            .payment_method("pm_card_visa_chargeDeclined")
            .automatic_payment_methods(no_redirects())
            .confirm(true);
        match create.send(&self.client).await {
            Err(StripeError::Stripe(error, status)) => {
                equal(error.type_, ApiErrorsType::CardError)?;
                equal(error.code, Some(ApiErrorsCode::CardDeclined))?;
                equal((error.decline_code.as_deref(), status), (Some("generic_decline"), 402))
            }
            Err(error) => Err(error.into()),
            Ok(_) => Err("it was not declined".into()),
        }
    }

    async fn refund(&mut self) -> Step {
        let create = CreateRefund::new().payment_intent(&self.intent).amount(500);
        let refund = create.send(&self.client).await?;
        equal((refund.status.as_deref(), refund.amount), (Some("succeeded"), 500))?;
        let charge = RetrieveCharge::new(&*self.charge).send(&self.client).await?;
        equal((charge.amount_refunded, charge.refunded), (500, false))?;
        let refunds = ListRefund::new().charge(&self.charge).send(&self.client).await?.data;
        let ids: Vec<_> = refunds.iter().map(|each| &each.id).collect();
        equal(ids, vec![&refund.id])
    }

    async fn list_and_search(&mut self) -> Step {
        let customers = ListCustomer::new().email(&self.email).send(&self.client).await?.data;
        equal(ids(&customers), vec![self.customer.as_str()])?;
        let search = SearchPaymentIntent::new(format!(r#"metadata["order"]:"{}-3ds""#, self.scope));
        let found = search.send(&self.client).await?.data;
        let found: Vec<_> = found.iter().map(|each| each.id.as_str()).collect();
        equal(found, vec![self.intent.as_str()])?;
        let events = ListEvent::new().type_("charge.refunded").send(&self.client).await?.data;
        let about = events.iter().map(|event| match &event.data.object {
            miniserde::json::Value::Object(object) => match object.get("id") {
                Some(miniserde::json::Value::String(id)) => id.as_str(),
                _ => "",
            },
            _ => "",
        });
        equal(about.collect::<Vec<_>>(), vec![self.charge.as_str()])
    }

    async fn lagging_search(&mut self) -> Step {
        let late = format!("{}-late", self.scope);
        let create = CreateCustomer::new().metadata(order(&late));
        let made = create.send(&self.lagging).await?.id;
        let listed = ListCustomer::new().send(&self.lagging).await?.data;
        equal(ids(&listed), vec![made.as_str()])?;
        let search = SearchCustomer::new(format!(r#"metadata["order"]:"{late}""#));
        equal(ids(&search.send(&self.lagging).await?.data), Vec::new())?;
        let clock = format!("{}/_clock?scope={}", self.lagging_url, self.scope);
        plain::json(&clock, &json!({"advance": "61s"})).await?;
        equal(ids(&search.send(&self.lagging).await?.data), vec![made.as_str()])
    }

    async fn auto_pagination(&mut self) -> Step {
        let email = format!("page@{}.example", self.scope);
        let mut made = Vec::new();
        for number in 0..250 {
            let create = CreateCustomer::new().name(format!("page-{number}")).email(&email);
            made.push(create.send(&self.client).await?.id);
        }
        made.reverse();
        let pages = ListCustomer::new().email(&email).limit(100).paginate();
        let found: Vec<Customer> = pages.stream(&self.client).try_collect().await?;
        equal(ids(&found), made.iter().map(|id| id.as_str()).collect())
    }

    async fn webhook(&mut self) -> Step {
        let mut receiver = Receiver::open().await?;
        let heard = [CreateWebhookEndpointEnabledEvents::ProductCreated];
        let create = CreateWebhookEndpoint::new(heard, &receiver.url);
        let endpoint = create.send(&self.client).await?;
        let secret = endpoint.secret.ok_or("the endpoint has no secret")?;
        let fault = json!({"provider": "stripe-webhooks", "scope": self.scope, "mode": "duplicate", "on": 1});
        plain::json(&format!("{}/_faults", self.url), &fault).await?;
        let key = format!("{}-twice", self.scope);
        let twice = self
            .once(&CreateProduct::new(format!("Twice {}", self.scope)), &key)
            .await?;
        let told = [receiver.next().await?, receiver.next().await?];
        let [first, second] = told
            .each_ref()
            .map(|each| Webhook::construct_event(&each.body, &each.signature, &secret));
        let (first, second) = (first?, second?);
        equal(&first.id, &second.id)?;
        equal(&first.type_, &EventType::ProductCreated)?;
        equal(product(&first), Some(twice.id.as_str()))?;
        let request = first.request.as_ref();
        equal(request.and_then(|request| request.idempotency_key.as_ref()), Some(&key))?;
        let [told, _] = told;
        for (body, secret) in [
            (told.body.clone(), "whsec_other"),
            (told.body.replace("Twice", "Never"), &*secret),
        ] {
            let refused = Webhook::construct_event(&body, &told.signature, secret);
            equal(matches!(refused, Err(WebhookError::BadSignature)), true)?;
        }
        let once = CreateProduct::new(format!("Once {}", self.scope))
            .send(&self.client)
            .await?;
        let told = receiver.next().await?;
        let event = Webhook::construct_event(&told.body, &told.signature, &secret)?;
        equal(product(&event), Some(once.id.as_str()))?;
        equal(receiver.close().await?, 0)
    }

    /// Sends a request by an Idempotency-Key.
    async fn once<R>(&self, request: &R, key: &str) -> Result<R::Output, Box<dyn Error>>
    where
        R: StripeRequest,
        R::Output: miniserde::Deserialize,
    {
        let strategy = RequestStrategy::Idempotent(IdempotencyKey::new(key)?);
        Ok(request
            .customize()
            .request_strategy(strategy)
            .send(&self.client)
            .await?)
    }
}

fn order(value: &str) -> HashMap<String, String> {
    HashMap::from([("order".to_owned(), value.to_owned())])
}

fn no_redirects() -> Automatic {
    Automatic {
        allow_redirects: Some(AllowRedirects::Never),
        ..Automatic::new(true)
    }
}

fn ids(customers: &[Customer]) -> Vec<&str> {
    customers.iter().map(|each| each.id.as_str()).collect()
}

fn product(event: &Event) -> Option<&str> {
    match &event.data.object {
        EventObject::ProductCreated(product) => Some(product.id.as_str()),
        _ => None,
    }
}

#[track_caller]
#[expect(
    clippy::needless_pass_by_value,
    reason = "what is compared is made for it, at each call"
)]
fn equal<T: PartialEq + Debug>(got: T, wanted: T) -> Step {
    if got == wanted {
        return Ok(());
    }
    let line = Location::caller().line();
    Err(format!("line {line}: {got:?}, not {wanted:?}").into())
}
