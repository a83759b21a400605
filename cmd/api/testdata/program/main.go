// Command program runs a notebook and prints what its step said: a program outside of the module, as docs/go-api.md
// tells to make one.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"markmill/cmd/api"
)

func main() {
	run, err := api.Run(context.Background(), os.Args[1], api.Options{Parameters: map[string]any{"who": "you"}})
	if err != nil {
		log.Fatal(err)
	}
	stdout, _, err := run.Output("greet")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n%s", run.Status(), stdout)
}
