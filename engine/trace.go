package engine

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"time"

	"markmill/notebooks/codec"
	"markmill/runs"
)

// trace is what the engine did and how long each part took: spans below one root.
type trace struct {
	now   func() time.Time
	begin time.Time
	spans []span
}

type span struct {
	name       string
	begin, end time.Time
	failed     string
}

func newTrace(now func() time.Time) *trace { return &trace{now: now, begin: now()} }

// start begins a span and returns the function that ends it.
func (t *trace) start(name string) func() {
	i := len(t.spans)
	t.spans = append(t.spans, span{name: name, begin: t.now()})
	return func() { t.spans[i].end = t.now() }
}

// span runs f and records it.
func (t *trace) span(name string, f func() error) error {
	i := len(t.spans)
	end := t.start(name)
	err := f()
	end()
	if err != nil {
		t.spans[i].failed = err.Error()
	}
	return err
}

// write writes the spans as one line of OpenTelemetry's JSON encoding (OTLP 1.x, TracesData). clean masks secrets.
func (t *trace) write(dir string, id runs.RunID, version string, clean func(any) (codec.Raw, error)) error {
	sum, _ := hex.DecodeString(string(runs.DigestOf([]byte(id)))[len("sha256:"):])
	traceID, root := hex.EncodeToString(sum[:16]), hex.EncodeToString(sum[16:24])
	attr := func(key, value string) map[string]any {
		return map[string]any{"key": key, "value": map[string]any{"stringValue": value}}
	}
	encode := func(id, parent string, s span) map[string]any {
		out := map[string]any{"traceId": traceID, "spanId": id, "name": s.name, "kind": 1,
			"startTimeUnixNano": strconv.FormatInt(s.begin.UnixNano(), 10),
			"endTimeUnixNano":   strconv.FormatInt(s.end.UnixNano(), 10)}
		if parent != "" {
			out["parentSpanId"] = parent
		}
		if s.failed != "" {
			out["status"] = map[string]any{"code": 2, "message": s.failed}
		}
		return out
	}
	list := []any{encode(root, "", span{name: "run", begin: t.begin, end: t.now()})}
	base := binary.BigEndian.Uint64(sum[24:])
	for i, s := range t.spans {
		var id [8]byte
		binary.BigEndian.PutUint64(id[:], base+uint64(i))
		list = append(list, encode(hex.EncodeToString(id[:]), root, s))
	}
	b, err := clean(map[string]any{"resourceSpans": []any{map[string]any{
		"resource": map[string]any{"attributes": []any{attr("service.name", "markmill"), attr("service.version", version),
			attr("markmill.run_id", string(id))}},
		"scopeSpans": []any{map[string]any{"scope": map[string]any{"name": "markmill/engine"}, "spans": list}},
	}}})
	if err != nil {
		return err
	}
	return runs.At(dir).Write(runs.TraceFile, append(b, '\n'))
}
