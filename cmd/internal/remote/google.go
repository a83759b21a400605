package remote

import (
	"cmp"
	"context"
	"fmt"
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

// openGoogle returns a file in Google Cloud Storage, through its JSON API.
func (c Client) openGoogle(ctx context.Context, a address) (*service, error) {
	base := "https://storage.googleapis.com"
	s := &service{address: a, client: c.http(), used: noCredentials + "none were found",
		hint: "set GOOGLE_APPLICATION_CREDENTIALS to a file of credentials, or run gcloud auth application-default " +
			"login; they must be allowed to read or write this object"}
	if host := c.env("STORAGE_EMULATOR_HOST"); host != "" {
		if !strings.Contains(host, "://") {
			host = "http://" + host
		}
		base, s.used = strings.TrimSuffix(host, "/"), noCredentials+"STORAGE_EMULATOR_HOST is set"
	} else if tokens, from, err := c.googleTokens(ctx); err != nil {
		return nil, err
	} else if tokens != nil {
		s.used = from
		s.client.HTTPClient.Transport = &oauth2.Transport{Source: tokens, Base: s.client.HTTPClient.Transport}
	}
	s.request = func(ctx context.Context, t task) (*retryablehttp.Request, error) {
		bucket := base + "/storage/v1/b/" + url.PathEscape(a.bucket)
		switch t.verb {
		case check:
			return newRequest(ctx, http.MethodGet, bucket, nil)
		case write:
			at := fmt.Sprintf("%s/upload/storage/v1/b/%s/o?uploadType=media&name=%s",
				base, url.PathEscape(a.bucket), url.QueryEscape(a.key))
			req, err := newRequest(ctx, http.MethodPost, at, t.data)
			if err == nil {
				req.Header.Set("Content-Type", t.mediaType)
			}
			return req, err
		}
		return newRequest(ctx, http.MethodGet, bucket+"/o/"+url.PathEscape(a.key)+"?alt=media", nil)
	}
	return s, nil
}

// googleTokens finds the application default credentials, or returns nil. It looks up the file itself, to use the given
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
		_ = codec.UnmarshalForeign(text, &kind) // a file that is not JSON has no type, which is an error below
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

// onGoogle reports, from the firmware, whether this is a Google machine. Only those can give a token.
func onGoogle() bool {
	text, err := os.ReadFile("/sys/class/dmi/id/product_name")
	return err == nil && strings.HasPrefix(string(text), "Google")
}
