import com.stripe.StripeClient;
import com.stripe.exception.CardException;
import com.stripe.exception.SignatureVerificationException;
import com.stripe.model.*;
import com.stripe.model.checkout.Session;
import com.stripe.net.RequestOptions;
import com.stripe.net.Webhook;
import com.stripe.param.*;
import com.stripe.param.checkout.SessionCreateParams;
import com.stripe.param.testhelpers.TestClockAdvanceParams;
import com.stripe.param.testhelpers.TestClockCreateParams;
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** Does the program of ../README.md with stripe-java. usage: Program URL LAGGING SCOPE */
public final class Program {
    private interface Step {
        void run() throws Exception;
    }

    private static final String FORM = "application/x-www-form-urlencoded";
    private final String url, lagging, scope, email;
    private final StripeClient stripe;
    // What the steps hand on to each other.
    private String customer, method, intent, charge, monthly, single;

    private Program(String url, String lagging, String scope) {
        this.url = url;
        this.lagging = lagging;
        this.scope = scope;
        email = scope + "@example.com";
        stripe = at(url);
    }

    public static void main(String[] args) {
        Program p = new Program(args[0], args[1], args[2]);
        Map<String, Step> steps = new LinkedHashMap<>();
        steps.put("customer", p::customer);
        steps.put("payment method", p::paymentMethod);
        steps.put("3DS", p::authenticate);
        steps.put("capture", p::capture);
        steps.put("decline", p::decline);
        steps.put("partial refund", p::refund);
        steps.put("product and prices", p::sell);
        steps.put("subscription", p::subscribe);
        steps.put("checkout", p::checkout);
        steps.put("list and search", p::find);
        steps.put("lagging search", p::findLate);
        steps.put("auto-pagination", p::page);
        steps.put("webhook", p::hear);
        boolean failed = false;
        for (Map.Entry<String, Step> step : steps.entrySet()) {
            try {
                step.getValue().run();
                System.out.println("ok   java program " + step.getKey());
            } catch (Exception | AssertionError error) {
                failed = true;
                System.out.println("FAIL java program " + step.getKey() + ": " + error.toString().replaceAll("\\s+", " "));
            }
        }
        System.exit(failed ? 1 : 0);
    }

    private StripeClient at(String base) {
        return StripeClient.builder().setApiKey("sk_test_~" + scope).setApiBase(base).build();
    }

    private void customer() throws Exception {
        CustomerCreateParams params = CustomerCreateParams.builder().setEmail(email).setName("Ada").putMetadata("order", "17").build();
        customer = stripe.customers().create(params, once("customer")).getId();
        Customer again = stripe.customers().create(params, once("customer"));
        equal(List.of(again.getId(), again.getMetadata().get("order")), List.of(customer, "17"));
    }

    private RequestOptions once(String name) {
        return RequestOptions.builder().setIdempotencyKey(scope + "-" + name).build();
    }

    private void paymentMethod() throws Exception {
        method = stripe.paymentMethods().create(PaymentMethodCreateParams.builder().setType(PaymentMethodCreateParams.Type.CARD)
                .setCard(PaymentMethodCreateParams.Token.builder().setToken("tok_visa").build()).build()).getId();
        stripe.paymentMethods().attach(method, PaymentMethodAttachParams.builder().setCustomer(customer).build());
        stripe.customers().update(customer, CustomerUpdateParams.builder().setInvoiceSettings(
                CustomerUpdateParams.InvoiceSettings.builder().setDefaultPaymentMethod(method).build()).build());
        PaymentMethod found = stripe.customers().retrieve(customer, CustomerRetrieveParams.builder()
                .addExpand("invoice_settings.default_payment_method").build()).getInvoiceSettings().getDefaultPaymentMethodObject();
        equal(List.of(found.getId(), found.getCustomer(), found.getCard().getLast4()), List.of(method, customer, "4242"));
    }

    private void authenticate() throws Exception {
        PaymentIntent made = stripe.paymentIntents().create(PaymentIntentCreateParams.builder().setAmount(2000L).setCurrency("usd")
                .setCustomer(customer).setPaymentMethod("pm_card_threeDSecure2Required").setConfirm(true)
                .setReturnUrl("https://example.com/back").putMetadata("order", scope + "-3ds").build());
        equal(List.of(made.getStatus(), made.getNextAction().getType()), List.of("requires_action", "redirect_to_url"));
        plain(made.getNextAction().getRedirectToUrl().getUrl(), FORM, "result=succeed");
        made = stripe.paymentIntents().retrieve(made.getId(), PaymentIntentRetrieveParams.builder().addExpand("latest_charge").build());
        Charge paid = made.getLatestChargeObject();
        equal(List.of(made.getStatus(), made.getAmountReceived(), paid.getPaid(), paid.getCaptured()), List.of("succeeded", 2000L, true, true));
        intent = made.getId();
        charge = paid.getId();
    }

    private static PaymentIntentCreateParams.AutomaticPaymentMethods noRedirects() {
        return PaymentIntentCreateParams.AutomaticPaymentMethods.builder().setEnabled(true)
                .setAllowRedirects(PaymentIntentCreateParams.AutomaticPaymentMethods.AllowRedirects.NEVER).build();
    }

    private void capture() throws Exception {
        PaymentIntent made = stripe.paymentIntents().create(PaymentIntentCreateParams.builder().setAmount(5000L).setCurrency("usd")
                .setCustomer(customer).setPaymentMethod(method).setAutomaticPaymentMethods(noRedirects())
                .setCaptureMethod(PaymentIntentCreateParams.CaptureMethod.MANUAL).setConfirm(true).build());
        equal(List.of(made.getStatus(), made.getAmountCapturable()), List.of("requires_capture", 5000L));
        made = stripe.paymentIntents().capture(made.getId(), PaymentIntentCaptureParams.builder().setAmountToCapture(3000L).build());
        equal(List.of(made.getStatus(), made.getAmountReceived()), List.of("succeeded", 3000L));
    }

    private void decline() throws Exception {
        try {
            stripe.paymentIntents().create(PaymentIntentCreateParams.builder().setAmount(1000L).setCurrency("usd")
                    .setPaymentMethod("pm_card_visa_chargeDeclined").setAutomaticPaymentMethods(noRedirects()).setConfirm(true).build());
        } catch (CardException error) {
            equal(List.of(error.getCode(), error.getDeclineCode(), error.getStatusCode()), List.of("card_declined", "generic_decline", 402));
            return;
        }
        throw new AssertionError("it was not declined");
    }

    private void refund() throws Exception {
        Refund made = stripe.refunds().create(RefundCreateParams.builder().setPaymentIntent(intent).setAmount(500L).build());
        equal(List.of(made.getStatus(), made.getAmount()), List.of("succeeded", 500L));
        Charge refunded = stripe.charges().retrieve(charge);
        equal(List.of(refunded.getAmountRefunded(), refunded.getRefunded()), List.of(500L, false));
        equal(ids(stripe.refunds().list(RefundListParams.builder().setCharge(charge).build()).getData()), List.of(made.getId()));
    }

    private void sell() throws Exception {
        String product = stripe.products().create(ProductCreateParams.builder().setName("Plan " + scope).build()).getId();
        PriceCreateParams.Recurring month = PriceCreateParams.Recurring.builder().setInterval(PriceCreateParams.Recurring.Interval.MONTH).build();
        monthly = stripe.prices().create(PriceCreateParams.builder().setProduct(product).setCurrency("usd").setUnitAmount(1500L)
                .setRecurring(month).build()).getId();
        single = stripe.prices().create(PriceCreateParams.builder().setProduct(product).setCurrency("usd").setUnitAmount(700L).build()).getId();
        List<String> found = ids(stripe.prices().list(PriceListParams.builder().setProduct(product).build()).getData());
        equal(found.stream().sorted().collect(Collectors.toList()), Arrays.asList(monthly, single).stream().sorted().collect(Collectors.toList()));
    }

    private void advance(String clock, long to) throws Exception {
        stripe.testHelpers().testClocks().advance(clock, TestClockAdvanceParams.builder().setFrozenTime(to).build());
        for (int tries = 0; !stripe.testHelpers().testClocks().retrieve(clock).getStatus().equals("ready"); tries++) {
            equal(tries < 100, true);
        }
    }

    private List<Object> invoices(String subscription) throws Exception {
        List<Object> found = new ArrayList<>();
        for (Invoice each : stripe.invoices().list(InvoiceListParams.builder().setSubscription(subscription).build()).getData()) {
            found.add(each.getAmountPaid() + " " + each.getStatus());
        }
        return found;
    }

    private void subscribe() throws Exception {
        long begin = 1_900_000_000L, day = 86_400L;
        String clock = stripe.testHelpers().testClocks().create(TestClockCreateParams.builder().setFrozenTime(begin).build()).getId();
        String clocked = stripe.customers().create(CustomerCreateParams.builder().setTestClock(clock).setEmail("clock-" + email)
                .setPaymentMethod("pm_card_visa").setInvoiceSettings(
                        CustomerCreateParams.InvoiceSettings.builder().setDefaultPaymentMethod("pm_card_visa").build()).build()).getId();
        Subscription made = stripe.subscriptions().create(SubscriptionCreateParams.builder().setCustomer(clocked)
                .addItem(SubscriptionCreateParams.Item.builder().setPrice(monthly).build()).setTrialPeriodDays(7L).build());
        equal(List.of(made.getStatus(), made.getTrialEnd()), List.of("trialing", begin + 7 * day));
        equal(invoices(made.getId()), List.of("0 paid"));
        advance(clock, begin + 8 * day);
        advance(clock, begin + 8 * day + 7200);
        equal(stripe.subscriptions().retrieve(made.getId()).getStatus(), "active");
        equal(invoices(made.getId()), List.of("1500 paid", "0 paid"));
    }

    private void checkout() throws Exception {
        Session session = stripe.checkout().sessions().create(SessionCreateParams.builder().setMode(SessionCreateParams.Mode.PAYMENT)
                .setCustomer(customer).setSuccessUrl("https://example.com/ok")
                .addLineItem(SessionCreateParams.LineItem.builder().setPrice(single).setQuantity(2L).build()).build());
        equal(session.getStatus(), "open");
        plain(session.getUrl(), FORM, "");
        session = stripe.checkout().sessions().retrieve(session.getId());
        equal(List.of(session.getStatus(), session.getPaymentStatus(), session.getAmountTotal()), List.of("complete", "paid", 1400L));
        List<LineItem> items = stripe.checkout().sessions().lineItems().list(session.getId()).getData();
        equal(List.of(items.size(), items.get(0).getQuantity()), List.of(1, 2L));
    }

    private void find() throws Exception {
        equal(ids(stripe.customers().list(CustomerListParams.builder().setEmail(email).build()).getData()), List.of(customer));
        String query = "metadata[\"order\"]:\"" + scope + "-3ds\"";
        equal(ids(stripe.paymentIntents().search(PaymentIntentSearchParams.builder().setQuery(query).build()).getData()), List.of(intent));
        List<Event> events = stripe.events().list(EventListParams.builder().setType("charge.refunded").build()).getData();
        equal(events.size(), 1);
        equal(((Charge) events.get(0).getDataObjectDeserializer().deserializeUnsafe()).getId(), charge);
    }

    private void findLate() throws Exception {
        StripeClient late = at(lagging);
        String made = late.customers().create(CustomerCreateParams.builder().putMetadata("order", scope + "-late").build()).getId();
        CustomerSearchParams search = CustomerSearchParams.builder().setQuery("metadata[\"order\"]:\"" + scope + "-late\"").build();
        equal(ids(late.customers().list().getData()), List.of(made));
        equal(ids(late.customers().search(search).getData()), List.of());
        plain(lagging + "/_clock?scope=" + scope, "application/json", "{\"advance\": \"61s\"}");
        equal(ids(late.customers().search(search).getData()), List.of(made));
    }

    private void page() throws Exception {
        String paged = "page@" + scope + ".example";
        LinkedList<String> wanted = new LinkedList<>();
        for (int number = 0; number < 250; number++) {
            wanted.addFirst(stripe.customers().create(CustomerCreateParams.builder().setName("page-" + number).setEmail(paged).build()).getId());
        }
        List<String> got = new ArrayList<>();
        CustomerListParams params = CustomerListParams.builder().setEmail(paged).setLimit(100L).build();
        for (Customer each : stripe.customers().list(params).autoPagingIterable()) {
            got.add(each.getId());
        }
        equal(got, wanted);
    }

    private void hear() throws Exception {
        BlockingQueue<String[]> told = new LinkedBlockingQueue<>();
        HttpServer receiver = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        receiver.createContext("/hook", exchange -> {
            String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            String signature = exchange.getRequestHeaders().getFirst("Stripe-Signature");
            // Answered first: the program may end before it is otherwise, and would be told again.
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
            told.add(new String[] {body, signature});
        });
        receiver.start();
        try {
            String secret = stripe.webhookEndpoints().create(WebhookEndpointCreateParams.builder()
                    .setUrl("http://127.0.0.1:" + receiver.getAddress().getPort() + "/hook")
                    .addEnabledEvent(WebhookEndpointCreateParams.EnabledEvent.PRODUCT__CREATED).build()).getSecret();
            plain(url + "/_faults", "application/json",
                    "{\"provider\": \"stripe-webhooks\", \"scope\": \"" + scope + "\", \"mode\": \"duplicate\", \"on\": 1}");
            String twice = stripe.products().create(ProductCreateParams.builder().setName("Twice " + scope).build(), once("twice")).getId();
            String[] first = next(told), second = next(told);
            Event one = Webhook.constructEvent(first[0], first[1], secret);
            equal(one.getId(), Webhook.constructEvent(second[0], second[1], secret).getId());
            equal(List.of(one.getType(), product(one), one.getRequest().getIdempotencyKey()), List.of("product.created", twice, scope + "-twice"));
            refused(first[0], first[1], "whsec_other");
            refused(first[0].replace("Twice", "Never"), first[1], secret);
            String once = stripe.products().create(ProductCreateParams.builder().setName("Once " + scope).build()).getId();
            String[] last = next(told);
            equal(product(Webhook.constructEvent(last[0], last[1], secret)), once);
            equal(told.size(), 0);
        } finally {
            receiver.stop(0);
        }
    }

    /** The suite shows its own version of the API, so that `getObject` of an older SDK is empty. */
    private static String product(Event event) throws Exception {
        return ((Product) event.getDataObjectDeserializer().deserializeUnsafe()).getId();
    }

    private static String[] next(BlockingQueue<String[]> told) throws Exception {
        String[] each = told.poll(10, TimeUnit.SECONDS);
        if (each == null) {
            throw new AssertionError("no delivery came within 10 s");
        }
        return each;
    }

    private static void refused(String body, String signature, String secret) {
        try {
            Webhook.constructEvent(body, signature, secret);
        } catch (SignatureVerificationException error) {
            return;
        }
        throw new AssertionError("a forged delivery was verified");
    }

    /** Posts without the SDK and without a key. */
    private static void plain(String url, String kind, String body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(url)).header("Content-Type", kind).timeout(Duration.ofSeconds(30))
                .POST(HttpRequest.BodyPublishers.ofString(body)).build();
        HttpResponse<String> answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() >= 400) {
            throw new AssertionError(url + ": " + answer.statusCode() + " " + answer.body());
        }
    }

    private static List<String> ids(List<? extends HasId> all) {
        return all.stream().map(HasId::getId).collect(Collectors.toList());
    }

    private static void equal(Object got, Object wanted) {
        if (!got.equals(wanted)) {
            throw new AssertionError(got + ", not " + wanted);
        }
    }
}
