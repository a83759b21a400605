// Command markmill-server is what a team runs: the workbench, the queue and its workers, the scheduler and alerts.
// markmill starts it with the words of its commands. It is a program of its own, so that NATS, a web server and
// html/template cost the other commands nothing when they are built and when they start.
package main

import (
	"context"
	"io"
	"os"

	"markmill/cmd/internal/commands"
	"markmill/cmd/internal/program"
	"markmill/cmd/markmill-server/queue/client"
	"markmill/cmd/markmill-server/serve/web"
	jobs "markmill/engine/queue"
)

func main() {
	os.Exit(commands.Main(&program.Server{Serve: web.Serve, AddToken: web.AddToken,
		Queue: func(at jobs.Connection, command string, writes bool, stdout, stderr io.Writer,
			do func(context.Context, program.Queue) (int, error)) (int, error) {
			return client.Use(at, command, writes, stdout, stderr,
				func(ctx context.Context, c *client.Client) (int, error) { return do(ctx, c) })
		}}))
}
