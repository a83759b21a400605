package runs

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// Trace says where the time of a run went: its spans, each before those that it holds, and the run itself first. Its
// JSON is that of OpenTelemetry (OTLP 1.x, TracesData), which trace.jsonl holds in one line and collectors take.
type Trace struct {
	Run     RunID
	Version string // of Markmill
	Spans   []Span
}

// Span is a part of a run.
type Span struct {
	Name       string
	Parent     int // index in the trace; -1 is that of the run itself
	Begin, End time.Time
	Failed     string // why it failed; "" did not
}

// Took is how long the span lasted. It is 0 where the clock was set back.
func (s Span) Took() time.Duration { return max(0, s.End.Sub(s.Begin)) }

// StepSpan begins the name of a step's span; its id follows.
const StepSpan = "step "

// The OTLP JSON mapping: ids are hexadecimal, 64-bit integers are strings, enumerations are numbers.
type otlpTraces struct {
	Resources []otlpResource `json:"resourceSpans"`
}

type otlpResource struct {
	Resource struct {
		Attributes []otlpAttribute `json:"attributes"`
	} `json:"resource"`
	Scopes []otlpScope `json:"scopeSpans"`
}

type otlpAttribute struct {
	Key   string `json:"key"`
	Value struct {
		String string `json:"stringValue"`
	} `json:"value"`
}

type otlpScope struct {
	Scope struct {
		Name string `json:"name"`
	} `json:"scope"`
	Spans []otlpSpan `json:"spans"`
}

type otlpSpan struct {
	Trace  string      `json:"traceId"`
	ID     string      `json:"spanId"`
	Parent string      `json:"parentSpanId,omitzero"`
	Name   string      `json:"name"`
	Kind   int         `json:"kind"` // 1 is SPAN_KIND_INTERNAL
	Begin  string      `json:"startTimeUnixNano"`
	End    string      `json:"endTimeUnixNano"`
	Status *otlpStatus `json:"status,omitempty"`
}

type otlpStatus struct {
	Code    int    `json:"code"` // 2 is STATUS_CODE_ERROR
	Message string `json:"message,omitzero"`
}

// MarshalJSON writes the trace for a collector. The ids follow from that of the run: sent twice, it is the same trace.
func (t *Trace) MarshalJSON() ([]byte, error) {
	sum, err := hex.DecodeString(string(DigestOf([]byte(t.Run)))[len("sha256:"):])
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(t.Spans))
	for i := range t.Spans {
		id := sum[16:24]
		if i > 0 {
			id = binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(sum[24:])+uint64(i-1))
		}
		ids[i] = hex.EncodeToString(id)
	}
	scope := otlpScope{Spans: make([]otlpSpan, len(t.Spans))}
	scope.Scope.Name = "markmill/engine"
	for i, s := range t.Spans {
		one := otlpSpan{Trace: hex.EncodeToString(sum[:16]), ID: ids[i], Name: s.Name, Kind: 1,
			Begin: strconv.FormatInt(s.Begin.UnixNano(), 10), End: strconv.FormatInt(s.End.UnixNano(), 10)}
		if s.Parent >= 0 {
			one.Parent = ids[s.Parent]
		}
		if s.Failed != "" {
			one.Status = &otlpStatus{Code: 2, Message: s.Failed}
		}
		scope.Spans[i] = one
	}
	resource := otlpResource{Scopes: []otlpScope{scope}}
	for _, a := range [][2]string{{"service.name", "markmill"}, {"service.version", t.Version},
		{"markmill.run_id", string(t.Run)}} {
		attribute := otlpAttribute{Key: a[0]}
		attribute.Value.String = a[1]
		resource.Resource.Attributes = append(resource.Resource.Attributes, attribute)
	}
	return codec.Marshal(otlpTraces{[]otlpResource{resource}})
}

// Trace reads the trace of a run. Steps that failed, and the run if it did not pass, are marked with their status. The
// views are written after the trace, which they cover: how long that took is known from the time of SHA256SUMS, where
// the files still have the times of their making.
func (r *Record) Trace() (*Trace, error) {
	run, _, err := r.Load()
	if err != nil {
		return nil, err
	}
	t := &Trace{Run: run.ID, Version: run.Started.Markmill}
	text, err := r.ReadFile(TraceFile)
	if err == nil {
		err = t.read(text)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &notebooks.Error{Kind: notebooks.KindRecord, File: r.path, Err: err,
			Msg:  "run " + string(run.ID) + " has no trace: it has not come to its end",
			Hint: "markmill show RUN --events lists its events with their times"}
	case err != nil:
		return nil, cannotRead(r.path, fmt.Errorf("%s: %w", TraceFile, err))
	}
	if run.Completed != nil && !run.Status().Passed() {
		t.Spans[0].Failed = string(run.Status())
	}
	for _, step := range run.Steps {
		failed := step.Finished != nil && (step.Finished.Status == StepFailed || step.Finished.Status == StepTimeout)
		named := func(s Span) bool { return s.Name == StepSpan+string(step.Planned.ID) }
		if i := slices.IndexFunc(t.Spans, named); i >= 0 && failed && t.Spans[i].Failed == "" {
			t.Spans[i].Failed = string(step.Finished.Status)
		}
	}
	t.addViews(r, run)
	return t, nil
}

// deepest is how deep spans may be in one another. Those of a run are three deep.
const deepest = 32

// read reads what MarshalJSON wrote.
func (t *Trace) read(text []byte) error {
	var doc otlpTraces
	if err := codec.Unmarshal(text, &doc); err != nil {
		return err
	}
	at, depth := map[string]int{"": -1}, []int{}
	for _, resource := range doc.Resources {
		for _, scope := range resource.Scopes {
			for _, one := range scope.Spans {
				parent, known := at[one.Parent]
				begin, err := strconv.ParseInt(one.Begin, 10, 64)
				end, endErr := strconv.ParseInt(one.End, 10, 64)
				_, twice := at[one.ID]
				if err != nil || endErr != nil || twice || !known || (parent < 0) != (len(depth) == 0) {
					return fmt.Errorf("the span %q is none of a run", one.Name)
				}
				below := 0
				if parent >= 0 {
					below = depth[parent] + 1
				}
				if below > deepest {
					return fmt.Errorf("the span %q is in more than %d others", one.Name, deepest)
				}
				at[one.ID], depth = len(depth), append(depth, below)
				s := Span{one.Name, parent, time.Unix(0, begin).UTC(), time.Unix(0, end).UTC(), ""}
				if one.Status != nil && one.Status.Code == 2 {
					s.Failed = cmp.Or(one.Status.Message, "error")
				}
				t.Spans = append(t.Spans, s)
			}
		}
	}
	if len(t.Spans) == 0 {
		return errors.New("it has no spans")
	}
	return nil
}

// addViews adds what came behind the trace, unless the record was copied without its times or completed later.
func (t *Trace) addViews(r *Record, run *Run) {
	if run.Status() == Interrupted && run.Completed != nil && run.Completed.Signal == 0 {
		return
	}
	trace, err := r.Stat(TraceFile)
	if err != nil {
		return
	}
	sums, err := r.Stat(SumsFile)
	if err != nil {
		return
	}
	whole := &t.Spans[0]
	late := trace.ModTime().Sub(whole.End)
	if late < -20*time.Millisecond || // the clock of file systems lags by a tick
		late > time.Second || !sums.ModTime().After(whole.End) {
		return
	}
	views := Span{Name: "views", Begin: whole.End, End: sums.ModTime().UTC()}
	whole.End = views.End
	t.Spans = append(t.Spans, views)
}
