package cmdtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"markmill/cmd/internal/program"
)

// checkOTLP checks a body by the JSON mapping of OTLP
// (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding): ids are hexadecimal, 64-bit integers strings,
// enumerations numbers, and names in lowerCamelCase. It returns the names of the spans, those of the parents before
// them.
func checkOTLP(body []byte) (names []string, err error) {
	var doc struct {
		Resources []struct {
			Resource struct {
				Attributes []struct {
					Key   string
					Value struct{ StringValue *string }
				}
			}
			Scopes []struct {
				Scope struct{ Name string }
				Spans []struct {
					TraceID string `json:"traceId"`
					SpanID  string `json:"spanId"`
					Parent  string `json:"parentSpanId"`
					Name    string
					Kind    int
					Begin   string `json:"startTimeUnixNano"`
					End     string `json:"endTimeUnixNano"`
					Status  *struct {
						Code    int
						Message string
					}
				}
			} `json:"scopeSpans"`
		} `json:"resourceSpans"`
	}
	in := json.NewDecoder(bytes.NewReader(body))
	in.DisallowUnknownFields()
	if err := in.Decode(&doc); err != nil {
		return nil, err
	}
	if len(doc.Resources) != 1 || len(doc.Resources[0].Resource.Attributes) < 3 || len(doc.Resources[0].Scopes) != 1 {
		return nil, fmt.Errorf("it is not of one resource: %s", body)
	}
	path, times := map[string]string{}, map[string][2]int64{}
	for _, s := range doc.Resources[0].Scopes[0].Spans {
		begin, err1 := strconv.ParseInt(s.Begin, 10, 64)
		end, err2 := strconv.ParseInt(s.End, 10, 64)
		around := times[s.Parent]
		switch {
		case !regexp.MustCompile("^[0-9a-f]{32}$").MatchString(s.TraceID),
			!regexp.MustCompile("^[0-9a-f]{16}$").MatchString(s.SpanID):
			return nil, fmt.Errorf("ids %q %q", s.TraceID, s.SpanID)
		case err1 != nil || err2 != nil || begin > end || s.Kind != 1 || path[s.SpanID] != "":
			return nil, fmt.Errorf("span %+v", s)
		case s.Parent != "" && (path[s.Parent] == "" || begin < around[0] || end > around[1]):
			return nil, fmt.Errorf("span %+v is outside of its parent", s)
		}
		times[s.SpanID] = [2]int64{begin, end}
		path[s.SpanID] = strings.TrimPrefix(path[s.Parent]+"/"+s.Name, "/")
		if s.Status != nil {
			names = append(names, fmt.Sprintf("%s %d %s", path[s.SpanID], s.Status.Code, s.Status.Message))
		} else {
			names = append(names, path[s.SpanID])
		}
	}
	return names, nil
}

// Runs send their traces to a collector, and no run ends otherwise because of it.
func TestTraceExport(t *testing.T) {
	t.Parallel()
	executable := builtProgram(t)
	dir := t.TempDir()
	var mu sync.Mutex
	var bodies [][]byte
	hold := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/traces" && r.URL.Path != "/silent/v1/traces" {
			t.Error(r.URL, err)
		}
		mu.Lock()
		bodies = append(bodies, body)
		mu.Unlock()
		if strings.HasPrefix(r.URL.Path, "/silent") {
			<-hold
		}
	}))
	defer server.Close()
	defer close(hold)
	for _, name := range []string{"home", "job"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	notebook := "---\nparams:\n  n: 0\n  key: {type: secret, env: THE_KEY}\n---\n" +
		"```sh {#one}\necho $key\n```\n\n```sh {#two}\necho $key >&2; test $n = 0\n```\n"
	if err := os.WriteFile(filepath.Join(dir, "job", "n.md"), []byte(notebook), 0o644); err != nil {
		t.Fatal(err)
	}
	markmill := func(address string, args ...string) (stdout, stderr string, code int) {
		t.Helper()
		var out, errs strings.Builder
		cmd := exec.CommandContext(t.Context(), executable, args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join(dir, "job"), &out, &errs
		cmd.Env = append(os.Environ(), "MARKMILL_DIR="+filepath.Join(dir, "kept"), "HOME="+filepath.Join(dir, "home"),
			"XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "THE_KEY=hush-hush-hush", "OTEL_EXPORTER_OTLP_ENDPOINT="+
				address,
			"OTEL_EXPORTER_OTLP_HEADERS=api-key=secret-header")
		_ = cmd.Run()
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	took := func() [][]byte { mu.Lock(); defer mu.Unlock(); b := bodies; bodies = nil; return b }

	if _, said, code := markmill(server.URL, "run", "n.md", "-p", "n=1"); code != program.ExitFail ||
		strings.Contains(said, "trace") {
		t.Fatalf("exit %d: %s", code, said)
	}
	sent := took()
	if len(sent) != 1 {
		t.Fatalf("%d traces were sent", len(sent))
	}
	names, err := checkOTLP(sent[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"run 2 fail", "run/planning", "run/step one/start sh", "run/step one/code",
		"run/step two 2 fail",
		"run/checks", "run/views"} {
		if !strings.Contains("\n"+strings.Join(names, "\n")+"\n", "\n"+want+"\n") {
			t.Errorf("%s is not sent: %q", want, names)
		}
	}
	if bytes.Contains(sent[0], []byte("hush")) {
		t.Errorf("a secret is sent: %s", sent[0])
	}
	// the record gives the same, also as an archive
	if out, said, code := markmill(server.URL, "show", "--trace", "last", "--export",
		"--json"); code != program.ExitPass ||
		!strings.Contains(said, "sent ") || !strings.Contains(out, `"name": "views"`) {
		t.Errorf("exit %d: %s%s", code, said, out)
	}
	if again := took(); len(again) != 1 || !bytes.Equal(again[0], sent[0]) {
		t.Errorf("%s\nis not\n%s", again, sent[0])
	}

	// a collector that is away, silent or not supported
	for _, c := range []struct {
		address, want string
		args          []string
	}{
		{"http://127.0.0.1:1", "connection refused", nil},
		{server.URL + "/silent", "no answer in time", nil},
		{"grpc://localhost:4317", "no address of HTTP", nil},
		{"http://127.0.0.1:1", "connection refused", []string{"--matrix", "m=1..6", "-j", "2",
			"--allow-unknown-parameters"}},
	} {
		_, said, code := markmill(c.address, append([]string{"run", "n.md"}, c.args...)...)
		if code != program.ExitPass || strings.Count(said, "the trace was not sent: ") != 1 ||
			!strings.Contains(said, c.want) || strings.Contains(said, "secret-header") {
			t.Errorf("%s %v: exit %d: %s", c.address, c.args, code, said)
		}
		if _, said, code := markmill(c.address, "list"); code != program.ExitPass || said != "" {
			t.Errorf("%s: exit %d: %s", c.address, code, said)
		}
	}
	if _, said, code := markmill("http://127.0.0.1:1", "show", "--trace", "--export"); code != program.ExitFail ||
		!strings.Contains(said, "refused") {
		t.Errorf("exit %d: %s", code, said)
	}
}
