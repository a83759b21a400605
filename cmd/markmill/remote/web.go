package remote

import (
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
)

// web is a file at http:// or https://. Written is by PUT, as papermill does.
type web struct {
	address
	client *retryablehttp.Client
}

// transport limits the wait for an answer; proxies are those of the environment.
func transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = time.Minute
	// A client makes one request, and net/http prints on standard error what a server sends after its answer.
	t.DisableKeepAlives = true
	return t
}

// http is a client that tries again where that can help.
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

// astray is a redirect that is not followed.
type astray string

func (a astray) Error() string { return string(a) }

// follow refuses redirects that turn a PUT into a GET, which would look like a successful write, and those from https to
// http.
func follow(next *http.Request, via []*http.Request) error {
	next.Header.Del("Referer") // it would give the other host the signature of an address
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

func (c Client) openWeb(a address) store { return &web{a, c.http()} }

// status is an answer as an error.
type status struct{ answer }

func (s status) Error() string { return s.words() }

func (w *web) read(ctx context.Context) (io.ReadCloser, int64, error) {
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, w.url.String(), nil)
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Accept", "application/x-ipynb+json, application/json;q=0.9, text/markdown;q=0.9, */*;q=0.8")
	res, err := send(w.client, req)
	if err != nil {
		return nil, 0, err
	}
	return res.Body, res.ContentLength, nil
}

func (w *web) write(ctx context.Context, data []byte, mediaType string) error {
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPut, w.url.String(), data)
	if err != nil {
		return err
	}
	if strings.HasSuffix(mediaType, "+json") { // as papermill says
		mediaType = "application/json"
	}
	req.Header.Set("Content-Type", mediaType)
	res, err := send(w.client, req)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// check sends no request: there is no harmless one that every server understands.
func (w *web) check(context.Context) error { return nil }

func (w *web) answer(err error) (answer, bool) {
	var s status
	ok := errors.As(err, &s)
	var said struct { // what S3 and Azure say of a signed address
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
	}
	if xml.Unmarshal([]byte(s.text), &said) == nil && said.Code != "" {
		s.code, s.text = said.Code, said.Message
	}
	s.text = w.without(s.text)
	return s.answer, ok
}

// without masks what may be a credential of the address: servers repeat requests in their answers.
func (w *web) without(text string) string {
	var secrets []string
	if word, given := w.url.User.Password(); given {
		secrets = append(secrets, word)
	}
	for pair := range strings.SplitSeq(w.url.RawQuery, "&") {
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

func (w *web) credentials() (used, hint string) {
	if w.url.User != nil {
		return "the user of the address", "see that user and password are right"
	}
	if w.url.RawQuery != "" {
		return "the query of the address",
			"if it is a signature, it may have expired, or be for another file or method: OUTPUT is written by PUT"
	}
	return "no credentials",
		"an address can contain some: https://USER:PASSWORD@HOST/…, which no record shows; or it can be signed"
}

// send sends a request. An answer with another status than 2xx is an error.
func send(client *retryablehttp.Client, req *retryablehttp.Request) (*http.Response, error) {
	req.Header.Set("User-Agent", "markmill")
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
	return nil, status{answer{status: res.StatusCode, text: string(text)}}
}
