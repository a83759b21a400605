package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render/plain"
)

// handler answers a request, or returns why it cannot. An error that is no refusal is the server's own.
type handler func(w http.ResponseWriter, r *http.Request) error

// refusal is why a request is not answered, with the status of the answer.
type refusal struct {
	status int
	title  string // of the page; "" is the text of the status
	words  string
	err    error // whose words they are; nil is none
}

func (no *refusal) Error() string { return no.words }

func (no *refusal) Unwrap() error { return no.err }

// headers are those that go with the status.
func (no *refusal) headers(w http.ResponseWriter) {
	switch no.status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", strconv.Itoa(int(missEvery.Seconds())))
	}
}

// refused gives an error its status. nil stays nil.
func refused(status int, err error) error {
	if err == nil {
		return nil
	}
	return &refusal{status: status, words: err.Error(), err: err}
}

// problem is an error of the reader's.
func problem(format string, args ...any) error {
	return &notebooks.Error{Kind: notebooks.KindOption, Msg: fmt.Sprintf(format, args...)}
}

// isAPI reports whether a request is a program's, which is answered with JSON.
func isAPI(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/") }

// refuse answers with an error: a program gets JSON, a browser a page.
func (a *auth) refuse(w http.ResponseWriter, r *http.Request, err error) {
	no, is := errors.AsType[*refusal](err)
	if !is {
		no = &refusal{status: http.StatusInternalServerError, words: err.Error()}
	}
	no.headers(w)
	if isAPI(r) {
		_ = answer(w, no.status, apiError{no.words}) // the reader may have gone
		return
	}
	if no.title == "" {
		no.title = http.StatusText(no.status)
	}
	show(w, no.status, "notice", a.frame(r, no.title, notice{Words: plain.Cut(plain.OneLine(no.words), 2000)}))
}

// apiError is the answer to a program whose call failed.
type apiError struct {
	Error string `json:"error"`
}

// answer answers with JSON.
func answer(w http.ResponseWriter, code int, doc any) error {
	text, err := codec.Indent(doc)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(text) // the reader may have gone
	return nil
}

// done answers a request that did something: a browser is shown a page, a program gets the document.
func done(w http.ResponseWriter, r *http.Request, page string, code int, doc any) error {
	if isAPI(r) {
		return answer(w, code, doc)
	}
	http.Redirect(w, r, page, http.StatusSeeOther)
	return nil
}

// give answers with a whole text.
func give(w http.ResponseWriter, kind string, text []byte) error {
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(text) // the reader may have gone
	return nil
}

// static answers with a page that has its style and script within, and a policy with their digests. It is put into an
// origin of its own, so that nothing in it reaches the workbench.
func static(w http.ResponseWriter, page []byte) error {
	w.Header().Set("Content-Security-Policy", "frame-ancestors 'none'; sandbox allow-scripts allow-popups")
	return give(w, "text/html; charset=utf-8", page)
}

// body reads the JSON of a request.
func body(r *http.Request, to any) error {
	var text bytes.Buffer
	if _, err := text.ReadFrom(r.Body); err != nil {
		return problem("the body cannot be read: %v", err)
	}
	if err := codec.UnmarshalKnown(text.Bytes(), to); err != nil {
		return problem("the body is no JSON of the right form: %v", err)
	}
	return nil
}

// fields are those of a form. A program sends them as JSON, with no other members than names.
func fields(r *http.Request, names []string) (url.Values, error) {
	if !isAPI(r) {
		return r.PostForm, nil
	}
	in := map[string]string{}
	err := body(r, &in)
	form := url.Values{}
	for name, value := range in {
		if form.Set(name, value); !slices.Contains(names, name) {
			return nil, problem("the body has the unknown member %q; known: %s", name, strings.Join(names, ", "))
		}
	}
	return form, err
}

// maxWatching bounds the streams that are open, and keepAlive the time for which one is silent.
const (
	maxWatching = 512
	keepAlive   = 15 * time.Second
)

// stream sends events to one client.
type stream struct {
	w       io.Writer
	control *http.ResponseController
	last    time.Time // of the last event
}

// follow answers with a stream of events. poll sends what is new; it is called again after every period, until it
// returns true, the client has gone, or the workbench ends.
func (s *server) follow(w http.ResponseWriter, r *http.Request, every time.Duration,
	poll func(*stream) (ended bool, err error)) error {
	if s.watching.Add(1) > maxWatching {
		s.watching.Add(-1)
		return refused(http.StatusServiceUnavailable, problem("%d streams of events are open", maxWatching))
	}
	defer s.watching.Add(-1)
	to := &stream{w: w, control: http.NewResponseController(w), last: time.Now()}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	_ = to.control.SetReadDeadline(time.Time{}) // a stream outlives the time of its request
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		ended, err := poll(to)
		if err == nil && !ended && time.Since(to.last) > keepAlive {
			err = to.send(": still here\n\n")
		}
		if err != nil || ended {
			return nil //nolint:nilerr // the client has gone
		}
		select {
		case <-ticker.C:
		case <-r.Context().Done():
			return nil
		case <-s.closing:
			return nil
		}
	}
}

// event sends one event. id says where the stream goes on after it; "": a client that lost its connection loads the
// page again.
func (to *stream) event(id, kind string, data any) error {
	text, err := codec.Marshal(data)
	if err != nil {
		return err
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	return to.send(id + "event: " + kind + "\ndata: " + string(text) + "\n\n")
}

// send sends whole events. A client that takes nothing for a minute is given up; nobody else waits for it.
func (to *stream) send(text string) error {
	to.last = time.Now()
	if err := to.control.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	if _, err := io.WriteString(to.w, text); err != nil {
		return err
	}
	return to.control.Flush()
}
