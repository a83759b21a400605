package jupyter

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"

	"markmill/notebooks/codec"
)

// Server is a Jupyter Server, or a Kernel Gateway, which runs kernels elsewhere.
type Server struct {
	URL   string // its base, without a user, a password and a query
	Token string // "" where it asks for none
}

// ServerKernel is a kernel that a server runs for one session.
type ServerKernel struct {
	server Server
	id     string
}

// maxReply bounds an answer of a server, in bytes.
const maxReply = 8 << 20

// ask sends a request to the server's interface for programs, and reads the answer into reply unless that is nil.
func (s Server) ask(ctx context.Context, method, path string, body, reply any) error {
	text, err := codec.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(s.URL, "/")+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header = s.header()
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(io.LimitReader(answer.Body, maxReply))
	switch {
	case err != nil:
		return err
	case answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%s refuses the token (%s)", s.URL, answer.Status)
	case answer.StatusCode >= 300:
		var said struct{ Message, Reason string }
		_ = codec.UnmarshalForeign(got, &said)
		return fmt.Errorf("%s %s: %s %s", method, s.URL+path, answer.Status, said.Message)
	case reply == nil:
		return nil
	}
	if err := codec.UnmarshalForeign(got, reply); err != nil {
		return fmt.Errorf("%s%s is no Jupyter Server: %w", s.URL, path, err)
	}
	return nil
}

func (s Server) header() http.Header {
	h := http.Header{}
	if s.Token != "" {
		h.Set("Authorization", "token "+s.Token)
	}
	return h
}

// Start starts the kernel of a kernelspec of the server.
func (s Server) Start(ctx context.Context, spec string) (ServerKernel, error) {
	var reply struct {
		ID string `json:"id"`
	}
	err := s.ask(ctx, http.MethodPost, "/api/kernels", map[string]string{"name": spec}, &reply)
	if err == nil && reply.ID == "" {
		err = fmt.Errorf("%s started no kernel", s.URL)
	}
	return ServerKernel{s, reply.ID}, err
}

func (k ServerKernel) path() string { return "/api/kernels/" + url.PathEscape(k.id) }

// Interrupt interrupts the kernel.
func (k ServerKernel) Interrupt(ctx context.Context) error {
	return k.server.ask(ctx, http.MethodPost, k.path()+"/interrupt", struct{}{}, nil)
}

// End ends the kernel.
func (k ServerKernel) End(ctx context.Context) error {
	return k.server.ask(ctx, http.MethodDelete, k.path(), struct{}{}, nil)
}

// Connect connects to the kernel, as the function of that name does to one here.
func (k ServerKernel) Connect(ctx context.Context) (*Client, error) {
	c := newClient("")
	conn, answer, err := websocket.Dial(ctx, strings.TrimRight(k.server.URL,
		"/")+k.path()+"/channels?session_id="+c.session,
		&websocket.DialOptions{HTTPHeader: k.server.header()})
	if err != nil {
		if answer != nil {
			err = fmt.Errorf("%w (%s)", err, answer.Status)
		}
		return nil, err
	}
	conn.SetReadLimit(maxMessage)
	w := &channels{conn: conn, of: map[string]*socket{"shell": {}, "iopub": {}, "stdin": {}, "control": {}}}
	c.shell, c.iopub, c.stdin, c.control, c.channels = w.of["shell"], w.of["iopub"], w.of["stdin"], w.of["control"], w
	c.readers.Add(1)
	go c.readChannels()
	go func() {
		c.readers.Wait()
		close(c.heard)
	}()
	if err := c.greet(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// channels are a kernel's sockets behind one WebSocket.
type channels struct {
	conn *websocket.Conn
	of   map[string]*socket // stand for the sockets
}

// wireMessage is a message as the server has it: in JSON, with the name of its socket.
type wireMessage struct {
	Header   Header    `json:"header"`
	Parent   Header    `json:"parent_header"`
	Metadata struct{}  `json:"metadata"`
	Content  codec.Raw `json:"content"`
	Buffers  codec.Raw `json:"buffers"`
	Channel  string    `json:"channel"`
}

// sending bounds how long a server may take to take a message.
const sending = time.Minute

func (w *channels) send(to *socket, h Header, content any) error {
	body, err := codec.Marshal(content)
	if err != nil {
		return err
	}
	m := wireMessage{Header: h, Content: body, Buffers: codec.Raw("[]")}
	for name, s := range w.of {
		if s == to {
			m.Channel = name
		}
	}
	text, err := codec.Marshal(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), sending)
	defer cancel()
	return w.conn.Write(ctx, websocket.MessageText, text)
}

// readChannels hands on what the kernel says until the connection ends.
func (k *Client) readChannels() {
	defer k.readers.Done()
	for {
		kind, data, err := k.channels.conn.Read(context.Background())
		if err != nil {
			k.lose(err)
			return
		}
		var buffers [][]byte
		if kind == websocket.MessageBinary {
			if data, buffers, err = withBuffers(data); err != nil {
				k.lose(err)
				return
			}
		}
		var m wireMessage
		if codec.UnmarshalForeign(data, &m) != nil {
			continue
		}
		from := k.channels.of[m.Channel]
		got := Message{Header: m.Header, Parent: m.Parent.ID, Content: m.Content, Buffers: buffers}
		if from != nil && !got.passing() && !k.arrived(arrival{from, got}) {
			return
		}
	}
}

// withBuffers cuts a binary message: how many parts there are, where each begins, the JSON and the buffers.
func withBuffers(data []byte) (text []byte, buffers [][]byte, err error) {
	bad := errors.New("the server sent a message that cannot be read")
	if len(data) < 4 {
		return nil, nil, bad
	}
	n := int(binary.BigEndian.Uint32(data))
	if n < 1 || n > len(data)/4-1 {
		return nil, nil, bad
	}
	parts := make([][]byte, n)
	end := len(data)
	for i := n - 1; i >= 0; i-- {
		begin := int(binary.BigEndian.Uint32(data[4*(i+1):]))
		if begin < 4*(n+1) || begin > end {
			return nil, nil, bad
		}
		parts[i], end = data[begin:end], begin
	}
	return parts[0], parts[1:], nil
}
