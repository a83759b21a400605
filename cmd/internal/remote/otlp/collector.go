// Package otlp sends traces to the collector that the environment names, as OTLP over HTTP in JSON
// (https://opentelemetry.io/docs/specs/otlp/, and .../specs/otel/protocol/exporter/ for the variables).
//
// What always holds: nothing is sent unless OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set;
// no message contains a header, or more of an address than its host; a redirect is not followed. There is one attempt,
// limited by its context: whoever sends a trace again sends the same one.
//
// It imports net/http and nothing of this module but its JSON codec. OpenTelemetry's SDK makes spans and batches of
// them, which a run that has ended does not need.
package otlp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"markmill/notebooks/codec"
)

// Collector is where traces go.
type Collector struct {
	address *url.URL
	header  http.Header
	client  http.Client
}

// bad is an error that names a variable and not its value: a header is a credential, and so may an address be.
func bad(variable, words string) error { return fmt.Errorf("%s: %s", variable, words) }

// FromEnv is the collector of an environment; nil where it names none, or turns traces off. An error says what cannot
// be read or is not supported.
func FromEnv(getenv func(string) (string, bool)) (*Collector, error) {
	get := func(name string) string { value, _ := getenv(name); return strings.TrimSpace(value) }
	if exporter := get("OTEL_TRACES_EXPORTER"); strings.EqualFold(get("OTEL_SDK_DISABLED"), "true") || exporter != "" &&
		!strings.Contains(exporter, "otlp") {
		return nil, nil
	}
	// of the two variables for an option the one for traces is the stronger
	either := func(option string) (value, name string) {
		name = "OTEL_EXPORTER_OTLP_TRACES_" + option
		if value = get(name); value == "" {
			name = "OTEL_EXPORTER_OTLP_" + option
			value = get(name)
		}
		return value, name
	}
	endpoint, name := either("ENDPOINT")
	if endpoint == "" {
		return nil, nil
	}
	if protocol, name := either("PROTOCOL"); protocol != "" && protocol != "http/json" {
		return nil, bad(name, fmt.Sprintf("%q is not supported; set OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json, "+
			"with the collector's port for HTTP (usually 4318)", protocol))
	}
	address, err := url.Parse(endpoint)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return nil, bad(name, "it is no address of HTTP, such as http://localhost:4318")
	}
	if name == "OTEL_EXPORTER_OTLP_ENDPOINT" { // the other one is used as it is
		address = address.JoinPath("v1/traces")
	}
	header, err := headers(either("HEADERS"))
	if err != nil {
		return nil, err
	}
	header.Set("Content-Type", "application/json")
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Collector{address, header, http.Client{CheckRedirect: stay}}, nil
}

// headers reads name=value,name=value, in which values are percent-encoded.
func headers(list, variable string) (http.Header, error) {
	header := http.Header{}
	for pair := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || key == "" || err != nil {
			return nil, bad(variable, "it is no list of name=value, separated by commas, with values percent-encoded")
		}
		header.Set(key, value)
	}
	return header, nil
}

// Host is the collector's host and port.
func (c *Collector) Host() string { return c.address.Host }

// Send sends the JSON of a trace. An error says in one line why the collector did not take all of it.
func (c *Collector) Send(ctx context.Context, trace []byte) error {
	fail := func(err error) error {
		var wrapped *url.Error // whose text is the whole address
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		if ctx.Err() != nil {
			err = errors.New("no answer in time")
		}
		return fmt.Errorf("the collector at %s: %w", c.Host(), err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address.String(), bytes.NewReader(trace))
	if err != nil {
		return fail(err)
	}
	request.Header = c.header.Clone()
	response, err := c.client.Do(request)
	if err != nil {
		return fail(err)
	}
	defer response.Body.Close()
	const most = 64 << 10
	text, err := io.ReadAll(io.LimitReader(response.Body, most))
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fail(errors.New(response.Status))
	}
	if err != nil {
		return fail(err)
	}
	var answer struct {
		Partial struct {
			Rejected codec.Raw `json:"rejectedSpans"` // a string, as 64-bit integers are, or a number
			Message  string    `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if codec.Unmarshal(text, &answer) != nil { // it was taken, whatever the answer says
		return nil
	}
	if n := strings.Trim(string(answer.Partial.Rejected), `"`); n != "" && n != "0" && n != "null" {
		return fail(fmt.Errorf("%s spans were rejected: %s", n, cmp.Or(answer.Partial.Message, "it does not say why")))
	}
	return nil
}
