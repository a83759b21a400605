package web

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

	"markmill/cmd/internal/child"
	"markmill/cmd/markmill-server/queue/client"
	"markmill/engine/queue"
	"markmill/engine/queue/jetstream"
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
	Spec   *queue.Spec
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

// jobView is a job, with what came behind one of its entries.
type jobView struct {
	queue.Job
	Spec    *queue.Spec // of the first entry
	Last    uint64
	Events  []queue.Event
	Waits   []string        // why no worker takes it
	Worker  *queue.Presence // that has it
	Expired bool            // its lease is over, and nobody has taken it yet
	// Run is the newest run, with its journal and its files as far as they came in these entries.
	Run     runs.RunID
	Journal []byte
	Files   map[string]queue.File // by their paths in the record
}

// askJob asks for a job that an address names, and its entries behind a given one; 0 is the whole job.
func (s *server) askJob(ctx context.Context, id string, after uint64) (*jobView, error) {
	if err := queue.CheckName("the name", id); err != nil {
		return nil, refused(http.StatusNotFound, err)
	}
	return withQueue(ctx, s, func(ctx context.Context, c *client.Client) (*jobView, error) {
		list, last, err := c.Queue.Since(ctx, id, after)
		if err != nil {
			return nil, err
		}
		job, found, err := c.Queue.Current(ctx, id)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, jetstream.NoJob(id)
		}
		to := &jobView{Job: job, Last: last}
		for i := range list {
			to.add(&list[i])
		}
		if to.Waits, err = c.Queue.Waits(ctx, &job, time.Now()); err != nil || !job.State.Leased() {
			return to, err
		}
		all, err := c.Queue.Presence(ctx)
		to.Expired = job.Expired(all)
		if i := slices.IndexFunc(all, func(a queue.Presence) bool { return a.Name == job.Worker }); i >= 0 {
			to.Worker = &all[i]
		}
		return to, err
	})
}

func (n *jobView) add(e *queue.Entry) {
	if e.Spec != nil {
		n.Spec = e.Spec
	}
	n.Events = append(n.Events, e.Event())
	if e.Run != n.Run && e.Run != "" {
		n.Run, n.Journal, n.Files = e.Run, nil, map[string]queue.File{}
	}
	n.Journal = append(n.Journal, e.Journal...)
	for _, f := range e.Files {
		n.Files[f.Path] = f
	}
}

// job shows what happened to a job, and what it does.
func (s *server) job(w http.ResponseWriter, r *http.Request) error {
	got, err := s.askJob(r.Context(), r.PathValue("id"), 0)
	if err != nil {
		return err
	}
	b := &jobBody{jobRow: jobRow{Job: got.Job, Expired: got.Expired}, Spec: got.Spec, Holds: got.Waits,
		Live: !got.State.Ended()}
	var h history
	for i := range got.Events {
		b.Events = append(b.Events, h.say(&got.Events[i])...)
	}
	if got.Worker != nil {
		b.Worker = &workerRow{Presence: *got.Worker, Jobs: []jobRow{b.jobRow}}
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
		return err
	}
	b.Follow = "/jobs/" + b.ID + "/live?" + url.Values{"at": {position(0, b.Steps)}, "run": {string(got.Run)},
		"last": {strconv.FormatUint(got.Last, 10)}}.Encode()
	return s.page(w, r, "job", b.Notebook, b)
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
func (s *server) stepsOf(ctx context.Context, b *jobBody, got *jobView, folded *runs.Run) error {
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
	_, err := withQueue(ctx, s, func(ctx context.Context, c *client.Client) (_ struct{}, err error) {
		for i := range b.Steps[max(0, len(b.Steps)-mostTails):] {
			row := &b.Steps[max(0, len(b.Steps)-mostTails)+i]
			if row.Step == nil {
				continue
			}
			for _, name := range streamNames {
				f, found := got.Files[path.Join(row.Step.Dir, name)]
				if !found {
					continue
				}
				text, err := c.Queue.Tail(ctx, f, maxTail)
				if err != nil {
					return struct{}{}, err
				}
				row.Streams = append(row.Streams, streamTail{Name: name, Text: child.Plain(text),
					Skipped: f.Bytes - int64(len(text))})
			}
		}
		return struct{}{}, nil
	})
	return err
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
func (s *server) jobLive(w http.ResponseWriter, r *http.Request) error {
	j := &jobViewer{s: s, v: &viewer{}, id: r.PathValue("id"), folded: runs.NewRun()}
	defer j.leave()
	q := r.URL.Query()
	j.run = runs.RunID(q.Get("run"))
	j.v.begin(q.Get("at"))
	j.first, _ = strconv.ParseUint(q.Get("last"), 10, 64)                 // another one loads the page again
	if _, err := s.askJob(r.Context(), j.id, math.MaxInt64); err != nil { // a stream of no job would never end
		return err
	}
	return s.follow(w, r, jobEvery, func(to *stream) (bool, error) {
		j.v.to = to
		return j.poll(r.Context())
	})
}

// leave closes what is open of the record.
func (j *jobViewer) leave() {
	if j.v.journal != nil {
		j.v.journal.Close()
	}
}

// send sends an event without a place: the page is loaded again when its connection was lost.
func (j *jobViewer) send(kind string, data any) error { return j.v.to.event("", kind, data) }

// poll sends what has come. It returns true after the end of the job.
func (j *jobViewer) poll(ctx context.Context) (ended bool, err error) {
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
	if got.State.Ended() {
		return true, j.send("end", struct{}{})
	}
	return false, nil
}

func (j *jobViewer) state(got *jobView) error {
	row := jobRow{Job: got.Job, Expired: got.Expired}
	s := jobState{Class: row.Class(), Words: row.Words(), Step: got.Step, Worker: got.Job.Worker,
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
func (j *jobViewer) output(got *jobView) error {
	if j.run == "" || !got.State.Leased() {
		return nil
	}
	if j.v.record == nil {
		if j.v.record = j.s.liveRecord(j.run); j.v.record == nil {
			return nil
		}
		j.v.folded, j.v.journal = runs.NewRun(), j.v.record.Follow(0)
	}
	_ = addEvents(j.v.folded, j.v.journal) // its worker may have ended, and removed it
	return j.v.output()
}
