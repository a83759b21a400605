package scripted

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"markmill/notebooks/codec"
)

// Server is a model server on loopback.
type Server struct {
	*httptest.Server
	// Seen, when set, is called with the path and the body of every request.
	Seen func(path string, body []byte)

	scenarios map[string]Scenario
	mu        sync.Mutex
	failed    map[string]bool // scenarios whose Once has been served
	gone      chan struct{}   // closed to end requests that hang
}

// NewServer starts a server. The base URL of a scenario is that of Base.
func NewServer(scenarios map[string]Scenario) *Server {
	s := &Server{scenarios: scenarios, failed: map[string]bool{}, gone: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// Base returns the base URL under which the model acts out a scenario.
func (s *Server) Base(scenario string) string { return s.URL + "/" + scenario }

// Close ends the server and all requests.
func (s *Server) Close() {
	close(s.gone)
	s.CloseClientConnections()
	s.Server.Close()
}

// dialect is an API: how it says what a turn holds.
type dialect interface {
	// read counts the tool results in a request, and lists the tools that it offers.
	read(body []byte) (results int, tools []tool, err error)
	// stream returns the events of a turn, whole server-sent events; c is nil where it calls no tool.
	stream(t Turn, c *call, id string) []string
}

// dialectOf returns the API that a path belongs to.
func dialectOf(path string) dialect {
	switch {
	case strings.HasSuffix(path, "/responses"):
		return responses{}
	case strings.HasSuffix(path, "/chat/completions"):
		return chat{}
	case strings.HasSuffix(path, "/messages"):
		return messages{}
	case strings.Contains(path, "enerateContent"):
		return gemini{}
	}
	return nil
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if s.Seen != nil {
		s.Seen(r.URL.Path, body)
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	scenario, d := s.scenarios[name], dialectOf(r.URL.Path)
	if scenario == nil || d == nil {
		http.Error(w, `{"error":{"message":"not scripted"}}`, http.StatusNotFound)
		return
	}
	results, tools, err := d.read(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	turn := scenario.turn(results, body)
	c := turn.call(tools)
	if c == nil && turn.calls() { // a side question, as for a title
		turn = Turn{Say: "ok"}
	}
	if turn.Status != 0 && !(turn.Once && s.again(name)) {
		w.Header().Set("Content-Type", "application/json")
		if turn.Once {
			w.Header().Set("Retry-After", "0")
		}
		w.WriteHeader(turn.Status)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"scripted","status":"SCRIPTED","code":%d,`+
			`"message":"scripted status %d"}}`, turn.Status, turn.Status)
		return
	}
	s.answer(w, r, d.stream(turn, c, fmt.Sprintf("%s_%d", name, results)), turn)
}

// again reports whether a scenario's one failure has been served, and notes that it is.
func (s *Server) again(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.failed[name]
	s.failed[name] = true
	return was
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, events []string, turn Turn) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	flush := func() { w.(http.Flusher).Flush() }
	flush()
	switch {
	case turn.Hang:
		select {
		case <-r.Context().Done():
		case <-s.gone:
		}
		return
	case turn.Garbage:
		io.WriteString(w, "data: {\"no\": [json\n\n\x00\xff\xfe not an event\n\n")
		return
	case turn.Cut:
		for _, e := range events[:len(events)/2] {
			io.WriteString(w, e)
		}
		flush()
		panic(http.ErrAbortHandler)
	}
	for _, e := range events {
		io.WriteString(w, e)
	}
}

// event is a server-sent event, without name if that is "".
func event(name string, data any) string {
	raw, err := codec.Marshal(data)
	if err != nil {
		panic(err) // maps of strings and numbers
	}
	text := "data: " + string(raw) + "\n\n"
	if name != "" {
		text = "event: " + name + "\n" + text
	}
	return text
}

// object is a JSON object.
type object = map[string]any

// list is a JSON array.
type list = []any

// reasoning is so many bytes of thought.
func reasoning(n int) string {
	const words = "I look at the code, and think about what it does. "
	return strings.Repeat(words, n/len(words)+1)[:n]
}
