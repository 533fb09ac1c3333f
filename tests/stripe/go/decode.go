package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v82"
)

// The struct of each object.
var structs = map[string]interface{}{
	"balance": stripe.Balance{}, "balance_transaction": stripe.BalanceTransaction{}, "billing.meter": stripe.BillingMeter{},
	"billing.meter_event": stripe.BillingMeterEvent{}, "billing.meter_event_adjustment": stripe.BillingMeterEventAdjustment{},
	"card": stripe.Card{}, "charge": stripe.Charge{}, "checkout.session": stripe.CheckoutSession{}, "country_spec": stripe.CountrySpec{},
	"coupon": stripe.Coupon{}, "customer": stripe.Customer{}, "discount": stripe.Discount{}, "dispute": stripe.Dispute{},
	"event": stripe.Event{}, "invoice": stripe.Invoice{}, "invoice_payment": stripe.InvoicePayment{}, "invoiceitem": stripe.InvoiceItem{},
	"item": stripe.LineItem{}, "line_item": stripe.InvoiceLineItem{}, "payment_intent": stripe.PaymentIntent{},
	"payment_method": stripe.PaymentMethod{}, "price": stripe.Price{}, "product": stripe.Product{}, "promotion_code": stripe.PromotionCode{},
	"refund": stripe.Refund{}, "setup_intent": stripe.SetupIntent{}, "source": stripe.Source{}, "subscription": stripe.Subscription{},
	"subscription_item": stripe.SubscriptionItem{}, "test_helpers.test_clock": stripe.TestHelpersTestClock{}, "token": stripe.Token{},
	"v2.billing.meter_event": stripe.V2BillingMeterEvent{}, "webhook_endpoint": stripe.WebhookEndpoint{},
}

// The list of each object that is listed.
var lists = map[string]interface{}{
	"balance_transaction": stripe.BalanceTransactionList{}, "billing.meter": stripe.BillingMeterList{}, "card": stripe.CardList{},
	"charge": stripe.ChargeList{}, "checkout.session": stripe.CheckoutSessionList{}, "country_spec": stripe.CountrySpecList{},
	"coupon": stripe.CouponList{}, "customer": stripe.CustomerList{}, "dispute": stripe.DisputeList{}, "event": stripe.EventList{},
	"invoice": stripe.InvoiceList{}, "invoice_payment": stripe.InvoicePaymentList{}, "invoiceitem": stripe.InvoiceItemList{},
	"item": stripe.LineItemList{}, "line_item": stripe.InvoiceLineItemList{}, "payment_intent": stripe.PaymentIntentList{},
	"payment_method": stripe.PaymentMethodList{}, "price": stripe.PriceList{}, "product": stripe.ProductList{},
	"promotion_code": stripe.PromotionCodeList{}, "refund": stripe.RefundList{}, "setup_intent": stripe.SetupIntentList{},
	"subscription": stripe.SubscriptionList{}, "subscription_item": stripe.SubscriptionItemList{},
	"test_helpers.test_clock": stripe.TestHelpersTestClockList{}, "webhook_endpoint": stripe.WebhookEndpointList{},
}

// What a search finds of each object that is searched.
var searches = map[string]interface{}{"customer": stripe.CustomerSearchResult{}, "payment_intent": stripe.PaymentIntentSearchResult{}}

// Its enumerations are open strings, and its structs pass over what they lack: that is told, and no failure.
type walk struct {
	problems []string
	untyped  map[string]bool
}

// Decodes every file of a folder: each value has to be found again in the struct.
func decode(folder string, report func(string, ...string)) {
	names, _ := filepath.Glob(filepath.Join(folder, "*.json"))
	sort.Strings(names)
	for _, name := range names {
		walk := walk{untyped: map[string]bool{}}
		if text, err := os.ReadFile(name); err != nil {
			walk.fail("", err.Error())
		} else {
			walk.text("", text)
		}
		what := "decode " + strings.TrimSuffix(filepath.Base(name), ".json")
		report(what, walk.problems...)
		if len(walk.untyped) > 0 {
			places := make([]string, 0, len(walk.untyped))
			for place := range walk.untyped {
				places = append(places, place)
			}
			sort.Strings(places)
			fmt.Printf("     go %s: stripe-go lacks %s\n", what, strings.Join(places, ", "))
		}
	}
}

func (w *walk) fail(at, what string) {
	w.problems = append(w.problems, strings.TrimPrefix(at+" ", " ")+what)
}

func (w *walk) text(at string, text []byte) {
	var value map[string]interface{}
	if err := json.Unmarshal(text, &value); err != nil {
		w.fail(at, err.Error())
		return
	}
	object, table := value["object"], structs
	if found := map[interface{}]map[string]interface{}{"list": lists, "search_result": searches}[object]; found != nil {
		table = found
		if data, _ := value["data"].([]interface{}); len(data) > 0 {
			object = data[0].(map[string]interface{})["object"]
		} else {
			w.fail(at, "data holds nothing")
			return
		}
	}
	kind, known := table[fmt.Sprint(object)]
	if !known {
		w.fail(at, fmt.Sprintf("%v %v has no struct", value["object"], object))
		return
	}
	into := reflect.New(reflect.TypeOf(kind))
	if err := json.Unmarshal(text, into.Interface()); err != nil {
		w.fail(at, err.Error())
		return
	}
	w.value(at, value, into.Elem())
}

func (w *walk) value(at string, shown interface{}, got reflect.Value) {
	for got.Kind() == reflect.Ptr || got.Kind() == reflect.Interface {
		if shown != nil && got.IsNil() {
			w.fail(at, "is lost")
			return
		}
		if shown == nil {
			return
		}
		got = got.Elem()
	}
	switch shown := shown.(type) {
	case nil:
	case map[string]interface{}:
		w.hash(at, shown, got)
	case []interface{}:
		if got.Kind() != reflect.Slice || got.Len() != len(shown) {
			w.fail(at, fmt.Sprintf("is %v, not a list of %d", got.Type(), len(shown)))
			return
		}
		for number, each := range shown {
			w.value(fmt.Sprintf("%s[%d]", at, number), each, got.Index(number))
		}
	case string:
		w.word(at, shown, got)
	case bool:
		if got.Kind() != reflect.Bool || got.Bool() != shown {
			w.fail(at, fmt.Sprintf("is %v, not %v", got, shown))
		}
	case float64:
		if number := got; !number.CanInt() && !number.CanFloat() || number.CanInt() && float64(number.Int()) != shown || number.CanFloat() && number.Float() != shown {
			w.fail(at, fmt.Sprintf("is %v, not %v", got, shown))
		}
	}
}

func (w *walk) word(at, shown string, got reflect.Value) {
	if moment, is := got.Interface().(time.Time); is {
		if moment.IsZero() {
			w.fail(at, "is lost")
		}
		return
	}
	switch got.Kind() {
	case reflect.String:
	case reflect.Float64: // a `…_decimal`
		if got.Float() == 0 && strings.Trim(shown, "0.") != "" {
			w.fail(at, "is lost")
		}
		return
	case reflect.Struct: // what could be expanded
		got = got.FieldByName("ID")
	default:
		w.fail(at, fmt.Sprintf("is %v, not %q", got.Type(), shown))
		return
	}
	if !got.IsValid() || got.String() != shown {
		w.fail(at, fmt.Sprintf("is %v, not %q", got, shown))
	}
}

func (w *walk) hash(at string, shown map[string]interface{}, got reflect.Value) {
	if event, is := got.Interface().(stripe.EventData); is {
		w.text(at+".object", event.Raw)
		return
	}
	if got.Kind() == reflect.Map {
		for name, each := range shown {
			if found := got.MapIndex(reflect.ValueOf(name).Convert(got.Type().Key())); found.IsValid() {
				w.value(at+"."+name, each, found)
			} else {
				w.fail(at+"."+name, "is lost")
			}
		}
		return
	}
	if got.Kind() != reflect.Struct {
		w.fail(at, fmt.Sprintf("is %v, not a hash", got.Type()))
		return
	}
	members, inner := fields(got)
	for _, one := range inner { // what it is about, as in PaymentSource
		if !one.IsNil() && one.Elem().Kind() == reflect.Struct {
			w.hash(at, shown, one.Elem())
			return
		}
	}
	for name, each := range shown {
		if member, known := members[name]; known {
			w.value(strings.TrimPrefix(at+"."+name, "."), each, member)
		} else if each != nil && name != "object" {
			w.untyped[strings.TrimPrefix(at+"."+name, ".")] = true
		}
	}
}

// The members of a struct by their names in JSON, and the alternatives that it decodes by itself.
func fields(got reflect.Value) (map[string]reflect.Value, []reflect.Value) {
	members, inner := map[string]reflect.Value{}, []reflect.Value{}
	for number := 0; number < got.NumField(); number++ {
		field := got.Type().Field(number)
		name := strings.Split(field.Tag.Get("json"), ",")[0]
		switch {
		case name == "-":
			if field.Type.Kind() == reflect.Ptr && field.IsExported() && field.Name != "LastResponse" {
				inner = append(inner, got.Field(number))
			}
		case field.Anonymous && field.Type.Kind() == reflect.Struct:
			more, _ := fields(got.Field(number))
			for key, each := range more {
				members[key] = each
			}
		case name != "":
			members[name] = got.Field(number)
		}
	}
	return members, inner
}
