// Command markmill-queue is what markmill submit, worker and jobs start. It is a program of its own, so that NATS costs
// the other commands nothing when they start.
package main

import (
	"os"

	"markmill/cmd/markmill/queue"
)

func main() { os.Exit(queue.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
