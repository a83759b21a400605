package remote

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/smithy-go/encoding/httpbinding"
	"github.com/hashicorp/go-retryablehttp"
)

const azureHint = "set AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or " +
	"AZURE_STORAGE_SAS_TOKEN"

// azureAccount is an Azure Blob Storage account with its key or a shared access signature.
type azureAccount struct {
	name, service string // service ends in a slash
	key           []byte
	sas           string
}

// openAzure returns an Azure blob. It builds and signs requests itself, because the SDK's client slows down every start
// (docs/performance.md).
func (c Client) openAzure(a address) (*service, error) {
	account, used, err := c.azureAccount(a)
	if err != nil {
		return nil, err
	}
	s := &service{address: a, client: c.http(), used: used,
		hint: azureHint + "; they must be allowed to read or write this blob"}
	s.request = func(ctx context.Context, t task) (*retryablehttp.Request, error) {
		at, query, method := account.service+httpbinding.EscapePath(a.bucket, true), "", http.MethodGet
		if t.verb == check {
			query = "restype=container"
		} else {
			at += "/" + httpbinding.EscapePath(a.key, false)
		}
		var headers []string // sorted
		if t.verb == write {
			method = http.MethodPut
			headers = []string{"x-ms-blob-content-type:" + t.mediaType, "x-ms-blob-type:BlockBlob"}
		}
		headers = append(headers, "x-ms-date:"+time.Now().UTC().Format(http.TimeFormat), "x-ms-version:2023-11-03")
		if query = strings.Trim(query+"&"+account.sas, "&"); query != "" {
			at += "?" + query
		}
		req, err := newRequest(ctx, method, at, t.data)
		if err != nil {
			return nil, err
		}
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ":")
			req.Header.Set(name, value)
		}
		if account.key != nil {
			req.Header.Set("Authorization", account.sign(req.Request, len(t.data), headers))
		}
		return req, nil
	}
	return s, nil
}

// sign returns a request's Authorization header. See "Authorize with Shared Key" in Azure's REST API reference.
func (acc azureAccount) sign(req *http.Request, length int, headers []string) string {
	size := ""
	if length > 0 {
		size = fmt.Sprint(length)
	}
	// The empty lines are headers that these requests do not have.
	lines := slices.Concat([]string{req.Method, "", "", size, "", req.Header.Get("Content-Type"), "", "", "", "", "",
		""},
		headers, []string{"/" + acc.name + req.URL.EscapedPath()})
	if req.URL.RawQuery != "" {
		lines = append(lines, strings.Replace(req.URL.RawQuery, "=", ":", 1))
	}
	mac := hmac.New(sha256.New, acc.key)
	mac.Write([]byte(strings.Join(lines, "\n")))
	return "SharedKey " + acc.name + ":" + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// azureAccount finds the account and its credentials, with their source in words.
func (c Client) azureAccount(a address) (acc azureAccount, used string, err error) {
	acc.name = cmp.Or(c.env("AZURE_STORAGE_ACCOUNT"), c.env("AZURE_STORAGE_ACCOUNT_NAME"))
	key := cmp.Or(c.env("AZURE_STORAGE_KEY"), c.env("AZURE_STORAGE_ACCOUNT_KEY"))
	acc.sas = strings.TrimPrefix(c.env("AZURE_STORAGE_SAS_TOKEN"), "?")
	acc.service = cmp.Or(c.env("AZURE_STORAGE_BLOB_ENDPOINT"), "https://"+acc.name+".blob.core.windows.net")
	text := c.env("AZURE_STORAGE_CONNECTION_STRING")
	switch {
	case a.scheme == "abs":
		named, _, _ := strings.Cut(a.host, ".")
		if acc.service = "https://" + a.host; named != acc.name {
			key = ""
		}
		acc.name = named
		if a.query != "" {
			acc.sas, key = a.query, ""
		}
	case text != "":
		acc, key = connection(text)
		used = "AZURE_STORAGE_CONNECTION_STRING"
	case acc.name == "":
		return acc, "", unreachable(azureHint, nil, "the account of Azure's is not set")
	}
	acc.service = strings.TrimSuffix(acc.service, "/") + "/"
	at, err := url.Parse(acc.service)
	valid := err == nil && at.Host != "" && (used == "" || key != "" || acc.sas != "")
	switch {
	case key != "":
		used = cmp.Or(used, "AZURE_STORAGE_KEY")
		acc.sas = ""
		acc.key, err = base64.StdEncoding.DecodeString(key)
		valid = valid && err == nil && acc.name != ""
	case acc.sas != "":
		used = cmp.Or(used, "a shared access signature")
	default:
		used = cmp.Or(used, noCredentials+"none are in the environment")
	}
	if !valid { // the cause may contain the key
		return acc, "", unreachable(azureHint, nil, "the value of %s is not valid", used)
	}
	return acc, used, nil
}

// connection reads a connection string.
func connection(text string) (acc azureAccount, key string) {
	parts := map[string]string{}
	for part := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(part, "=")
		parts[name] = value
	}
	acc = azureAccount{name: parts["AccountName"], sas: strings.TrimPrefix(parts["SharedAccessSignature"], "?")}
	host := acc.name + ".blob." + cmp.Or(parts["EndpointSuffix"], "core.windows.net")
	acc.service = cmp.Or(parts["BlobEndpoint"], cmp.Or(parts["DefaultEndpointsProtocol"], "https")+"://"+host)
	return acc, parts["AccountKey"]
}
