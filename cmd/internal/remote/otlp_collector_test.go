package remote_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"markmill/cmd/internal/remote/otlp"
)

// from reads an environment of NAME=VALUE, without OTEL_EXPORTER_OTLP_ at the front.
func from(env ...string) (*otlp.Collector, error) {
	m := map[string]string{}
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		m["OTEL_"+name] = value
	}
	return otlp.FromEnv(func(name string) (string, bool) { v, ok := m[name]; return v, ok })
}

const all = "EXPORTER_OTLP_"

// TestEnvironment says what is sent where, by the specification of exporters.
func TestEnvironment(t *testing.T) {
	var path, header string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != "{}" || r.Method != http.MethodPost ||
			r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %q %v", r.Method, body, err)
		}
		path, header = r.URL.Path, r.Header.Get("Api-Key")
	}))
	defer server.Close()
	for _, c := range []struct {
		env    []string
		path   string // "" is nothing sent
		header string
		err    string
	}{
		{env: nil},
		{env: []string{all + "HEADERS=api-key=x"}},
		{env: []string{all + "ENDPOINT=" + server.URL}, path: "/v1/traces"},
		{env: []string{all + "ENDPOINT=" + server.URL + "/a/"}, path: "/a/v1/traces"},
		{env: []string{all + "TRACES_ENDPOINT=" + server.URL + "/a", all + "ENDPOINT=x"}, path: "/a"},
		{env: []string{all + "ENDPOINT=" + server.URL, all + "HEADERS= api-key = a%2Cb=c+d , x=y,"}, path: "/v1/traces",
			header: "a,b=c+d"},
		{env: []string{all + "ENDPOINT=" + server.URL, all + "HEADERS=api-key=1", all + "TRACES_HEADERS=api-key=2"},
			path:   "/v1/traces",
			header: "2"},
		{env: []string{all + "ENDPOINT=" + server.URL, all + "PROTOCOL=http/json"}, path: "/v1/traces"},
		{env: []string{all + "ENDPOINT=" + server.URL, all + "PROTOCOL=grpc", all + "TRACES_PROTOCOL=http/json"},
			path: "/v1/traces"},
		{env: []string{all + "ENDPOINT=" + server.URL, "SDK_DISABLED=true"}},
		{env: []string{all + "ENDPOINT=" + server.URL, "TRACES_EXPORTER=none"}},
		{env: []string{all + "ENDPOINT=" + server.URL, "TRACES_EXPORTER=otlp"}, path: "/v1/traces"},
		{env: []string{all + "ENDPOINT=" + server.URL, all + "PROTOCOL=grpc"},
			err: `OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" is not supported`},
		{env: []string{all + "ENDPOINT=" + server.URL, all + "TRACES_PROTOCOL=http/protobuf"},
			err: "TRACES_PROTOCOL=http/json"},
		{env: []string{all + "ENDPOINT=localhost:4318"}, err: "no address of HTTP"},
		{env: []string{all + "ENDPOINT=http://[hush"}, err: "no address of HTTP"},
		{env: []string{all + "ENDPOINT=" + server.URL, all + "HEADERS=hush"},
			err: "OTEL_EXPORTER_OTLP_HEADERS: it is no list"},
		{env: []string{all + "ENDPOINT=" + server.URL, all + "HEADERS=a=hush%zz"}, err: "no list"},
		{env: []string{all + "ENDPOINT=" + server.URL, all + "HEADERS=a=hush%0a"}, err: "invalid header"},
	} {
		path, header = "", ""
		collector, err := from(c.env...)
		if err == nil && collector != nil {
			err = collector.Send(t.Context(), []byte("{}"))
		}
		switch {
		case err != nil && (c.err == "" || !strings.Contains(err.Error(), c.err) ||
			strings.Contains(err.Error(), "hush")):
			t.Errorf("%v: %v", c.env, err)
		case err == nil && c.err != "":
			t.Errorf("%v: no error", c.env)
		case path != c.path || header != c.header:
			t.Errorf("%v: sent to %q with %q", c.env, path, header)
		}
	}
}

// What the collector answers, in one line and without what is secret.
func TestAnswers(t *testing.T) {
	var asked atomic.Int32
	hold := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch r.URL.Query().Get("how") {
		case "partly":
			io.WriteString(w, `{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}`)
		case "empty":
			io.WriteString(w, `{"partialSuccess":{}}`)
		case "page":
			io.WriteString(w, "<html>")
		case "moved":
			http.Redirect(w, r, "/?how=page", http.StatusTemporaryRedirect)
		case "busy":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "silent":
			<-hold
		case "cut":
			w.Header().Set("Content-Length", "100")
		}
	}))
	defer server.Close()
	defer close(hold)
	for how, want := range map[string]string{"partly": "3 spans were rejected: too old", "empty": "", "page": "",
		"moved": "307 Temporary Redirect", "busy": "503 Service Unavailable", "silent": "no answer in time",
		"cut": "EOF"} {
		address := strings.Replace(server.URL, "//", "//user:hush@", 1)
		collector, err := from(all+"TRACES_ENDPOINT="+address+"/?token=hush&how="+how, all+"HEADERS=api-key=hush")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if how == "silent" {
			cancel()
			ctx, cancel = context.WithTimeout(t.Context(), 2*time.Second)
		}
		asked.Store(0)
		err = collector.Send(ctx, []byte("{}"))
		cancel()
		if n := asked.Load(); n != 1 {
			t.Errorf("%s: asked %d times", how, n)
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		if (text == "") != (want == "") || !strings.Contains(text, want) || strings.Contains(text, "hush") ||
			strings.Contains(text, "\n") {
			t.Errorf("%s: %q", how, text)
		}
	}
}
