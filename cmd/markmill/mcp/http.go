package mcp

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"markmill/notebooks/codec"
)

// What clients over HTTP can take.
const (
	maxSessions = 32               // that a person has open
	idleTime    = time.Hour        // that a session lasts without a call
	partTime    = 60 * time.Second // that a client has for each part of an answer
	maxPeople   = 256              // for whom a server is kept
)

// HTTP offers the tools to several people over streamable HTTP. Each has a server of their own, with the tools of their
// role, and the id of a session can only be used by whose it is. Who may ask at all is decided before.
type HTTP struct {
	options Options
	slots   slots
	key     []byte
	who     func(*http.Request) (person string, reads bool)

	sessions http.Handler
	mutex    sync.Mutex
	servers  map[string]*mcp.Server
}

// NewHTTP makes a handler. who says who asks, in a word that changes with what they may do, and whether they may only
// read. The context of the first request of a session is that of its calls (child.As).
func NewHTTP(o Options, who func(*http.Request) (person string, reads bool)) *HTTP {
	h := &HTTP{options: o, slots: newSlots(), key: []byte(rand.Text()), who: who,
		servers: map[string]*mcp.Server{}}
	h.sessions = mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		to, _ := h.of(r) // ServeHTTP has made it
		return to
	}, &mcp.StreamableHTTPOptions{SessionTimeout: idleTime, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true}) // the name was checked before, also that of a proxy on this machine
	return h
}

// sealed is a random word with the proof that it was made for a person.
func (h *HTTP) sealed(word, person string) string {
	sum := hmac.New(sha256.New, h.key)
	sum.Write([]byte(word + "\n" + person))
	return word + "." + hex.EncodeToString(sum.Sum(nil)[:16])
}

// of is the server of who asks.
func (h *HTTP) of(r *http.Request) (*mcp.Server, error) {
	person, reads := h.who(r)
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if to := h.servers[person]; to != nil {
		return to, nil
	}
	to, err := newServer(h.options, h.slots, reads, func() string { return h.sealed(rand.Text(), person) })
	if err != nil {
		return nil, err
	}
	if len(h.servers) >= maxPeople {
		clear(h.servers)
	}
	h.servers[person] = to
	return to, nil
}

// Close ends the sessions, and with them what they run.
func (h *HTTP) Close() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, to := range h.servers {
		for one := range to.Sessions() {
			_ = one.Close() // nobody is told any more
		}
	}
}

func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	to, err := h.of(r)
	if err != nil {
		http.Error(w, "the tools cannot be offered: "+err.Error(), http.StatusInternalServerError)
		return
	}
	if id := r.Header.Get("Mcp-Session-Id"); id != "" {
		person, _ := h.who(r)
		word, _, _ := strings.Cut(id, ".")
		if !hmac.Equal([]byte(id), []byte(h.sealed(word, person))) {
			http.Error(w, "session not found", http.StatusNotFound)
			return
		}
	} else if count(to) >= maxSessions {
		http.Error(w, fmt.Sprintf("%d sessions are open; close one", maxSessions), http.StatusServiceUnavailable)
		return
	}
	// The request is read here: what follows may take as long as a run, and the time for reading would end it.
	text, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "the request cannot be read: "+err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // a connection always has one
	h.sessions.ServeHTTP(&lasting{w, control}, r)
}

func count(to *mcp.Server) (n int) {
	for range to.Sessions() {
		n++
	}
	return n
}

// lasting is an answer that may take as long as a run: the client has partTime for each part of it.
type lasting struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (l *lasting) Write(p []byte) (int, error) {
	if err := l.control.SetWriteDeadline(time.Now().Add(partTime)); err != nil {
		return 0, err
	}
	return l.ResponseWriter.Write(p)
}

func (l *lasting) Flush() { _ = l.control.Flush() } // the next write says so

// Unwrap is for http.ResponseController.
func (l *lasting) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// maxMessage bounds a message of the client, in bytes.
const maxMessage = 4 << 20

// wire is the stream of a client: a line is a message. The library ends the session at the first line that is no JSON;
// wire answers such a line with the error that JSON-RPC 2.0 (section 5.1) has for it, and goes on.
type wire struct {
	in  io.ReadCloser
	out io.WriteCloser
	mu  sync.Mutex
}

// JSON-RPC's codes.
const (
	codeParse   = -32700
	codeInvalid = -32600
)

// messages are the lines of the client that are JSON objects, or lists of them, which the library judges.
func (w *wire) messages() io.ReadCloser {
	from, to := io.Pipe()
	go func() {
		lines := bufio.NewReaderSize(w.in, 64<<10)
		for {
			line, whole, err := w.line(lines)
			switch line = bytes.TrimSpace(line); {
			case !whole:
				w.refuse(codeInvalid, fmt.Sprintf("the message is longer than %d bytes", maxMessage))
			case len(line) == 0:
			case !isJSON(line):
				w.refuse(codeParse, "the line is no JSON")
			case line[0] != '{' && line[0] != '[':
				w.refuse(codeInvalid, "the message is no JSON object")
			default:
				if _, perr := to.Write(append(line, '\n')); perr != nil {
					return
				}
			}
			if err != nil {
				to.CloseWithError(err)
				return
			}
		}
	}()
	return &closing{from, w.in}
}

// closing closes the stream of the client, too.
type closing struct {
	*io.PipeReader
	in io.Closer
}

func (c *closing) Close() error { return errors.Join(c.PipeReader.Close(), c.in.Close()) }

// line reads a line. Of one that is too long it keeps nothing, and whole is false.
func (w *wire) line(from *bufio.Reader) (line []byte, whole bool, err error) {
	whole = true
	for {
		part, err := from.ReadSlice('\n')
		if whole = whole && len(line)+len(part) <= maxMessage; whole {
			line = append(line, part...)
		} else {
			line = nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, whole, err
		}
	}
}

func isJSON(line []byte) bool {
	d := codec.NewDecoder(line)
	if _, err := d.ReadValue(); err != nil {
		return false
	}
	_, err := d.ReadToken()
	return errors.Is(err, io.EOF)
}

// refuse answers a line that has no id.
func (w *wire) refuse(code int, words string) {
	b, err := codec.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil,
		"error": map[string]any{"code": code, "message": words}})
	if err == nil {
		_, _ = w.Write(append(b, '\n')) // where the client is gone, its end of the stream is read next
	}
}

// Write writes whole messages: the library gives it one at a time.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

func (w *wire) Close() error { return w.out.Close() }
