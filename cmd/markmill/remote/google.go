package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"markmill/notebooks/codec"
)

// googleStore is a file in Google's storage, by its JSON interface.
type googleStore struct {
	address
	client *retryablehttp.Client
	base   string
	from   string // the credentials, in words
}

func (c Client) openGoogle(ctx context.Context, a address) (store, error) {
	g := &googleStore{address: a, client: c.http(), base: "https://storage.googleapis.com",
		from: noCredentials + "none were found"}
	if host := c.env("STORAGE_EMULATOR_HOST"); host != "" {
		if !strings.Contains(host, "://") {
			host = "http://" + host
		}
		g.base, g.from = strings.TrimSuffix(host, "/"), noCredentials+"STORAGE_EMULATOR_HOST is set"
		return g, nil
	}
	tokens, from, err := c.googleTokens(ctx)
	if err != nil {
		return nil, err
	}
	if tokens != nil {
		g.from = from
		g.client.HTTPClient.Transport = &oauth2.Transport{Source: tokens, Base: g.client.HTTPClient.Transport}
	}
	return g, nil
}

// googleTokens finds the application default credentials; nil without any. It looks the file up itself, to use the given
// environment.
func (c Client) googleTokens(ctx context.Context) (oauth2.TokenSource, string, error) {
	const scope = "https://www.googleapis.com/auth/devstorage.read_write"
	from := "GOOGLE_APPLICATION_CREDENTIALS"
	path := c.env(from)
	asked := path != ""
	if !asked {
		folder := cmp.Or(c.env("CLOUDSDK_CONFIG"), filepath.Join(c.Home, ".config", "gcloud"))
		path = filepath.Join(folder, "application_default_credentials.json")
		from = "gcloud's application default credentials"
	}
	text, err := os.ReadFile(path)
	if err == nil {
		var kind struct {
			Type google.CredentialsType `json:"type"`
		}
		_ = codec.UnmarshalForeign(text, &kind) // a file that is no JSON has no type, which is an error below
		client := &http.Client{Transport: transport(), Timeout: time.Minute}
		ctx = context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, client)
		found, ferr := google.CredentialsFromJSONWithType(ctx, text, kind.Type, scope)
		if ferr != nil {
			hint := "give the JSON of a service account, or what gcloud auth application-default login writes"
			return nil, "", unreachable(hint, ferr, "%s: the file has no credentials of Google's", from)
		}
		return found.TokenSource, from, nil
	}
	if asked {
		return nil, "", unreachable("name a file of credentials", err, "GOOGLE_APPLICATION_CREDENTIALS: %v", err)
	}
	if onGoogle() {
		return google.ComputeTokenSource("", scope), "those of the machine's service account", nil
	}
	return nil, "", nil
}

// onGoogle reports whether the machine is one of Google's, by its firmware. Only there it can give a token.
func onGoogle() bool {
	text, err := os.ReadFile("/sys/class/dmi/id/product_name")
	return err == nil && strings.HasPrefix(string(text), "Google")
}

func (g *googleStore) read(ctx context.Context) (io.ReadCloser, int64, error) {
	at := fmt.Sprintf("%s/storage/v1/b/%s/o/%s?alt=media", g.base, url.PathEscape(g.bucket), url.PathEscape(g.key))
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, 0, err
	}
	res, err := send(g.client, req)
	if err != nil {
		return nil, 0, err
	}
	return res.Body, res.ContentLength, nil
}

func (g *googleStore) write(ctx context.Context, data []byte, mediaType string) error {
	at := fmt.Sprintf("%s/upload/storage/v1/b/%s/o?uploadType=media&name=%s",
		g.base, url.PathEscape(g.bucket), url.QueryEscape(g.key))
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, at, data)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", mediaType)
	res, err := send(g.client, req)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

func (g *googleStore) check(ctx context.Context) error {
	at := fmt.Sprintf("%s/storage/v1/b/%s", g.base, url.PathEscape(g.bucket))
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	res, err := send(g.client, req)
	if got, ok := g.answer(err); ok && got.status == http.StatusNotFound {
		return status{answer{status: got.status, code: "NoSuchBucket"}}
	}
	if err != nil {
		return err
	}
	return res.Body.Close()
}

func (g *googleStore) answer(err error) (answer, bool) {
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
	var s status
	if !errors.As(err, &s) {
		return answer{}, false
	}
	var said struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if codec.UnmarshalForeign([]byte(s.text), &said) == nil && said.Error.Message != "" {
		s.text = said.Error.Message
	}
	if s.status == http.StatusNotFound && strings.Contains(s.text, "bucket does not exist") {
		s.code = "NoSuchBucket"
	}
	return s.answer, true
}

func (g *googleStore) credentials() (used, hint string) {
	return g.from, "set GOOGLE_APPLICATION_CREDENTIALS to a file of credentials, or run gcloud auth application-default " +
		"login; they must be allowed to read or write this object"
}
