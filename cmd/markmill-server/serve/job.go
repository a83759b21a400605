package serve

import (
	"bytes"
	"context"
	"math"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"markmill/engine/queue"
	"markmill/engine/queue/desk"
	"markmill/notebooks/codec"
	"markmill/render/plain"
	"markmill/runs"
)

// jobEvery is how often a page that follows a job looks at it.
const jobEvery = 500 * time.Millisecond

// mostTails bounds the steps of a job whose output is fetched from the queue for its page: the last ones.
const mostTails = 20

// jobBody is the data of the page of a job.
type jobBody struct {
	jobRow
	Spec   desk.Spec
	Events []jobEvent
	Holds  []string // why no worker takes it
	Worker *workerRow
	Steps  []stepRow
	Causes []runs.Cause
	Live   bool   // it has not ended
	Follow string // address of what comes next
	HasRun bool   // its record is here
	// Contract is what its run asks an approval of; nil if it asks for none. Only a signed one counts if Signed.
	Contract *runs.ContractData
	Signed   bool
	Fetches  bool // it has ended, and left a record that is not here
}

// jobEvent is something that happened to a job, for people.
type jobEvent struct {
	Time  time.Time `json:"time"`
	Class string    `json:"class"`
	Words string    `json:"words"`
}

// history says what happened to a job. worker has it after each of the entries.
type history struct{ worker string }

// say makes the words of an entry; nil for one that says nothing to people.
func (h *history) say(e *queue.Event) (list []jobEvent) {
	one := jobEvent{Time: e.Time, Class: "skip", Words: string(e.Kind)}
	switch e.Kind {
	case queue.Recorded:
		if e.Step == "" {
			return nil
		}
		one.Class, one.Words = "edit", "step "+e.Step+" begins"
	case queue.Claimed:
		if h.worker != "" {
			list = append(list, jobEvent{e.Time, "timeout", "lease expired: worker " + h.worker + " was silent"})
		}
		one.Class, one.Words = "edit", "taken by worker "+e.Worker
		h.worker = e.Worker
	case queue.Released:
		one.Class, one.Words, h.worker = "timeout", "given back by worker "+e.Worker, ""
	case queue.Completed:
		one.Class, h.worker = "pass", ""
	case queue.Failed, queue.Dead:
		one.Class, h.worker = "fail", ""
	case queue.Canceled:
		h.worker = ""
	}
	if e.By != "" {
		one.Words += " by " + e.By
	}
	if e.Reason != "" {
		one.Words += ": " + e.Reason
	}
	one.Words = plain.Cut(plain.OneLine(one.Words), 2000)
	return append(list, one)
}

// askJob asks for a job that an address names.
func (s *server) askJob(ctx context.Context, id string, after uint64) (*desk.Job, error) {
	if err := queue.CheckName("the name", id); err != nil {
		return nil, err
	}
	return inquire(ctx, s, func(ctx context.Context, d desk.Desk) (*desk.Job, error) { return d.Job(ctx, id, after) })
}

// failedJob answers with why a job cannot be shown.
func (s *server) failedJob(w http.ResponseWriter, r *http.Request, err error) {
	s.failed(w, r, unavailable(err), err)
}

// job shows what happened to a job, and what it does.
func (s *server) job(w http.ResponseWriter, r *http.Request) {
	got, err := s.askJob(r.Context(), r.PathValue("id"), 0)
	if err != nil {
		s.failedJob(w, r, err)
		return
	}
	b := &jobBody{jobRow: jobRow{Job: got.Job, Expired: got.Expired}, Spec: got.Spec, Holds: got.Waits,
		Live: !got.Job.State.Ended()}
	var h history
	for i := range got.Events {
		b.Events = append(b.Events, h.say(&got.Events[i])...)
	}
	if got.Worker != nil {
		b.Worker = &workerRow{Attendance: *got.Worker, Jobs: []jobRow{b.jobRow}}
	}
	if got.Run != "" {
		_, err := os.Stat(s.store.Path(got.Run))
		b.HasRun = err == nil
	}
	b.Fetches = !b.Live && !b.HasRun && len(got.Files) > 0
	folded := runs.NewRun()
	addLines(folded, got.Journal)
	if b.State == queue.StateUnapproved {
		b.Contract, b.Signed = &folded.Contract, s.signed(folded)
	}
	b.Causes = folded.Causes()
	if err := s.stepsOf(r.Context(), b, got, folded); err != nil {
		s.failedJob(w, r, err)
		return
	}
	b.Follow = "/jobs/" + b.ID + "/live?" + url.Values{"at": {place(0, b.Steps)}, "run": {string(got.Run)},
		"last": {strconv.FormatUint(got.Last, 10)}}.Encode()
	s.page(w, r, "job", b.Notebook, b)
}

// addLines adds whole lines of a journal to what is known of a run. It is for looking at; queue fetch verifies.
func addLines(folded *runs.Run, journal []byte) {
	for line := range bytes.Lines(journal) {
		var event runs.Event
		if codec.Unmarshal(line, &event) != nil || folded.Add(event) != nil {
			return
		}
	}
}

// liveRecord is the record of a run that a worker of this store has; nil if none has it.
func (s *server) liveRecord(id runs.RunID) *runs.Record {
	stores, _ := filepath.Glob(filepath.Join(s.store.Dir, "queue", "workers", "*")) // the pattern is valid
	for _, dir := range stores {
		store := runs.Store{Dir: dir}
		if _, err := os.Stat(store.Path(id)); err == nil {
			return store.Record(id)
		}
	}
	return nil
}

// stepsOf fills in the steps of the job's newest run, with the ends of what they printed: from the record if it is on
// this machine, else from the queue, which has the output of a step when that has ended.
func (s *server) stepsOf(ctx context.Context, b *jobBody, got *desk.Job, folded *runs.Run) error {
	var record *runs.Record
	if got.Run != "" && b.HasRun {
		record = s.store.Record(got.Run)
	} else if got.Run != "" && b.Live {
		record = s.liveRecord(got.Run)
	}
	alive := b.State.Leased() && !b.Expired
	for _, step := range folded.Steps {
		if record != nil {
			b.Steps = append(b.Steps, newStepRow(record, step, alive))
			continue
		}
		row := stepRow{StepRecord: step, ID: step.Planned.ID}
		row.Class, row.Mark, row.Words = stepState(step, alive)
		b.Steps = append(b.Steps, row)
	}
	if record != nil {
		return nil
	}
	kept := map[string]queue.File{}
	for _, f := range got.Files {
		kept[f.Path] = f
	}
	var ask []queue.File
	at := map[string]*stepRow{}
	for i := range slices.Backward(b.Steps) {
		row := &b.Steps[i]
		if row.Step == nil || len(ask) >= mostTails*len(streamNames) {
			continue
		}
		for _, name := range streamNames {
			if f, found := kept[path.Join(row.Step.Dir, name)]; found {
				ask, at[f.Path] = append(ask, f), row
			}
		}
	}
	tails, err := inquire(ctx, s, func(ctx context.Context, d desk.Desk) ([]desk.Tail, error) {
		return d.Tails(ctx, ask)
	})
	if err != nil {
		return err
	}
	for _, t := range tails {
		row := at[t.Path]
		row.Streams = append(row.Streams, streamTail{Name: path.Base(t.Path), Text: screen(t.Text), Skipped: t.Skipped})
	}
	return nil
}

// jobState is what the page of a job shows of its state while it goes on.
type jobState struct {
	Class     string     `json:"class"`
	Words     string     `json:"words"`
	Step      string     `json:"step"`
	Worker    string     `json:"worker"`
	Heartbeat string     `json:"heartbeat"`
	Waits     string     `json:"waits"`
	Steps     []liveStep `json:"steps"`
}

// jobViewer follows a job for one browser.
type jobViewer struct {
	s      *server
	v      *viewer // writes, and follows the record of the run if a worker here has it; its record may be nil
	id     string
	last   uint64
	past   history
	run    runs.RunID
	folded *runs.Run
	sent   string
	first  uint64 // the last entry that the page has
	begun  bool
}

// jobLive answers with what happens to a job, and ends with it. A browser that lost its connection loads the page
// again.
func (s *server) jobLive(w http.ResponseWriter, r *http.Request) {
	if s.watching.Add(1) > maxWatching {
		s.watching.Add(-1)
		http.Error(w, "too many pages follow a run", http.StatusServiceUnavailable)
		return
	}
	defer s.watching.Add(-1)
	j := &jobViewer{s: s, v: &viewer{w: w, last: time.Now()}, id: r.PathValue("id"), folded: runs.NewRun()}
	defer j.leave()
	q := r.URL.Query()
	j.run = runs.RunID(q.Get("run"))
	j.v.begin(q.Get("at"))
	j.first, _ = strconv.ParseUint(q.Get("last"), 10, 64)                 // another one loads the page again
	if _, err := s.askJob(r.Context(), j.id, math.MaxInt64); err != nil { // a stream of no job would never end
		s.failedJob(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	ticker := time.NewTicker(jobEvery)
	defer ticker.Stop()
	for {
		if ended, err := j.look(r.Context()); err != nil || ended {
			return
		}
		select {
		case <-ticker.C:
		case <-r.Context().Done():
			return
		case <-s.closing:
			return
		}
	}
}

// leave closes what is open of the record.
func (j *jobViewer) leave() {
	if j.v.journal != nil {
		j.v.journal.Close()
	}
}

// send sends an event without a place: the page is loaded again when its connection was lost.
func (j *jobViewer) send(kind string, data any) error {
	text, err := codec.Marshal(data)
	if err != nil {
		return err
	}
	return j.v.raw("event: " + kind + "\ndata: " + string(text) + "\n\n")
}

// look sends what has come. It returns true after the end of the job.
func (j *jobViewer) look(ctx context.Context) (ended bool, err error) {
	got, err := j.s.askJob(ctx, j.id, j.last)
	if err != nil {
		return false, j.send("trouble", map[string]string{"words": plain.OneLine(err.Error())})
	}
	j.last = got.Last
	list := []jobEvent{}
	for i := range got.Events {
		list = append(list, j.past.say(&got.Events[i])...)
	}
	if got.Run != "" && got.Run != j.run || !j.begun && got.Last != j.first { // the page has less
		return true, j.send("end", struct{}{})
	}
	addLines(j.folded, got.Journal)
	if j.begun && len(list) > 0 {
		if err := j.send("happened", list); err != nil {
			return false, err
		}
	}
	j.begun = true
	if err := j.state(got); err != nil {
		return false, err
	}
	if err := j.output(got); err != nil {
		return false, err
	}
	if got.Job.State.Ended() {
		return true, j.send("end", struct{}{})
	}
	if time.Since(j.v.last) > keepAlive {
		return false, j.v.raw(": still here\n\n")
	}
	return false, nil
}

func (j *jobViewer) state(got *desk.Job) error {
	row := jobRow{Job: got.Job, Expired: got.Expired}
	s := jobState{Class: row.Class(), Words: row.Words(), Step: got.Job.Step, Worker: got.Job.Worker,
		Waits: plain.OneLine(strings.Join(got.Waits, "; ")), Steps: []liveStep{}}
	if got.Worker != nil {
		s.Heartbeat = got.Worker.Seen.UTC().Format("15:04:05Z")
	}
	for _, step := range j.folded.Steps {
		one := liveStep{ID: string(step.Planned.ID)}
		one.Class, one.Mark, one.Words = stepState(step, row.State.Leased() && !row.Expired)
		s.Steps = append(s.Steps, one)
	}
	text, err := codec.Marshal(s)
	if err != nil || string(text) == j.sent {
		return err
	}
	j.sent = string(text)
	return j.send("job", s)
}

// output sends what the steps print, as it comes, where the run's record is on this machine.
func (j *jobViewer) output(got *desk.Job) error {
	if j.run == "" || !got.Job.State.Leased() {
		return nil
	}
	if j.v.record == nil {
		if j.v.record = j.s.liveRecord(j.run); j.v.record == nil {
			return nil
		}
		j.v.folded, j.v.journal = runs.NewRun(), j.v.record.Follow(0)
	}
	for {
		event, found, err := j.v.journal.Ready()
		if err != nil || !found {
			break // its worker has ended, and removed it
		}
		if err := j.v.folded.Add(event); err != nil {
			return err
		}
	}
	return j.v.output()
}
