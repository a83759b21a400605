package remote

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"golang.org/x/oauth2"

	"markmill/notebooks/codec"
)

// service accesses an address over HTTP. It returns network errors and status; words turns them into messages.
type service struct {
	address
	client *retryablehttp.Client
	// request builds the request for a task; nil means that none is needed.
	request func(context.Context, task) (*retryablehttp.Request, error)
	// moved reports whether a retry of the task goes to another host; nil means no.
	moved func(status) bool
	used  string // the credentials, in words
	hint  string // how to give others
}

// task is an operation on a service.
type task struct {
	verb      verb
	data      []byte // to be written
	mediaType string
}

type verb int

const (
	read  verb = iota
	write      // the whole file; an existing one is replaced
	check      // an error means that a write would certainly fail
)

// noCredentials is the prefix of service.used when there are none.
const noCredentials = "no credentials: "

// answer is the refusal of a service.
type answer struct {
	status int    // of HTTP
	code   string // the service's own word
	text   string
}

// status is a response as an error.
type status struct {
	answer
	header http.Header
}

func (s status) Error() string { return s.words() }

// do performs a task. The response is nil if no request was needed.
func (s *service) do(ctx context.Context, t task) (*http.Response, error) {
	req, err := s.request(ctx, t)
	if err != nil || req == nil {
		return nil, err
	}
	res, err := send(s.client, req)
	var st status
	if errors.As(err, &st) && s.moved != nil && s.moved(st) {
		if req, err = s.request(ctx, t); err == nil {
			res, err = send(s.client, req)
		}
	}
	return res, err
}

// read opens the file. size is in bytes; less than 0 is unknown.
func (s *service) read(ctx context.Context) (body io.ReadCloser, size int64, err error) {
	res, err := s.do(ctx, task{verb: read})
	if err != nil {
		return nil, 0, err
	}
	return res.Body, res.ContentLength, nil
}

// ask performs a task whose response has no body to read.
func (s *service) ask(ctx context.Context, t task) error {
	res, err := s.do(ctx, t)
	if err != nil || res == nil {
		return err
	}
	return res.Body.Close()
}

// answer is the answer of the service, if the error is one.
func (s *service) answer(err error) (answer, bool) {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) { // the token was not given
		got := answer{status: http.StatusUnauthorized, code: refused.ErrorCode, text: refused.ErrorDescription}
		if got.code == "" { // the library parses it for some kinds of credentials only
			var said struct {
				Code string `json:"error"`
				Text string `json:"error_description"`
			}
			if codec.UnmarshalForeign(refused.Body, &said) == nil {
				got.code, got.text = said.Code, said.Text
			}
		}
		return got, true
	}
	var st status
	if !errors.As(err, &st) {
		return answer{}, false
	}
	got := st.answer
	type words struct{ Code, Message string }
	var amazon struct { // S3, Azure; the token service of AWS has the words in an element of their own
		words
		Error words
	}
	var google struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if xml.Unmarshal([]byte(got.text), &amazon) == nil {
		if said := cmp.Or(amazon.words, amazon.Error); said.Code != "" {
			got.code, got.text = said.Code, said.Message
		}
	} else if codec.UnmarshalForeign([]byte(got.text), &google) == nil && google.Error.Message != "" {
		got.text = google.Error.Message
	}
	if code := st.header.Get("X-Ms-Error-Code"); code != "" { // Azure's text has the request in it
		got.code, got.text = code, ""
	}
	if got.status == http.StatusNotFound && s.scheme == "gs" && strings.Contains(got.text, "bucket does not exist") {
		got.code = "NoSuchBucket"
	}
	got.text = s.without(got.text)
	return got, true
}

// without masks possible credentials of the address: servers repeat requests in their responses.
func (a address) without(text string) string {
	if a.url == nil {
		return text
	}
	var secrets []string
	if word, given := a.url.User.Password(); given {
		secrets = append(secrets, word)
	}
	for pair := range strings.SplitSeq(a.url.RawQuery, "&") {
		_, value, _ := strings.Cut(pair, "=")
		secrets = append(secrets, value)
		if plain, err := url.QueryUnescape(value); err == nil {
			secrets = append(secrets, plain)
		}
	}
	for _, secret := range secrets {
		if len(secret) >= 4 { // shorter ones occur in ordinary words
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	return text
}

// transport limits the wait for an answer; proxies are those of the environment.
func transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = time.Minute
	// A client makes one request, and net/http prints on standard error what a server sends after its answer.
	t.DisableKeepAlives = true
	return t
}

// http is a client that retries if that can help.
func (c Client) http() *retryablehttp.Client {
	r := retryablehttp.NewClient()
	r.Logger = nil
	r.RetryMax, r.RetryWaitMin, r.RetryWaitMax = c.tries()-1, c.pause(), 16*c.pause()
	r.ErrorHandler = retryablehttp.PassthroughErrorHandler
	r.CheckRetry = func(ctx context.Context, res *http.Response, err error) (bool, error) {
		if errors.As(err, new(astray)) {
			return false, err
		}
		return retryablehttp.DefaultRetryPolicy(ctx, res, err)
	}
	r.HTTPClient = &http.Client{Transport: transport(), CheckRedirect: follow}
	return r
}

// astray is the error for a redirect that is not followed.
type astray string

func (a astray) Error() string { return string(a) }

// follow refuses redirects that turn a PUT into a GET, which would look like a successful write, and those from https
// to http.
func follow(next *http.Request, via []*http.Request) error {
	next.Header.Del("Referer") // it would disclose an address's signature to the other host
	first := via[0]
	switch {
	case len(via) >= 10:
		return astray("more than 10 redirects")
	case next.Method != first.Method:
		return astray(fmt.Sprintf("it redirects a %s to %s, and the file cannot be sent along; write to that address",
			first.Method, Name(next.URL.String())))
	case first.URL.Scheme == "https" && next.URL.Scheme != "https":
		return astray(fmt.Sprintf("it redirects from https to %s, which is not safe", Name(next.URL.String())))
	}
	return nil
}

// newRequest makes a request, which the client can send several times.
func newRequest(ctx context.Context, method, url string, data []byte) (*retryablehttp.Request, error) {
	var body any
	if len(data) > 0 { // an empty body would be sent in chunks, which storage refuses
		body = data
	}
	req, err := retryablehttp.NewRequestWithContext(ctx, method, url, body)
	if err == nil {
		req.Header.Set("User-Agent", "markmill")
	}
	return req, err
}

// send sends a request. A response status other than 2xx is an error.
func send(client *retryablehttp.Client, req *retryablehttp.Request) (*http.Response, error) {
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	text, _ := io.ReadAll(io.LimitReader(res.Body, 4096))
	res.Body.Close()
	if strings.Contains(res.Header.Get("Content-Type"), "html") { // a page for a browser is no message
		text = nil
	}
	return nil, status{answer{status: res.StatusCode, text: string(text)}, res.Header}
}

// openWeb returns a file at http:// or https://. Writes use PUT, as in papermill.
func (c Client) openWeb(a address) *service {
	s := &service{address: a, client: c.http()}
	switch {
	case a.url.User != nil:
		s.used, s.hint = "the user of the address", "see that user and password are right"
	case a.url.RawQuery != "":
		s.used, s.hint = "the query of the address",
			"if it is a signature, it may have expired, or be for another file or method: OUTPUT is written by PUT"
	default:
		s.used, s.hint = "no credentials",
			"an address can contain some: https://USER:PASSWORD@HOST/…, which no record shows; or it can be signed"
	}
	s.request = func(ctx context.Context, t task) (*retryablehttp.Request, error) {
		switch t.verb {
		case check: // no side-effect-free request works on every server
			return nil, nil
		case write:
			req, err := newRequest(ctx, http.MethodPut, a.url.String(), t.data)
			if err != nil {
				return nil, err
			}
			if strings.HasSuffix(t.mediaType, "+json") { // as papermill says
				t.mediaType = "application/json"
			}
			req.Header.Set("Content-Type", t.mediaType)
			return req, nil
		}
		req, err := newRequest(ctx, http.MethodGet, a.url.String(), nil)
		if err == nil {
			req.Header.Set("Accept", "application/x-ipynb+json, application/json;q=0.9, text/markdown;q=0.9, */*;q=0.8")
		}
		return req, err
	}
	return s
}
