// Charges once a case with stripe-go, as the plan (a JSON file, the first argument) says, and prints what the program saw.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/stripe/stripe-go/v82"
)

type entry struct {
	Case    string
	URL     string
	Key     string
	Retries *int64
	Timeout *int64
	Kept    bool
}

type seen struct {
	Case   string `json:"case"`
	Saw    string `json:"saw"`
	ID     string `json:"id,omitempty"`
	Detail string `json:"detail,omitempty"`
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var plan []entry
	if err := json.Unmarshal(text, &plan); err != nil {
		log.Fatal(err)
	}
	out := json.NewEncoder(os.Stdout)
	for _, entry := range plan {
		if err := out.Encode(charge(entry)); err != nil {
			log.Fatal(err)
		}
	}
}

func charge(entry entry) seen {
	config := &stripe.BackendConfig{URL: &entry.URL, MaxNetworkRetries: entry.Retries}
	if entry.Timeout != nil {
		config.HTTPClient = &http.Client{Timeout: time.Duration(*entry.Timeout) * time.Millisecond}
	}
	client := stripe.NewClient(entry.Key, stripe.WithBackends(stripe.NewBackendsWithConfig(config)))
	ctx := context.Background()
	if entry.Kept {
		params := &stripe.ChargeListParams{}
		params.Limit = stripe.Int64(1)
		client.V1Charges.List(ctx, params)(func(_ *stripe.Charge, err error) bool {
			if err != nil {
				log.Fatal(err)
			}
			return false
		})
	}
	made, err := client.V1Charges.Create(ctx, &stripe.ChargeCreateParams{
		Amount:   stripe.Int64(1099),
		Currency: stripe.String("usd"),
		Source:   &stripe.PaymentSourceSourceParams{Token: stripe.String("tok_visa")},
	})
	if err == nil {
		return seen{Case: entry.Case, Saw: "success", ID: made.ID}
	}
	var refusal *stripe.Error
	if errors.As(err, &refusal) {
		return seen{Case: entry.Case, Saw: fmt.Sprintf("%T %d", err, refusal.HTTPStatusCode), Detail: err.Error()}
	}
	return seen{Case: entry.Case, Saw: fmt.Sprintf("%T", err), Detail: err.Error()}
}
