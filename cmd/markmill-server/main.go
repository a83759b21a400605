// Command markmill-server is what a team runs: the workbench, the queue and its workers, the scheduler and alerts.
// markmill starts it with the words of its commands. It is a program of its own, so that NATS, a web server and
// html/template cost the other commands nothing when they are built and when they start.
package main

import (
	"os"

	"markmill/cmd/cli"
	"markmill/cmd/markmill-server/queue"
	"markmill/cmd/markmill-server/serve"
)

func main() {
	os.Exit(cli.Main(&cli.Server{Queue: queue.Do, Desk: queue.Desk, Serve: serve.Serve, AddToken: serve.AddToken}))
}
