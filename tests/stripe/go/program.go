package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sort"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v82"
	"github.com/stripe/stripe-go/v82/webhook"
)

const form = "application/x-www-form-urlencoded"

// What the steps hand on to each other. A step that fails panics.
type program struct {
	url, lagging, scope, email                        string
	stripe                                            *stripe.Client
	customer, method, intent, charge, monthly, single string
}

var (
	ctx   = context.Background()
	steps = []struct {
		name string
		do   func(*program)
	}{
		{"customer", (*program).makeCustomer}, {"payment method", (*program).attachMethod}, {"3DS", (*program).authenticate},
		{"capture", (*program).capture}, {"decline", (*program).decline}, {"partial refund", (*program).refund},
		{"product and prices", (*program).sell}, {"subscription", (*program).subscribe}, {"checkout", (*program).checkout},
		{"list and search", (*program).find}, {"lagging search", (*program).findLate}, {"auto-pagination", (*program).page},
		{"webhook", (*program).hear},
	}
)

func run(url, lagging, scope string, report func(string, ...string)) {
	p := &program{url: url, lagging: lagging, scope: scope, email: scope + "@example.com"}
	p.stripe = p.at(url)
	for _, step := range steps {
		report("program "+step.name, problems(func() { step.do(p) })...)
	}
}

func problems(step func()) (found []string) {
	defer func() {
		if problem := recover(); problem != nil {
			found = []string{fmt.Sprint(problem)}
		}
	}()
	step()
	return nil
}

func (p *program) at(url string) *stripe.Client {
	config := &stripe.BackendConfig{URL: &url, LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull}}
	return stripe.NewClient("sk_test_~"+p.scope, stripe.WithBackends(stripe.NewBackendsWithConfig(config)))
}

func (p *program) makeCustomer() {
	create := func() *stripe.Customer {
		params := &stripe.CustomerCreateParams{Email: &p.email, Name: stripe.String("Ada"), Metadata: map[string]string{"order": "17"}}
		params.SetIdempotencyKey(p.scope + "-customer")
		return must(p.stripe.V1Customers.Create(ctx, params))
	}
	p.customer = create().ID
	again := create()
	equal(list(again.ID, again.Metadata["order"]), list(p.customer, "17"))
}

func (p *program) attachMethod() {
	p.method = must(p.stripe.V1PaymentMethods.Create(ctx, &stripe.PaymentMethodCreateParams{
		Type: stripe.String("card"), Card: &stripe.PaymentMethodCreateCardParams{Token: stripe.String("tok_visa")},
	})).ID
	must(p.stripe.V1PaymentMethods.Attach(ctx, p.method, &stripe.PaymentMethodAttachParams{Customer: &p.customer}))
	must(p.stripe.V1Customers.Update(ctx, p.customer, &stripe.CustomerUpdateParams{
		InvoiceSettings: &stripe.CustomerUpdateInvoiceSettingsParams{DefaultPaymentMethod: &p.method},
	}))
	params := &stripe.CustomerRetrieveParams{}
	params.AddExpand("invoice_settings.default_payment_method")
	method := must(p.stripe.V1Customers.Retrieve(ctx, p.customer, params)).InvoiceSettings.DefaultPaymentMethod
	equal(list(method.ID, method.Customer.ID, method.Card.Last4), list(p.method, p.customer, "4242"))
}

func (p *program) authenticate() {
	intent := must(p.stripe.V1PaymentIntents.Create(ctx, &stripe.PaymentIntentCreateParams{
		Amount: stripe.Int64(2000), Currency: stripe.String("usd"), Customer: &p.customer,
		PaymentMethod: stripe.String("pm_card_threeDSecure2Required"), Confirm: stripe.Bool(true),
		ReturnURL: stripe.String("https://example.com/back"), Metadata: map[string]string{"order": p.scope + "-3ds"},
	}))
	equal(list(intent.Status, intent.NextAction.Type), list("requires_action", "redirect_to_url"))
	plain(intent.NextAction.RedirectToURL.URL, form, "result=succeed")
	params := &stripe.PaymentIntentRetrieveParams{}
	params.AddExpand("latest_charge")
	intent = must(p.stripe.V1PaymentIntents.Retrieve(ctx, intent.ID, params))
	charge := intent.LatestCharge
	equal(list(intent.Status, intent.AmountReceived, charge.Paid, charge.Captured), list("succeeded", 2000, true, true))
	p.intent, p.charge = intent.ID, charge.ID
}

func noRedirects() *stripe.PaymentIntentCreateAutomaticPaymentMethodsParams {
	return &stripe.PaymentIntentCreateAutomaticPaymentMethodsParams{Enabled: stripe.Bool(true), AllowRedirects: stripe.String("never")}
}

func (p *program) capture() {
	intent := must(p.stripe.V1PaymentIntents.Create(ctx, &stripe.PaymentIntentCreateParams{
		Amount: stripe.Int64(5000), Currency: stripe.String("usd"), Customer: &p.customer, PaymentMethod: &p.method,
		AutomaticPaymentMethods: noRedirects(), CaptureMethod: stripe.String("manual"), Confirm: stripe.Bool(true),
	}))
	equal(list(intent.Status, intent.AmountCapturable), list("requires_capture", 5000))
	intent = must(p.stripe.V1PaymentIntents.Capture(ctx, intent.ID, &stripe.PaymentIntentCaptureParams{AmountToCapture: stripe.Int64(3000)}))
	equal(list(intent.Status, intent.AmountReceived), list("succeeded", 3000))
}

func (p *program) decline() {
	_, err := p.stripe.V1PaymentIntents.Create(ctx, &stripe.PaymentIntentCreateParams{
		Amount: stripe.Int64(1000), Currency: stripe.String("usd"), PaymentMethod: stripe.String("pm_card_visa_chargeDeclined"),
		AutomaticPaymentMethods: noRedirects(), Confirm: stripe.Bool(true),
	})
	var refusal *stripe.Error
	if !errors.As(err, &refusal) {
		panic(fmt.Sprintf("%v, not stripe-go's error", err))
	}
	equal(list(refusal.Type, refusal.Code, refusal.DeclineCode, refusal.HTTPStatusCode), list("card_error", "card_declined", "generic_decline", 402))
}

func (p *program) refund() {
	refund := must(p.stripe.V1Refunds.Create(ctx, &stripe.RefundCreateParams{PaymentIntent: &p.intent, Amount: stripe.Int64(500)}))
	equal(list(refund.Status, refund.Amount), list("succeeded", 500))
	charge := must(p.stripe.V1Charges.Retrieve(ctx, p.charge, nil))
	equal(list(charge.AmountRefunded, charge.Refunded), list(500, false))
	refunds := all(p.stripe.V1Refunds.List(ctx, &stripe.RefundListParams{Charge: &p.charge}))
	equal(ids(refunds, func(each *stripe.Refund) string { return each.ID }), list(refund.ID))
}

func (p *program) sell() {
	product := must(p.stripe.V1Products.Create(ctx, &stripe.ProductCreateParams{Name: stripe.String("Plan " + p.scope)})).ID
	price := func(amount int64, recurring *stripe.PriceCreateRecurringParams) string {
		params := &stripe.PriceCreateParams{Product: &product, Currency: stripe.String("usd"), UnitAmount: &amount, Recurring: recurring}
		return must(p.stripe.V1Prices.Create(ctx, params)).ID
	}
	p.monthly = price(1500, &stripe.PriceCreateRecurringParams{Interval: stripe.String("month")})
	p.single = price(700, nil)
	var found []string
	for _, each := range all(p.stripe.V1Prices.List(ctx, &stripe.PriceListParams{Product: &product})) {
		found = append(found, each.ID)
	}
	wanted := []string{p.monthly, p.single}
	sort.Strings(found)
	sort.Strings(wanted)
	equal(list(found), list(wanted))
}

func (p *program) subscribe() {
	const begin, day = int64(1_900_000_000), int64(86_400)
	clocks := p.stripe.V1TestHelpersTestClocks
	clock := must(clocks.Create(ctx, &stripe.TestHelpersTestClockCreateParams{FrozenTime: stripe.Int64(begin)})).ID
	advance := func(to int64) {
		must(clocks.Advance(ctx, clock, &stripe.TestHelpersTestClockAdvanceParams{FrozenTime: &to}))
		for tries := 0; must(clocks.Retrieve(ctx, clock, nil)).Status != "ready"; tries++ {
			equal(tries < 100, true)
		}
	}
	card := stripe.String("pm_card_visa")
	customer := must(p.stripe.V1Customers.Create(ctx, &stripe.CustomerCreateParams{
		TestClock: &clock, Email: stripe.String("clock-" + p.email), PaymentMethod: card,
		InvoiceSettings: &stripe.CustomerCreateInvoiceSettingsParams{DefaultPaymentMethod: card},
	})).ID
	subscription := must(p.stripe.V1Subscriptions.Create(ctx, &stripe.SubscriptionCreateParams{
		Customer: &customer, Items: []*stripe.SubscriptionCreateItemParams{{Price: &p.monthly}}, TrialPeriodDays: stripe.Int64(7),
	}))
	equal(list(subscription.Status, subscription.TrialEnd), list("trialing", begin+7*day))
	invoices := func() (found []interface{}) {
		for _, each := range all(p.stripe.V1Invoices.List(ctx, &stripe.InvoiceListParams{Subscription: &subscription.ID})) {
			found = append(found, each.AmountPaid, each.Status)
		}
		return found
	}
	equal(invoices(), list(0, "paid"))
	advance(begin + 8*day)
	advance(begin + 8*day + 7200)
	equal(must(p.stripe.V1Subscriptions.Retrieve(ctx, subscription.ID, nil)).Status, "active")
	equal(invoices(), list(1500, "paid", 0, "paid"))
}

func (p *program) checkout() {
	sessions := p.stripe.V1CheckoutSessions
	session := must(sessions.Create(ctx, &stripe.CheckoutSessionCreateParams{
		Mode: stripe.String("payment"), Customer: &p.customer, SuccessURL: stripe.String("https://example.com/ok"),
		LineItems: []*stripe.CheckoutSessionCreateLineItemParams{{Price: &p.single, Quantity: stripe.Int64(2)}},
	}))
	equal(session.Status, "open")
	plain(session.URL, form, "")
	session = must(sessions.Retrieve(ctx, session.ID, nil))
	equal(list(session.Status, session.PaymentStatus, session.AmountTotal), list("complete", "paid", 1400))
	items := all(sessions.ListLineItems(ctx, &stripe.CheckoutSessionListLineItemsParams{Session: &session.ID}))
	equal(list(len(items), items[0].Quantity), list(1, 2))
}

func customerID(each *stripe.Customer) string { return each.ID }

func (p *program) find() {
	equal(ids(all(p.stripe.V1Customers.List(ctx, &stripe.CustomerListParams{Email: &p.email})), customerID), list(p.customer))
	search := &stripe.PaymentIntentSearchParams{}
	search.Query = fmt.Sprintf(`metadata["order"]:"%s-3ds"`, p.scope)
	intents := all(p.stripe.V1PaymentIntents.Search(ctx, search))
	equal(ids(intents, func(each *stripe.PaymentIntent) string { return each.ID }), list(p.intent))
	events := all(p.stripe.V1Events.List(ctx, &stripe.EventListParams{Type: stripe.String("charge.refunded")}))
	equal(ids(events, func(each *stripe.Event) string { return each.GetObjectValue("id") }), list(p.charge))
}

func (p *program) findLate() {
	customers := p.at(p.lagging).V1Customers
	search := &stripe.CustomerSearchParams{}
	search.Query = fmt.Sprintf(`metadata["order"]:"%s-late"`, p.scope)
	made := must(customers.Create(ctx, &stripe.CustomerCreateParams{Metadata: map[string]string{"order": p.scope + "-late"}}))
	equal(ids(all(customers.List(ctx, &stripe.CustomerListParams{})), customerID), list(made.ID))
	equal(ids(all(customers.Search(ctx, search)), customerID), list())
	plain(p.lagging+"/_clock?scope="+p.scope, "application/json", `{"advance": "61s"}`)
	equal(ids(all(customers.Search(ctx, search)), customerID), list(made.ID))
}

func (p *program) page() {
	email := "page@" + p.scope + ".example"
	var wanted []interface{}
	for number := 0; number < 250; number++ {
		params := &stripe.CustomerCreateParams{Name: stripe.String(fmt.Sprintf("page-%d", number)), Email: &email}
		wanted = append(list(must(p.stripe.V1Customers.Create(ctx, params)).ID), wanted...)
	}
	params := &stripe.CustomerListParams{Email: &email}
	params.Limit = stripe.Int64(100)
	equal(ids(all(p.stripe.V1Customers.List(ctx, params)), customerID), wanted)
}

type told struct {
	body      []byte
	signature string
}

func (p *program) hear() {
	deliveries := make(chan told, 16)
	receiver := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		// Answered first: the program may end before it is otherwise, and would be told again.
		answer.Header().Set("Content-Length", "0")
		answer.WriteHeader(http.StatusOK)
		answer.(http.Flusher).Flush()
		deliveries <- told{body, request.Header.Get("Stripe-Signature")}
	}))
	defer receiver.Close()
	next := func() told {
		select {
		case each := <-deliveries:
			return each
		case <-time.After(10 * time.Second):
			panic("no delivery came within 10 s")
		}
	}
	secret := must(p.stripe.V1WebhookEndpoints.Create(ctx, &stripe.WebhookEndpointCreateParams{
		URL: stripe.String(receiver.URL + "/hook"), EnabledEvents: stripe.StringSlice([]string{"product.created"}),
	})).Secret
	// The suite shows its own version of the API, and this SDK takes events of its own version alone, unless told otherwise.
	options := webhook.ConstructEventOptions{IgnoreAPIVersionMismatch: true}
	event := func(each told) stripe.Event {
		return must(webhook.ConstructEventWithOptions(each.body, each.signature, secret, options))
	}
	plain(p.url+"/_faults", "application/json", fmt.Sprintf(`{"provider": "stripe-webhooks", "scope": %q, "mode": "duplicate", "on": 1}`, p.scope))
	params := &stripe.ProductCreateParams{Name: stripe.String("Twice " + p.scope)}
	params.SetIdempotencyKey(p.scope + "-twice")
	twice := must(p.stripe.V1Products.Create(ctx, params))
	first, second := next(), next()
	one, other := event(first), event(second)
	equal(one.ID, other.ID)
	equal(list(one.Type, one.GetObjectValue("id"), one.Request.IdempotencyKey), list("product.created", twice.ID, p.scope+"-twice"))
	_, err := webhook.ConstructEventWithOptions(first.body, first.signature, "whsec_other", options)
	equal(errors.Is(err, webhook.ErrNoValidSignature), true)
	changed := bytes.Replace(first.body, []byte("Twice"), []byte("Never"), 1)
	_, err = webhook.ConstructEventWithOptions(changed, first.signature, secret, options)
	equal(errors.Is(err, webhook.ErrNoValidSignature), true)
	once := must(p.stripe.V1Products.Create(ctx, &stripe.ProductCreateParams{Name: stripe.String("Once " + p.scope)}))
	last := event(next())
	equal(last.GetObjectValue("id"), once.ID)
	equal(len(deliveries), 0)
}

// Posts without the SDK and without a key.
func plain(url, kind, body string) {
	client := http.Client{Timeout: 30 * time.Second}
	answer := must(client.Post(url, kind, strings.NewReader(body)))
	defer answer.Body.Close()
	if answer.StatusCode >= 400 {
		panic(fmt.Sprintf("%s: %s %s", url, answer.Status, must(io.ReadAll(answer.Body))))
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func list(each ...interface{}) []interface{} { return each }

func equal(got, wanted interface{}) {
	if fmt.Sprint(got) != fmt.Sprint(wanted) {
		panic(fmt.Sprintf("%v, not %v", got, wanted))
	}
}

// The SDK's own iteration over all pages.
func all[T any](seq stripe.Seq2[T, error]) (found []T) {
	seq(func(each T, err error) bool {
		found = append(found, must(each, err))
		return true
	})
	return found
}

func ids[T any](all []T, id func(T) string) (found []interface{}) {
	for _, each := range all {
		found = append(found, id(each))
	}
	return found
}
