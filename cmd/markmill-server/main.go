// Command markmill-server is what a team runs: the workbench, the queue and its workers, the scheduler and alerts.
// markmill starts it with the words of its commands. It is a program of its own, so that NATS, a web server and
// html/template cost the other commands nothing when they are built and when they start.
package main

import (
	"context"
	"io"
	"os"

	"markmill/cmd/cli"
	"markmill/cmd/markmill-server/queue"
	"markmill/cmd/markmill-server/serve"
	jobs "markmill/engine/queue"
)

func main() {
	os.Exit(cli.Main(&cli.Server{Serve: serve.Serve, AddToken: serve.AddToken,
		Queue: func(at jobs.Connection, command string, writes bool, stdout, stderr io.Writer,
			do func(context.Context, cli.Queue) (int, error)) (int, error) {
			return queue.Use(at, command, writes, stdout, stderr,
				func(ctx context.Context, c *queue.Client) (int, error) { return do(ctx, c) })
		}}))
}
