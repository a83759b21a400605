package serve

import (
	"bytes"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"time"

	"markmill/notebooks/codec"
	"markmill/runs"
	"markmill/runs/index"
)

// answer answers with JSON.
func answer(w http.ResponseWriter, code int, doc any) {
	text, err := codec.Indent(doc)
	if err != nil {
		code, text = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(text) // the reader may have gone
}

// apiError is the answer to a call that failed.
type apiError struct {
	Error string `json:"error"`
}

// apiFind is find for programs.
func (s *server) apiFind(w http.ResponseWriter, r *http.Request) bool {
	id, _, err := s.store.Find(r.PathValue("id"))
	if err == nil && string(id) != r.PathValue("id") {
		err = problem("%s is no whole id of a run", r.PathValue("id"))
	}
	if err != nil {
		answer(w, http.StatusNotFound, apiError{err.Error()})
	}
	return err == nil
}

// apiDocument answers with what a command prints of a run with --json: docs/schemas has its schema.
func (s *server) apiDocument(command ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.apiFind(w, r) {
			return
		}
		args := append(append([]string{}, command...), "--", r.PathValue("id"))
		doc, err := s.program.Document(r.Context(), args...)
		if err != nil {
			answer(w, http.StatusInternalServerError, apiError{err.Error()})
			return
		}
		give(w, "application/json", doc)
	}
}

// apiRuns lists runs, with the fields of the list's form.
func (s *server) apiRuns(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	f, _, err := filterOf(q, time.Now())
	if text := q.Get("limit"); err == nil && text != "" {
		if f.Limit, err = strconv.Atoi(text); err == nil && (f.Limit < 1 || f.Limit > 500) {
			err = problem("limit %s: between 1 and 500", text)
		}
	}
	if err != nil {
		answer(w, http.StatusBadRequest, apiError{err.Error()})
		return
	}
	var doc struct {
		Count int          `json:"count"`
		Runs  []index.Item `json:"runs"`
	}
	err = s.ask(r.Context(), func(x *index.Index) (err error) {
		if doc.Count, err = x.Count(f); err == nil {
			doc.Runs, err = x.List(f)
		}
		return err
	})
	if err != nil {
		answer(w, http.StatusInternalServerError, apiError{err.Error()})
		return
	}
	doc.Runs = append([]index.Item{}, doc.Runs...)
	answer(w, http.StatusOK, doc)
}

// apiNotebooks lists what Home shows.
func (s *server) apiNotebooks(w http.ResponseWriter, r *http.Request) {
	home, err := s.homeBody(r.Context())
	if err != nil {
		answer(w, http.StatusInternalServerError, apiError{err.Error()})
		return
	}
	type notebook struct {
		Path  string      `json:"path"`
		State string      `json:"state,omitzero"` // of its output, as markmill status says it
		Why   string      `json:"why,omitzero"`
		Needs string      `json:"needs,omitzero"` // what needs a person
		Last  *runs.Entry `json:"last,omitempty"`
	}
	list := []notebook{}
	for _, row := range slices.Concat(home.Rows, home.Idle) {
		list = append(list, notebook{row.Notebook, string(row.State), row.Why, row.Needs, row.Last})
	}
	answer(w, http.StatusOK, map[string]any{"notebooks": list})
}

// apiLaunch starts a run: notebook, output and parameters are in the body.
func (s *server) apiLaunch(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Notebook   string               `json:"notebook"`
		Output     string               `json:"output"`
		Parameters map[string]codec.Raw `json:"parameters"`
	}
	if err := body(r, &in); err != nil {
		answer(w, http.StatusBadRequest, apiError{err.Error()})
		return
	}
	values := map[string]string{}
	for name, value := range in.Parameters {
		values[name] = valueText(value)
	}
	id, err := s.start(r.Context(), in.Notebook, in.Output, values)
	if err != nil {
		answer(w, http.StatusConflict, apiError{err.Error()})
		return
	}
	answer(w, http.StatusCreated, map[string]runs.RunID{"run_id": id})
}

// apiAct does what a button of a run's page does. The body has the fields of its form, which are named.
func (s *server) apiAct(a action, names ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.apiFind(w, r) {
			return
		}
		form, err := fields(r, names)
		if err == nil {
			err = s.do(r.Context(), r.PathValue("id"), form, a)
		}
		if err != nil {
			answer(w, http.StatusConflict, apiError{err.Error()})
			return
		}
		answer(w, http.StatusOK, map[string]string{"run_id": r.PathValue("id")})
	}
}

// body reads the JSON of a request.
func body(r *http.Request, to any) error {
	var text bytes.Buffer
	if _, err := text.ReadFrom(r.Body); err != nil {
		return problem("the body cannot be read: %v", err)
	}
	if err := codec.UnmarshalKnown(text.Bytes(), to); err != nil {
		return problem("the body is no JSON of the right form: %v", err)
	}
	return nil
}

// metrics answers in the text format of Prometheus.
func (s *server) metrics(w http.ResponseWriter, r *http.Request) {
	rows, err := s.query(r, "SELECT status, count(*) FROM runs GROUP BY status ORDER BY status")
	if err != nil {
		http.Error(w, "the records cannot be read", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	fmt.Fprintln(w, "# HELP markmill_runs Runs that are kept, by status.\n# TYPE markmill_runs gauge")
	for _, row := range rows {
		fmt.Fprintf(w, "markmill_runs{status=%q} %s\n", text(row[0]), row[1])
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	for _, m := range []struct {
		name, help string
		value      any
	}{
		{"markmill_serve_streams", "Pages that follow a run.", s.watching.Load()},
		{"markmill_serve_uptime_seconds", "Time since the workbench began.", int64(time.Since(s.began).Seconds())},
		{"markmill_serve_goroutines", "Goroutines of the workbench.", runtime.NumGoroutine()},
		{"markmill_serve_heap_bytes", "Bytes of the heap in use.", mem.HeapInuse},
	} {
		fmt.Fprintf(w, "# HELP %[1]s %[2]s\n# TYPE %[1]s gauge\n%[1]s %[3]v\n", m.name, m.help, m.value)
	}
}
