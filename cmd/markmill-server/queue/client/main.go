package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/engine/queue"
	"markmill/engine/queue/jetstream"
	"markmill/render/plain"
	"markmill/runs"
)

// Exit codes, as of markmill.
const (
	exitPass    = 0
	exitFail    = 1
	exitUsage   = 2
	exitBlocked = 3
)

// Client does what the commands of the queue ask for.
type Client struct {
	queue.Connection
	Queue          *jetstream.Queue
	stdout, stderr io.Writer
	rows           rows
}

// Use connects to a queue as a command, calls do, and returns its exit code. A signal ends the context of do; the
// second one ends the program. writes says that larger files may be put into the queue.
func Use(at queue.Connection, command string, writes bool, stdout, stderr io.Writer,
	do func(context.Context, *Client) (int, error)) (int, error) {
	ctx, stop := interruptible()
	defer stop()
	c, err := Connect(ctx, at, command, writes)
	if err != nil {
		return 0, err
	}
	defer c.Queue.Close()
	c.stdout, c.stderr = stdout, stderr
	code, err := do(ctx, c)
	if caught, ok := errors.AsType[engine.Interrupt](err); ok {
		return 128 + caught.Signal, nil
	}
	return code, err
}

func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for n := 0; ; n++ {
			number := int(syscall.SIGINT)
			if s, ok := (<-signals).(syscall.Signal); ok {
				number = int(s)
			}
			if n > 0 {
				os.Exit(128 + number)
			}
			cancel(engine.Interrupt{Signal: number})
		}
	}()
	return ctx, func() { signal.Stop(signals) }
}

// Connect connects to a queue. command is told to those who look at its server.
func Connect(ctx context.Context, at queue.Connection, command string, writes bool) (*Client, error) {
	c := &Client{Connection: at, stdout: io.Discard, stderr: os.Stderr}
	err := os.MkdirAll(at.Store, 0o755)
	if err == nil {
		_, err = runs.Store{Dir: at.Store}.Unfinished() // which makes Git ignore the store
	}
	if err != nil {
		return nil, err
	}
	files, err := fileStore(ctx, at.Server.Files, writes)
	if err != nil {
		return nil, err
	}
	c.Queue, err = jetstream.Connect(ctx, jetstream.Options{Dir: c.dir("nats"), URL: at.Server.URL, FileStore: files,
		Credentials: at.Server.Credentials, CA: at.Server.CA, Cert: at.Server.Cert, Key: at.Server.Key,
		Replicas: at.Server.Replicas, Name: "markmill " + command})
	return c, err
}

// dir is a folder of the queue in the store.
func (c *Client) dir(name ...string) string {
	return filepath.Join(append([]string{c.Store, "queue"}, name...)...)
}

// tell prints a message on standard error.
func (c *Client) tell(format string, args ...any) {
	for i, arg := range args {
		if _, number := arg.(int); !number {
			args[i] = plain.OneLine(fmt.Sprint(arg))
		}
	}
	fmt.Fprintf(c.stderr, "markmill: "+format+"\n", args...)
}

// print prints a document of --json.
func (c *Client) print(name string, document any) error {
	text, err := views.Document(name, document)
	if err == nil {
		_, err = c.stdout.Write(text)
	}
	return err
}
