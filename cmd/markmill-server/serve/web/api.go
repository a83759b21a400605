package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"time"

	"markmill/cmd/internal/runview"
	"markmill/cmd/internal/views"
	"markmill/cmd/markmill-server/queue/client"
	"markmill/cmd/markmill/schedule"
	"markmill/cmd/markmill/verify"
	"markmill/engine/queue"
	"markmill/notebooks/codec"
	"markmill/render/digest"
	"markmill/runs"
	"markmill/runs/index"
)

// document answers with what a command prints with --json: docs/schemas has its schema.
func document(w http.ResponseWriter, name string, v any) error {
	text, err := views.Document(name, v)
	if err != nil {
		return err
	}
	return give(w, "application/json", text)
}

// apiRun answers with what markmill show --json prints.
func (s *server) apiRun(w http.ResponseWriter, r *http.Request) error {
	record, err := s.find(r)
	if err != nil {
		return err
	}
	run, _, err := record.Load()
	if err != nil {
		return err
	}
	doc, err := runview.Document(s.app, run, record.Path())
	if err != nil {
		return err
	}
	return document(w, "run", doc)
}

// apiVerification answers with what markmill verify --json prints.
func (s *server) apiVerification(w http.ResponseWriter, r *http.Request) error {
	if _, err := s.find(r); err != nil {
		return err
	}
	doc, _, err := verify.Document(s.app, r.PathValue("id"), "", false)
	if err != nil {
		return err
	}
	return document(w, "verify", doc)
}

// apiRuns lists runs, with the fields of the list's form.
func (s *server) apiRuns(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	f, _, err := filterOf(q, time.Now())
	if text := q.Get("limit"); err == nil && text != "" {
		if f.Limit, err = strconv.Atoi(text); err == nil && (f.Limit < 1 || f.Limit > 500) {
			err = problem("limit %s: between 1 and 500", text)
		}
	}
	if err != nil {
		return refused(http.StatusBadRequest, err)
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
		return err
	}
	doc.Runs = append([]index.Item{}, doc.Runs...)
	return answer(w, http.StatusOK, doc)
}

// apiNotebooks lists what Home shows.
func (s *server) apiNotebooks(w http.ResponseWriter, r *http.Request) error {
	home, err := s.homeBody(r.Context())
	if err != nil {
		return err
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
	return answer(w, http.StatusOK, map[string]any{"notebooks": list})
}

// metrics answers in the text format of Prometheus.
func (s *server) metrics(w http.ResponseWriter, r *http.Request) error {
	rows, err := s.query(r, "SELECT status, count(*) FROM runs GROUP BY status ORDER BY status")
	if err != nil {
		return err
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
	return nil
}

// apiJobRow is a job of the list.
type apiJobRow struct {
	queue.Job
	Expired bool `json:"expired"` // its lease is over, and no other worker has taken it yet
}

// apiWorker is a worker.
type apiWorker struct {
	queue.Worker
	Gone bool `json:"gone"` // it has ended, or was silent for longer than its leases last
}

// apiJobs lists jobs, with the fields of the list's form.
func (s *server) apiJobs(w http.ResponseWriter, r *http.Request) error {
	f, err := jobsFilter(r.URL.Query())
	if err != nil {
		return refused(http.StatusBadRequest, err)
	}
	got, err := s.askJobs(r.Context(), f)
	switch {
	case errors.Is(err, errNoQueue):
		got = &jobsFound{}
	case err != nil:
		return refused(http.StatusServiceUnavailable, err)
	}
	doc := struct {
		Count   int           `json:"count"`
		Jobs    []apiJobRow   `json:"jobs"`
		Workers []apiWorker   `json:"workers"`
		Paused  []queue.Pause `json:"paused"`
	}{got.Total, []apiJobRow{}, []apiWorker{}, append([]queue.Pause{}, got.Paused...)}
	for _, job := range got.Jobs {
		doc.Jobs = append(doc.Jobs, apiJobRow{job, job.Expired(got.Workers)})
	}
	for _, worker := range got.Workers {
		doc.Workers = append(doc.Workers, apiWorker{worker.Worker, worker.Gone()})
	}
	return answer(w, http.StatusOK, doc)
}

// apiJob answers with what markmill queue show --json prints.
func (s *server) apiJob(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := queue.CheckName("the name", id); err != nil {
		return refused(http.StatusNotFound, err)
	}
	doc, err := withQueue(r.Context(), s, func(ctx context.Context, c *client.Client) (queue.Shown, error) {
		return c.Document(ctx, id)
	})
	if err != nil {
		return err
	}
	return document(w, "job", doc)
}

// apiSchedules answers with what markmill schedule list --json prints.
func (s *server) apiSchedules(w http.ResponseWriter, r *http.Request) error {
	if s.repo == nil {
		return answer(w, http.StatusOK, map[string]any{"notebooks": []codec.Raw{}})
	}
	list, err := schedule.List(r.Context(), s.app)
	if err != nil {
		return err
	}
	return document(w, "schedule-list", list)
}

// apiChecks answers with what markmill health digest --since 30d --json prints, and what is muted.
func (s *server) apiChecks(w http.ResponseWriter, r *http.Request) error {
	now := time.Now()
	doc := struct {
		*digest.Digest
		Mutes []queue.Mute `json:"mutes"`
	}{Mutes: []queue.Mute{}}
	err := s.ask(r.Context(), func(x *index.Index) (err error) {
		doc.Digest, err = digest.Make(s.store, x, now.Add(-checksTime), now)
		return err
	})
	if err != nil {
		return err
	}
	sent, err := s.askAlerts(r.Context())
	if err != nil {
		return err
	}
	doc.Mutes = slices.Concat(doc.Mutes, sent.Mutes)
	return answer(w, http.StatusOK, doc)
}
