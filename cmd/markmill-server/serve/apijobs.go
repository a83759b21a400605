package serve

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"markmill/engine/queue"
	"markmill/engine/queue/desk"
	"markmill/notebooks/codec"
	"markmill/render/digest"
	"markmill/runs/index"
)

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
func (s *server) apiJobs(w http.ResponseWriter, r *http.Request) {
	f, err := jobsFilter(r.URL.Query())
	if err != nil {
		answer(w, http.StatusBadRequest, apiError{err.Error()})
		return
	}
	got, err := s.askJobs(r.Context(), f)
	if err != nil && !errors.Is(err, errNoQueue) {
		answer(w, http.StatusServiceUnavailable, apiError{err.Error()})
		return
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
	answer(w, http.StatusOK, doc)
}

// apiJob answers with what markmill queue show --json prints.
func (s *server) apiJob(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	err := queue.CheckName("the name", id)
	if err == nil && !s.hasQueue() {
		err = errNoQueue
	}
	if err != nil {
		answer(w, http.StatusNotFound, apiError{err.Error()})
		return
	}
	args := append(append([]string{"jobs", "show", "--json"}, s.Queue...), "--", id)
	doc, err := s.program.Document(r.Context(), args...)
	if err != nil {
		answer(w, http.StatusNotFound, apiError{err.Error()})
		return
	}
	give(w, "application/json", doc)
}

// apiSubmit puts a run into a queue.
func (s *server) apiSubmit(w http.ResponseWriter, r *http.Request) {
	in := &submitted{}
	if err := body(r, in); err != nil {
		answer(w, http.StatusBadRequest, apiError{err.Error()})
		return
	}
	values := map[string]string{}
	for name, value := range in.Parameters {
		values[name] = valueText(value)
	}
	id, err := s.enqueue(r.Context(), in, values)
	if err != nil {
		answer(w, http.StatusConflict, apiError{err.Error()})
		return
	}
	answer(w, http.StatusCreated, map[string]string{"job": id})
}

// fields reads the fields of a form from the JSON of a request, which has no others.
func fields(r *http.Request, names []string) (url.Values, error) {
	in := map[string]string{}
	err := body(r, &in)
	form := url.Values{}
	for name, value := range in {
		if form.Set(name, value); !slices.Contains(names, name) {
			return nil, problem("the body has the unknown member %q; known: %s", name, strings.Join(names, ", "))
		}
	}
	return form, err
}

// done answers a call that did something.
func done(w http.ResponseWriter, err error) {
	if err != nil {
		answer(w, http.StatusConflict, apiError{err.Error()})
		return
	}
	answer(w, http.StatusOK, map[string]bool{"done": true})
}

// apiActJob does what a button of a job or a queue does. The body has the fields of its form.
func (s *server) apiActJob(a action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		form, err := fields(r, []string{"reason"})
		if err == nil {
			err = s.doQueue(r.Context(), r.PathValue("id"), form, a)
		}
		done(w, err)
	}
}

// apiFetch fetches the record of a job.
func (s *server) apiFetch(w http.ResponseWriter, r *http.Request) {
	done(w, s.fetch(r.Context(), r.PathValue("id")))
}

// apiActOn does what a button of a schedule or a check does.
func (s *server) apiActOn(a action, names ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		form, err := fields(r, append(names, "notebook", "reason"))
		if err == nil {
			err = s.onNotebook(r.Context(), form, a)
		}
		done(w, err)
	}
}

// apiSchedules answers with what markmill schedule list --json prints.
func (s *server) apiSchedules(w http.ResponseWriter, r *http.Request) {
	if s.repo == nil {
		answer(w, http.StatusOK, map[string]any{"notebooks": []codec.Raw{}})
		return
	}
	doc, err := s.program.Document(r.Context(), "schedule", "list", "--json")
	if err != nil {
		answer(w, http.StatusInternalServerError, apiError{err.Error()})
		return
	}
	give(w, "application/json", doc)
}

// apiChecks answers with what markmill health digest --since 30d --json prints, and what is muted.
func (s *server) apiChecks(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	doc := struct {
		*digest.Digest
		Mutes []queue.Mute `json:"mutes"`
	}{Mutes: []queue.Mute{}}
	err := s.ask(r.Context(), func(x *index.Index) (err error) {
		doc.Digest, err = digest.Make(s.store, x, now.Add(-checksTime), now)
		return err
	})
	told := &desk.Alerts{}
	if err == nil {
		if told, err = s.askAlerts(r.Context(), 1); errors.Is(err, errNoQueue) {
			err = nil
		}
	}
	if err != nil {
		answer(w, http.StatusInternalServerError, apiError{err.Error()})
		return
	}
	doc.Mutes = slices.Concat(doc.Mutes, told.Mutes)
	answer(w, http.StatusOK, doc)
}
