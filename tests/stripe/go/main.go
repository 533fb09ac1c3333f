// Decodes what ackdrop shows, or does the program of ../README.md, with stripe-go.
package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	failed := false
	report := func(what string, problems ...string) {
		if len(problems) == 0 {
			fmt.Println("ok   go " + what)
			return
		}
		failed = true
		fmt.Println("FAIL go " + what + ": " + strings.Join(strings.Fields(strings.Join(problems, "; ")), " "))
	}
	switch args := os.Args[1:]; {
	case len(args) == 2 && args[0] == "decode":
		decode(args[1], report)
	case len(args) == 4 && args[0] == "program":
		run(args[1], args[2], args[3], report)
	default:
		fmt.Println("usage: case program URL LAGGING SCOPE | case decode FOLDER")
		os.Exit(2)
	}
	if failed {
		os.Exit(1)
	}
}
