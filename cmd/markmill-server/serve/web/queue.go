package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"markmill/cmd/markmill-server/queue/client"
)

// sharedQueue holds the connection to the queue. It connects with the first request of a page and closes when there was
// none for a while: the embedded server, which takes up to a second to start, may be what it connects to, and need not
// stay.
type sharedQueue struct {
	mutex  sync.Mutex
	at     *queueConnection // nil: none is there
	asking int
	rest   *time.Timer
}

// queueConnection is a connection.
type queueConnection struct {
	ready chan struct{} // closed when it is there, or has failed
	queue *client.Client
	err   error
}

const (
	queueIdle = 2 * time.Minute  // without a question it is closed
	askTime   = 20 * time.Second // for an answer, with the time to connect
)

// errNoQueue says that nothing was ever submitted here, and no server is configured.
var errNoQueue = errors.New("there is no queue here")

// hasQueue reports whether there is a queue, so that viewing a page does not create one.
func (s *server) hasQueue() bool {
	if os.Getenv("MARKMILL_NATS") != "" {
		return true
	}
	_, err := os.Stat(filepath.Join(s.store.Dir, "queue", "nats"))
	return err == nil
}

// withQueue asks the queue.
func withQueue[T any](ctx context.Context, s *server, ask func(context.Context, *client.Client) (T, error)) (answer T,
	err error) {
	if !s.hasQueue() {
		return answer, refused(http.StatusNotFound, errNoQueue)
	}
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	o := s.queue.begin(s)
	defer s.queue.end()
	select {
	case <-o.ready:
		if err = o.err; err == nil {
			answer, err = ask(ctx, o.queue)
		} else {
			s.queue.drop(o)
		}
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return answer, refused(http.StatusServiceUnavailable, fmt.Errorf("the queue does not answer: %w", ctx.Err()))
	}
	return answer, refused(http.StatusNotFound, err)
}

// begin returns the connection, and makes it if there is none.
func (c *sharedQueue) begin(s *server) *queueConnection {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.rest != nil {
		c.rest.Stop()
	}
	if c.at == nil {
		o := &queueConnection{ready: make(chan struct{})}
		go func() {
			defer close(o.ready)
			o.queue, o.err = client.Connect(context.Background(), s.Connection, "serve", false)
		}()
		c.at = o
	}
	c.asking++
	return c.at
}

// end ends a request.
func (c *sharedQueue) end() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.asking--; c.asking == 0 {
		c.rest = time.AfterFunc(queueIdle, func() {
			c.mutex.Lock()
			var o *queueConnection
			if c.asking == 0 {
				o, c.at = c.at, nil
			}
			c.mutex.Unlock()
			o.close()
		})
	}
}

// drop forgets a connection that has failed.
func (c *sharedQueue) drop(o *queueConnection) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.at == o {
		c.at = nil
	}
}

// close closes the connection, if it is there.
func (o *queueConnection) close() {
	if o == nil {
		return
	}
	if <-o.ready; o.err == nil {
		o.queue.Queue.Close()
	}
}

// close closes the connection at the end of the workbench.
func (c *sharedQueue) close() {
	c.mutex.Lock()
	o := c.at
	c.at = nil
	c.mutex.Unlock()
	o.close()
}
