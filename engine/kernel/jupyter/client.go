package jupyter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"markmill/notebooks/codec"
)

// Client is a connection to one kernel. Only one goroutine may use it at a time.
type Client struct {
	session  string
	sign     signer
	shell    *socket
	control  *socket
	stdin    *socket
	iopub    *socket
	channels *channels // that the four stand for, of a kernel that a server runs; else nil

	mu      sync.Mutex
	now     *exchange // the request that is under way
	waiting []arrival // what came while none was
	room    sync.Cond // of waiting, which is bounded

	closed  chan struct{}
	once    sync.Once
	readers sync.WaitGroup
	heard   chan struct{} // closed when nothing more will come

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
	Type      string               `json:"-"`    // of the message: stream, display_data, comm_msg, …
	Name      string               `json:"name"` // stream: stdout or stderr
	Text      string               `json:"text"` // stream
	Data      map[string]codec.Raw `json:"data"` // the MIME bundle
	Metadata  map[string]codec.Raw `json:"metadata"`
	DisplayID string               `json:"-"`
	Wait      bool                 `json:"wait"`
	Ename     string               `json:"ename"`
	Evalue    string               `json:"evalue"`
	Traceback []string             `json:"traceback"`
	// Of a comm message that says of a widget in which state it is, or what changed in that.
	Comm    string               `json:"comm_id"`
	State   map[string]codec.Raw `json:"-"`
	Buffers []Buffer             `json:"-"`
}

// Buffer is a value of a widget's state that is bytes.
type Buffer struct {
	Path codec.Raw // names and places that lead to it, as a list
	Data []byte
}

// Reply is how a request to execute ended.
type Reply struct {
	Status    string   `json:"status"` // ok, error, aborted
	Count     int      `json:"execution_count"`
	Ename     string   `json:"ename"`
	Evalue    string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

// ErrLost is wrapped by the errors of calls that were waiting when a socket closed.
var ErrLost = errors.New("the connection to the kernel was lost")

// Connect connects to a kernel that was started with the connection file of c, and returns when it
// answers and when what it prints is received. ctx bounds the whole.
func Connect(ctx context.Context, c Connection) (*Client, error) {
	k := newClient(c.Key)
	news, stop := c.made()
	defer stop()
	for _, s := range []struct {
		to   **socket
		port int
		kind string
	}{
		{&k.iopub, c.IOPub, "SUB"}, {&k.shell, c.Shell, "DEALER"},
		{&k.control, c.Control, "DEALER"}, {&k.stdin, c.Stdin, "DEALER"},
	} {
		var err error
		if *s.to, err = c.dial(ctx, s.port, s.kind, k.session, news); err != nil {
			k.Close()
			return nil, err
		}
		k.readers.Add(1)
		go k.read(*s.to)
	}
	go func() {
		k.readers.Wait()
		close(k.heard)
	}()
	if err := k.greet(ctx); err != nil {
		k.Close()
		return nil, err
	}
	return k, nil
}

func newClient(key string) *Client {
	k := &Client{session: newID(), sign: signer{[]byte(key)}, closed: make(chan struct{}), heard: make(chan struct{}),
		lost: make(chan struct{})}
	k.room.L = &k.mu
	return k
}

func (k *Client) read(s *socket) {
	defer k.readers.Done()
	for {
		frames, err := s.receive()
		if err != nil {
			k.lose(err)
			return
		}
		if m, err := k.sign.decode(frames); err == nil && !m.passing() && !k.arrived(arrival{s, m}) {
			return
		}
	}
}

// arrival is a message and the socket on which it came.
type arrival struct {
	from *socket
	Message
}

// exchange is a request and what it waits for. What arrives is handed to it by the goroutine that reads the socket:
// waking another for each message would cost more than most messages do.
type exchange struct {
	take func(arrival) (over bool)
	over chan struct{}
}

// maxWaiting bounds what is read ahead while no request is under way. More stays with the kernel.
const maxWaiting = 256

// arrived hands a message on, or keeps it for the next request; false when the conversation has ended meanwhile.
func (k *Client) arrived(a arrival) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.now == nil && len(k.waiting) >= maxWaiting {
		if over(k.closed) {
			return false
		}
		k.room.Wait()
	}
	k.waiting = append(k.waiting, a)
	k.hand()
	return true
}

// hand passes the waiting messages to the current request.
func (k *Client) hand() {
	taken := 0
	for ; taken < len(k.waiting) && k.now != nil; taken++ {
		if x := k.now; x.take(k.waiting[taken]) {
			k.now = nil
			close(x.over)
		}
	}
	k.waiting = slices.Delete(k.waiting, 0, taken)
	k.room.Broadcast()
}

// begin makes an exchange the one that is under way. take is not called again once it has reported the end, or
// after quit.
func (k *Client) begin(take func(arrival) (over bool)) *exchange {
	k.mu.Lock()
	defer k.mu.Unlock()
	x := &exchange{take: take, over: make(chan struct{})}
	k.now = x
	k.hand()
	return x
}

// quit abandons an exchange.
func (k *Client) quit(x *exchange) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now == x {
		k.now = nil
	}
}

// wait waits until an exchange is over. When the kernel was lost, what it had still said is taken first: on one socket
// its end may be seen before the answer on another.
func (k *Client) wait(ctx context.Context, x *exchange) error {
	defer k.quit(x)
	select {
	case <-x.over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-k.lost:
	}
	select {
	case <-x.over:
	case <-k.heard:
	case <-k.closed:
	}
	if over(x.over) {
		return nil
	}
	return k.lostErr
}

// ask sends a request and waits until take, which gets all that comes and the request's id, says that it is over.
func (k *Client) ask(ctx context.Context, kind string, content any, take func(id string, a arrival) (over bool)) error {
	h := newHeader(k.session, kind)
	x := k.begin(func(a arrival) bool { return take(h.ID, a) })
	if err := k.send(k.shell, h, content); err != nil {
		k.quit(x)
		return err
	}
	return k.wait(ctx, x)
}

func (k *Client) lose(err error) {
	k.loseOne.Do(func() {
		k.lostErr = fmt.Errorf("%w: %w", ErrLost, err)
		close(k.lost)
	})
}

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
		if k.channels != nil {
			k.channels.conn.CloseNow()
		}
		for _, s := range []*socket{k.shell, k.control, k.stdin, k.iopub} {
			if s != nil && k.channels == nil {
				s.close()
			}
		}
		k.mu.Lock()
		k.room.Broadcast()
		k.mu.Unlock()
	})
	k.readers.Wait()
}

func (k *Client) request(s *socket, kind string, content any) error {
	return k.send(s, newHeader(k.session, kind), content)
}

func (k *Client) send(s *socket, h Header, content any) error {
	send := func() error { return k.channels.send(s, h, content) }
	if k.channels == nil {
		frames, err := k.sign.encode(h, content)
		if err != nil {
			return err
		}
		send = func() error { return s.send(frames...) }
	}
	if err := send(); err != nil {
		k.lose(err)
		return k.lostErr
	}
	return nil
}

// greet asks for the kernel's information until an answer comes and something was heard on iopub:
// a subscription takes a moment to reach the kernel, and what it publishes before is lost.
func (k *Client) greet(ctx context.Context) error {
	var failed error
	heard := false
	listen := func(a arrival) bool {
		heard = heard || a.from == k.iopub
		return heard
	}
	for !heard {
		err := k.ask(ctx, "kernel_info_request", struct{}{}, func(id string, a arrival) bool {
			if listen(a); a.Header.Type != "kernel_info_reply" {
				return false
			}
			failed = codec.UnmarshalForeign(a.Content, &k.Info)
			return a.Parent == id
		})
		if err != nil {
			return err
		}
		if failed != nil {
			return fmt.Errorf("the kernel's information: %w", failed)
		}
		if heard {
			break
		}
		// What the request made the kernel publish follows its answer. When it does not, the next request says why.
		moment, cancel := context.WithTimeout(ctx, subscribing)
		_ = k.wait(moment, k.begin(listen))
		cancel()
	}
	return nil
}

// subscribing is how long to wait for what a kernel publishes after its answer, before asking again.
const subscribing = 10 * time.Millisecond

// Execute runs code, hands on what it prints, in order, and returns when the kernel has said that it is idle
// again: then all of it has come. silent leaves the kernel's counter and history alone. Output
// of what an earlier request left running is handed on, too.
// print is called by the goroutines that read, one call at a time, and not after Execute has returned.
//
// A kernel aborts what waits in its queue when a request fails. Nothing ever waits there, for one request is under way
// at a time, and requests ask not to be treated so (stop_on_error); but a kernel may still be throwing its queue away
// when the next request reaches it. A request that it answers with "aborted" has not run, and is sent again.
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
	var reply *Reply
	var failed error
	idle := false
	err := k.ask(ctx, "execute_request", map[string]any{"code": code, "silent": silent, "store_history": !silent,
		"user_expressions": struct{}{}, "allow_stdin": false, "stop_on_error": false}, func(id string, a arrival) bool {
		switch a.from {
		case k.iopub:
			idle = k.published(a.Message, id, print) || idle
		case k.stdin:
			// It was told that nobody answers: so is somebody who closed the terminal.
			failed = k.answer(a.Message)
		default:
			if a.Parent == id && a.Header.Type == "execute_reply" {
				reply, failed = readReply(a.Content)
			}
		}
		return failed != nil || idle && reply != nil
	})
	if err = cmp.Or(err, failed); err != nil {
		return Reply{}, err
	}
	return *reply, nil
}

func (k *Client) answer(m Message) error {
	if m.Header.Type != "input_request" {
		return nil
	}
	return k.request(k.stdin, "input_reply", map[string]any{"status": "ok", "value": ""})
}

func readReply(content codec.Raw) (*Reply, error) {
	r := new(Reply)
	if err := codec.UnmarshalForeign(content, r); err != nil {
		return nil, fmt.Errorf("the kernel's reply: %w", err)
	}
	return r, nil
}

// published hands on one message of iopub; it says whether the kernel is idle after the request id.
func (k *Client) published(m Message, id string, print func(Output)) (idle bool) {
	var c struct {
		Output
		State     string `json:"execution_state"`
		Transient struct {
			DisplayID string `json:"display_id"`
		} `json:"transient"`
	}
	switch m.Header.Type {
	case "status", "stream", "display_data", "execute_result", "update_display_data", "error", "clear_output",
		"comm_open", "comm_msg":
	default:
		return false // execute_input, and what later versions of the protocol bring
	}
	if err := codec.UnmarshalForeign(m.Content, &c); err != nil {
		return false
	}
	if m.Header.Type == "status" {
		return m.Parent == id && c.State == "idle"
	}
	o := c.Output
	o.Type, o.DisplayID = m.Header.Type, c.Transient.DisplayID
	if o.Comm == "" || o.readComm(m) {
		print(o)
	}
	return false
}

// readComm reads what a comm message says of a widget's state; false where it says nothing.
func (o *Output) readComm(m Message) bool {
	if codec.UnmarshalForeign(o.Data["state"], &o.State) != nil || o.State == nil {
		return false
	}
	var paths []codec.Raw
	if raw := o.Data["buffer_paths"]; raw != nil && codec.UnmarshalForeign(raw, &paths) != nil {
		return false
	}
	for i, path := range paths[:min(len(paths), len(m.Buffers))] {
		o.Buffers = append(o.Buffers, Buffer{Path: path, Data: m.Buffers[i]})
	}
	return true
}

// Interrupt sends the kernel an interrupt message.
func (k *Client) Interrupt() error {
	return k.request(k.control, "interrupt_request", struct{}{})
}

// Shutdown asks the kernel to end. Watch its process to see when it has.
func (k *Client) Shutdown() error {
	return k.request(k.control, "shutdown_request", map[string]any{"restart": false})
}

func over(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Quiet hands on what still comes of the old request until the kernel has answered a new one: after an interrupt,
// nothing of the old request may be attributed to the next. Where something came late, more may follow: then it asks
// again, a few times, for what the old request left running may print for ever.
func (k *Client) Quiet(ctx context.Context, print func(Output)) error {
	late := true
	for round := 0; late && round < quietRounds; round++ {
		late = false
		answered, idle := false, false
		err := k.ask(ctx, "kernel_info_request", struct{}{}, func(id string, a arrival) bool {
			if a.from == k.iopub {
				idle = k.published(a.Message, id, func(o Output) { late = true; print(o) }) || idle
			} else {
				answered = answered || a.Parent == id
			}
			return answered && idle
		})
		if err != nil && ctx.Err() != nil {
			return errors.Join(errors.New("the kernel does not answer"), err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// quietRounds is how often Quiet asks at most.
const quietRounds = 10
