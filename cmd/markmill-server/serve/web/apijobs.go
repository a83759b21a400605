package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"markmill/cmd/markmill-server/queue/client"
	"markmill/cmd/markmill/schedule"
	"markmill/engine/queue"
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
