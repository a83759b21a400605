package jupyter

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"markmill/notebooks/codec"
)

// fake is a kernel that does as a test says: the other half of the protocol, over sockets of its own.
type fake struct {
	t       *testing.T
	c       Connection
	sign    signer
	on      func(f *fake, m Message) // what it does at a request on shell
	mu      sync.Mutex
	sockets map[string]*socket // the client's connections, by what they are for
	close   []io.Closer
	closing sync.WaitGroup
}

// newFake starts a kernel; Connect works at once, and on gets every request but kernel_info.
func newFake(t *testing.T, on func(f *fake, m Message)) *fake {
	t.Helper()
	c, ok := IPC(t.TempDir(), "", "fake")
	if !ok {
		t.Skip("the temporary folder's name is too long for a socket")
	}
	f := &fake{t: t, c: c, sign: signer{[]byte(c.Key)}, on: on, sockets: map[string]*socket{}}
	for name, port := range map[string]int{"shell": c.Shell, "iopub": c.IOPub, "stdin": c.Stdin, "control": c.Control} {
		network, address, done, err := c.address(port)
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		f.close = append(f.close, l)
		f.mu.Unlock()
		f.closing.Go(func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s, err := serve(conn)
			if err != nil {
				return
			}
			f.mu.Lock()
			f.sockets[name] = s
			f.close = append(f.close, conn)
			f.mu.Unlock()
			for {
				frames, err := s.receive()
				if err != nil {
					return
				}
				if m, err := f.sign.decode(frames); err == nil {
					f.request(m)
				}
			}
		})
	}
	t.Cleanup(f.end)
	return f
}

// serve is the kernel's half of the handshake: greetings and READY are the same both ways.
func serve(conn net.Conn) (*socket, error) { return newSocket(conn, "ROUTER", "") }

// end is the end of the kernel: its sockets close.
func (f *fake) end() {
	f.mu.Lock()
	for _, c := range f.close {
		c.Close()
	}
	f.mu.Unlock()
	f.closing.Wait()
}

func (f *fake) request(m Message) {
	if m.Header.Type == "kernel_info_request" {
		f.status(m, "busy")
		f.reply(m, "shell", "kernel_info_reply",
			map[string]any{"protocol_version": "5.3", "implementation": "fake",
				"language_info": map[string]any{"name": "none"}})
		f.status(m, "idle")
		return
	}
	f.on(f, m)
}

// reply sends a message that belongs to a request.
func (f *fake) reply(to Message, socket, kind string, content any) {
	f.send(f.sign, to, socket, kind, content)
}

func (f *fake) send(sign signer, to Message, socket, kind string, content any, buffers ...[]byte) {
	header, _ := codec.Marshal(newHeader("kernel", kind))
	parent, _ := codec.Marshal(to.Header)
	body, err := codec.Marshal(content)
	if err != nil {
		f.t.Error(err)
	}
	parts := [][]byte{header, parent, []byte("{}"), body}
	f.mu.Lock()
	s := f.sockets[socket]
	f.mu.Unlock()
	if s == nil {
		return // nobody has connected there yet: what is published is lost
	}
	frames := append([][]byte{[]byte("topic"), []byte(delimiter), sign.sum(parts)}, parts...)
	_ = s.send(append(frames, buffers...)...)
}

func (f *fake) status(to Message, state string) {
	f.reply(to, "iopub", "status", map[string]any{"execution_state": state})
}

func (f *fake) print(to Message, text string) {
	f.reply(to, "iopub", "stream", map[string]any{"name": "stdout", "text": text})
}

func (f *fake) connect() *Client {
	f.t.Helper()
	k, err := Connect(context.Background(), f.c)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(k.Close)
	return k
}

// run executes code and gives what it printed, a line an output.
func run(k *Client, ctx context.Context) (Reply, string, error) {
	var seen bytes.Buffer
	r, err := k.Execute(ctx, "code", false,
		func(o Output) { fmt.Fprintf(&seen, "%s %s%s\n", o.Type, o.Text, o.DisplayID) })
	return r, seen.String(), err
}

// frameOf is a frame with a length of one's choice.
func frameOf(flags byte, size uint64, body string) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{flags | flagLong}, size), body...)
}
