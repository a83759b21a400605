package jupyter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"markmill/notebooks/codec"
)

// Client is a conversation with one kernel. One goroutine uses it at a time.
type Client struct {
	session string
	sign    signer
	shell   *socket
	control *socket
	stdin   *socket
	iopub   *socket

	replies chan Message // of shell and control
	prints  chan Message // of iopub
	asks    chan Message // of stdin
	closed  chan struct{}
	once    sync.Once
	readers sync.WaitGroup
	heard   chan struct{} // closed when nothing more will come to prints

	lost    chan struct{} // closed when a socket was lost
	lostErr error
	loseOne sync.Once

	Info KernelInfo
}

// KernelInfo is what a kernel says of itself.
type KernelInfo struct {
	Protocol       string `json:"protocol_version"`
	Implementation string `json:"implementation"`
	Version        string `json:"implementation_version"`
	Language       struct {
		Name      string `json:"name"`
		Version   string `json:"version"`
		Extension string `json:"file_extension"`
	} `json:"language_info"`
}

// Output is one thing that a request made the kernel print, in the order in which it came.
type Output struct {
	Type      string               // stream, display_data, execute_result, update_display_data, error, clear_output, comm_open, comm_msg
	Name      string               // stream: stdout or stderr
	Text      string               // stream
	Data      map[string]codec.Raw // the MIME bundle
	Metadata  map[string]codec.Raw
	DisplayID string
	Count     int // execute_result
	Wait      bool
	Ename     string
	Evalue    string
	Traceback []string
	// Of a comm message that says of a widget in which state it is, or what changed in that.
	Comm    string // id
	State   map[string]codec.Raw
	Buffers []Buffer
}

// Buffer is a value of a widget's state that is bytes.
type Buffer struct {
	Path codec.Raw // names and places that lead to it, as a list
	Data []byte
}

// Reply is how a request to execute ended.
type Reply struct {
	Status    string // ok, error, aborted
	Count     int
	Ename     string
	Evalue    string
	Traceback []string
}

// ErrLost is what the error wraps of whoever waits when a socket was closed.
var ErrLost = errors.New("the connection to the kernel was lost")

// Connect connects to a kernel that was started with the connection file of c, and returns when it
// answers and when what it prints is received. ctx bounds the whole.
func Connect(ctx context.Context, c Connection) (*Client, error) {
	k := &Client{session: newID(), sign: signer{[]byte(c.Key)}, replies: make(chan Message, 16), prints: make(chan Message, 256),
		asks: make(chan Message, 1), closed: make(chan struct{}), heard: make(chan struct{}), lost: make(chan struct{})}
	for _, s := range []struct {
		to   **socket
		port int
		kind string
		out  chan Message
	}{{&k.iopub, c.IOPub, "SUB", k.prints}, {&k.shell, c.Shell, "DEALER", k.replies}, {&k.control, c.Control, "DEALER", k.replies}, {&k.stdin, c.Stdin, "DEALER", k.asks}} {
		var err error
		if *s.to, err = c.dial(ctx, s.port, s.kind, k.session); err != nil {
			k.Close()
			return nil, err
		}
		k.readers.Add(1)
		go k.read(*s.to, s.out)
	}
	if err := k.greet(ctx); err != nil {
		k.Close()
		return nil, err
	}
	return k, nil
}

func (k *Client) read(s *socket, out chan Message) {
	defer k.readers.Done()
	if out == k.prints {
		defer close(k.heard)
	}
	for {
		frames, err := s.receive()
		if err != nil {
			k.lose(err)
			return
		}
		m, err := k.sign.decode(frames)
		if err != nil || m.passing() {
			continue
		}
		select {
		case out <- m:
		case <-k.closed:
			return
		}
	}
}

func (k *Client) lose(err error) {
	k.loseOne.Do(func() {
		k.lostErr = fmt.Errorf("%w: %w", ErrLost, err)
		close(k.lost)
	})
}

// Lost is closed when the kernel has closed a socket: it has ended, or is about to.
func (k *Client) Lost() <-chan struct{} { return k.lost }

// Finish ends the conversation with a kernel that has ended, after all that it printed has come. A
// process that holds on to the kernel's sockets is waited for no longer than patience.
func (k *Client) Finish(patience time.Duration) {
	select {
	case <-k.heard:
	case <-time.After(patience):
	}
	k.Close()
}

// Close ends the conversation, not the kernel.
func (k *Client) Close() {
	k.once.Do(func() {
		close(k.closed)
		for _, s := range []*socket{k.shell, k.control, k.stdin, k.iopub} {
			if s != nil {
				s.close()
			}
		}
	})
	k.readers.Wait()
}

func (k *Client) request(s *socket, kind string, content any) (id string, err error) {
	h := newHeader(k.session, kind)
	frames, err := k.sign.encode(h, content)
	if err != nil {
		return "", err
	}
	if err := s.send(frames...); err != nil {
		k.lose(err)
		return "", k.lostErr
	}
	return h.ID, nil
}

// greet asks for the kernel's information until an answer comes and something was heard on iopub:
// a subscription takes a moment to reach the kernel, and what it publishes before is lost.
func (k *Client) greet(ctx context.Context) error {
	heard, answered := false, false
	for !heard || !answered {
		id, err := k.request(k.shell, "kernel_info_request", struct{}{})
		if err != nil {
			return err
		}
		for over := false; !over; {
			select {
			case m := <-k.prints:
				heard = heard || m.Parent == id || m.Header.Type == "iopub_welcome"
			case m := <-k.replies:
				if m.Header.Type == "kernel_info_reply" {
					answered = true
					if err := codec.UnmarshalForeign(m.Content, &k.Info); err != nil {
						return fmt.Errorf("the kernel's information: %w", err)
					}
					over = m.Parent == id
				}
			case <-k.lost:
				return k.lostErr
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		// What this very request makes the kernel publish may still be under way.
		select {
		case m := <-k.prints:
			heard = heard || m.Parent == id
		default:
		}
	}
	for { // the rest of the greeting
		select {
		case <-k.prints:
		case <-k.replies:
		default:
			return nil
		}
	}
}

// Execute runs code, hands on what it prints, in order, and returns when the kernel has said that it is idle
// again: then all of it has come. silent leaves the kernel's counter and history alone. Output
// of what an earlier request left running is handed on, too.
//
// A kernel aborts what waits in its queue when a request fails. Nothing ever waits there, for one request is under way at a
// time, and requests ask not to be treated so (stop_on_error); but a kernel may still be throwing its queue away when the
// next request reaches it. What it answers with "aborted" has not run, and is asked for again.
func (k *Client) Execute(ctx context.Context, code string, silent bool, print func(Output)) (Reply, error) {
	for wait := time.Millisecond; ; wait *= 2 {
		r, err := k.execute(ctx, code, silent, print)
		if err != nil || r.Status != "aborted" || wait > abortPatience {
			return r, err
		}
		select {
		case <-time.After(wait):
		case <-k.lost:
			return Reply{}, k.lostErr
		case <-ctx.Done():
			return Reply{}, context.Cause(ctx)
		}
	}
}

// abortPatience is the longest wait before a request is sent again that the kernel has aborted.
const abortPatience = time.Second

func (k *Client) execute(ctx context.Context, code string, silent bool, print func(Output)) (Reply, error) {
	id, err := k.request(k.shell, "execute_request", map[string]any{"code": code, "silent": silent, "store_history": !silent,
		"user_expressions": struct{}{}, "allow_stdin": false, "stop_on_error": false})
	if err != nil {
		return Reply{}, err
	}
	var reply *Reply
	for idle := false; !idle || reply == nil; {
		select {
		case m := <-k.prints:
			idle = k.published(m, id, print) || idle
		case m := <-k.replies:
			if m.Parent != id || m.Header.Type != "execute_reply" {
				continue
			}
			if reply, err = readReply(m.Content); err != nil {
				return Reply{}, err
			}
		case m := <-k.asks:
			// It was told that nobody answers: so is somebody who closed the terminal.
			if _, err := k.answer(m); err != nil {
				return Reply{}, err
			}
		case <-k.lost:
			k.drain(id, print)
			return Reply{}, k.lostErr
		case <-ctx.Done():
			return Reply{}, context.Cause(ctx)
		}
	}
	return *reply, nil
}

// drain hands on what was printed before the connection was lost.
func (k *Client) drain(id string, print func(Output)) {
	for {
		select {
		case m := <-k.prints:
			k.published(m, id, print)
			continue
		case <-k.closed:
			return
		case <-k.heard:
		}
		select {
		case m := <-k.prints:
			k.published(m, id, print)
		default:
			return
		}
	}
}

func (k *Client) answer(m Message) (string, error) {
	if m.Header.Type != "input_request" {
		return "", nil
	}
	return k.request(k.stdin, "input_reply", map[string]any{"status": "ok", "value": ""})
}

func readReply(content codec.Raw) (*Reply, error) {
	var r struct {
		Status    string   `json:"status"`
		Count     int      `json:"execution_count"`
		Ename     string   `json:"ename"`
		Evalue    string   `json:"evalue"`
		Traceback []string `json:"traceback"`
	}
	if err := codec.UnmarshalForeign(content, &r); err != nil {
		return nil, fmt.Errorf("the kernel's reply: %w", err)
	}
	return &Reply{Status: r.Status, Count: r.Count, Ename: r.Ename, Evalue: r.Evalue, Traceback: r.Traceback}, nil
}

// published hands on one message of iopub; it says whether the kernel is idle after the request id.
func (k *Client) published(m Message, id string, print func(Output)) (idle bool) {
	var c struct {
		State     string               `json:"execution_state"`
		Comm      string               `json:"comm_id"`
		Name      string               `json:"name"`
		Text      string               `json:"text"`
		Data      map[string]codec.Raw `json:"data"`
		Metadata  map[string]codec.Raw `json:"metadata"`
		Transient struct {
			DisplayID string `json:"display_id"`
		} `json:"transient"`
		Count     int      `json:"execution_count"`
		Wait      bool     `json:"wait"`
		Ename     string   `json:"ename"`
		Evalue    string   `json:"evalue"`
		Traceback []string `json:"traceback"`
	}
	switch m.Header.Type {
	case "status", "stream", "display_data", "execute_result", "update_display_data", "error", "clear_output", "comm_open", "comm_msg":
	default:
		return false // execute_input, and what later versions of the protocol bring
	}
	if err := codec.UnmarshalForeign(m.Content, &c); err != nil {
		return false
	}
	if m.Header.Type == "status" {
		return m.Parent == id && c.State == "idle"
	}
	if c.Comm != "" {
		if o, ok := readComm(m, c.Comm, c.Data); ok {
			print(o)
		}
		return false
	}
	print(Output{Type: m.Header.Type, Name: c.Name, Text: c.Text, Data: c.Data, Metadata: c.Metadata, DisplayID: c.Transient.DisplayID,
		Count: c.Count, Wait: c.Wait, Ename: c.Ename, Evalue: c.Evalue, Traceback: c.Traceback})
	return false
}

// readComm reads what a comm message says of a widget's state; false where it says nothing.
func readComm(m Message, id string, data map[string]codec.Raw) (Output, bool) {
	o := Output{Type: m.Header.Type, Comm: id}
	if codec.UnmarshalForeign(data["state"], &o.State) != nil || o.State == nil {
		return o, false
	}
	var paths []codec.Raw
	if raw := data["buffer_paths"]; raw != nil && codec.UnmarshalForeign(raw, &paths) != nil {
		return o, false
	}
	for i, path := range paths[:min(len(paths), len(m.Buffers))] {
		o.Buffers = append(o.Buffers, Buffer{Path: path, Data: m.Buffers[i]})
	}
	return o, true
}

// Interrupt asks the kernel, by a message, to interrupt what it does.
func (k *Client) Interrupt() error {
	_, err := k.request(k.control, "interrupt_request", struct{}{})
	return err
}

// Shutdown asks the kernel to end; that it has ended its process tells.
func (k *Client) Shutdown() error {
	_, err := k.request(k.control, "shutdown_request", map[string]any{"restart": false})
	return err
}

// Alive says whether no socket was lost yet.
func (k *Client) Alive() bool {
	select {
	case <-k.lost:
		return false
	default:
		return true
	}
}

// Quiet throws away what came since the last request, until the kernel has answered a new one: after an
// interrupt nothing of the old request may be taken for the next one's.
func (k *Client) Quiet(ctx context.Context, print func(Output)) error {
	id, err := k.request(k.shell, "kernel_info_request", struct{}{})
	if err != nil {
		return err
	}
	for answered, idle := false, false; !answered || !idle; {
		select {
		case m := <-k.replies:
			answered = answered || m.Parent == id
		case m := <-k.prints:
			idle = k.published(m, id, print) || idle
		case <-k.lost:
			return k.lostErr
		case <-ctx.Done():
			return errors.Join(errors.New("the kernel does not answer"), context.Cause(ctx))
		}
	}
	return nil
}
