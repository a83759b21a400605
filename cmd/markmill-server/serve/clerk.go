package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/rpc"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"markmill/cmd/markmill/child"
	"markmill/engine/queue/desk"
)

// clerk is the process that answers the pages' requests to the queue: markmill jobs desk. The workbench does not link
// NATS, and the start of an embedded server takes up to a second. The clerk starts with the first request and ends when
// there was none for a while, so that another process can run the embedded server.
type clerk struct {
	mutex  sync.Mutex
	at     *office // nil: none is there
	asking int
	rest   *time.Timer
}

// office is a running clerk process.
type office struct {
	client *rpc.Client
	cmd    *exec.Cmd
	said   *child.End
	ended  chan struct{} // closed when the process has ended
	code   int
}

const (
	clerkRests = 2 * time.Minute  // without a question it is ended
	askTime    = 20 * time.Second // for an answer, with the start of the process
)

// unavailable is the status of an answer that would need the queue.
func unavailable(err error) int {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return http.StatusServiceUnavailable
	}
	return http.StatusNotFound
}

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

// inquire sends a request to the queue. A clerk that has ended meanwhile is restarted, once.
func (s *server) inquire(ctx context.Context, method string, what, to any) error {
	if !s.hasQueue() {
		return errNoQueue
	}
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	for try := 0; ; try++ {
		o, err := s.clerk.begin(s)
		if err != nil {
			return err
		}
		call := o.client.Go(desk.Name+"."+method, what, to, make(chan *rpc.Call, 1))
		select {
		case <-call.Done:
			err = call.Error
		case <-ctx.Done():
			err = fmt.Errorf("the queue does not answer: %w", ctx.Err())
		}
		s.clerk.end()
		if !errors.Is(err, rpc.ErrShutdown) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
			return err
		}
		s.clerk.drop(o)
		if try > 0 || o.code > 0 { // it has said why
			return child.Said(o.code, o.said.String())
		}
	}
}

// begin returns the clerk's process, and starts it if there is none.
func (c *clerk) begin(s *server) (*office, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.rest != nil {
		c.rest.Stop()
	}
	if c.at == nil {
		cmd := exec.Command(s.Program, append([]string{"jobs", "desk"}, s.Queue...)...)
		o := &office{cmd: cmd, said: &child.End{Most: 16 << 10}, ended: make(chan struct{})}
		cmd.Dir, cmd.Stderr = s.Root, o.said
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		out, answers, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		cmd.Stdout = answers
		detach(cmd) // Ctrl-C ends the workbench, which then ends it
		err = cmd.Start()
		_ = answers.Close() // the process has it
		if err != nil {
			_ = out.Close()
			return nil, err
		}
		o.client = rpc.NewClient(pipe{out, in})
		go func() {
			_ = cmd.Wait() // its code says it
			o.code = cmd.ProcessState.ExitCode()
			close(o.ended)
		}()
		c.at = o
	}
	c.asking++
	return c.at, nil
}

// pipe is the connection to a process.
type pipe struct {
	io.ReadCloser
	in io.WriteCloser
}

func (p pipe) Write(text []byte) (int, error) { return p.in.Write(text) }
func (p pipe) Close() error                   { return errors.Join(p.in.Close(), p.ReadCloser.Close()) }

// end ends a request.
func (c *clerk) end() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.asking--; c.asking == 0 {
		c.rest = time.AfterFunc(clerkRests, func() {
			c.mutex.Lock()
			o := c.at
			idle := c.asking == 0
			if idle {
				c.at = nil
			}
			c.mutex.Unlock()
			if idle && o != nil {
				o.close()
			}
		})
	}
}

// drop forgets a process that has ended.
func (c *clerk) drop(o *office) {
	c.mutex.Lock()
	if c.at == o {
		c.at = nil
	}
	c.mutex.Unlock()
	o.close()
}

// close ends the process, which ends with its input.
func (o *office) close() {
	_ = o.client.Close() // which it may have done
	select {
	case <-o.ended:
	case <-time.After(5 * time.Second):
		_ = o.cmd.Process.Kill()
		<-o.ended
	}
}

// close ends the process at the end of the workbench.
func (c *clerk) close() {
	c.mutex.Lock()
	o := c.at
	c.at = nil
	c.mutex.Unlock()
	if o != nil {
		o.close()
	}
}
