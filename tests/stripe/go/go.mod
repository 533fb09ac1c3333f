module ackdrop.test/stripe

go 1.18

require github.com/stripe/stripe-go/v82 v82.5.1
