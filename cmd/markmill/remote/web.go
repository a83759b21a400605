package remote

import (
	"context"
	"net/http"
	"strings"

	"github.com/hashicorp/go-retryablehttp"
)

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
