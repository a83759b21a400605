package serve

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"markmill/engine/queue"
	"markmill/engine/queue/desk"
	"markmill/notebooks/codec"
	"markmill/render/plain"
)

// jobsLength is how many jobs a page has, and jobsMost how many it may have.
const (
	jobsLength = 50
	jobsMost   = 500
)

// jobRow is a job on a page.
type jobRow struct {
	queue.Job
	Expired bool   // its lease is over
	Waits   string // why no worker takes it
}

// Class is the class of the state.
func (r jobRow) Class() string {
	switch {
	case r.Expired, r.State == queue.StateUnapproved:
		return "timeout"
	case r.State.Leased():
		return "edit"
	case r.State == queue.StateCompleted:
		return "pass"
	case r.State == queue.StateFailed, r.State == queue.StateDead:
		return "fail"
	}
	return "skip"
}

// Words are the state for people.
func (r jobRow) Words() string {
	if r.Expired {
		return "lease expired"
	}
	return string(r.State)
}

// Says is what an operator wants to know besides the state.
func (r jobRow) Says() string {
	switch {
	case r.Expired:
		return "its worker is silent; another one will go on"
	case r.Reason != "":
		return plain.OneLine(r.Reason)
	case r.Waits != "":
		return r.Waits
	case r.State == queue.StateUnapproved:
		return "its run asks for an approval"
	case r.State == queue.StateHeld:
		return "after " + strings.Join(r.Before(), ", ")
	case r.State == queue.StateEnqueued && r.NotBefore.After(time.Now()):
		return "not before " + r.NotBefore.UTC().Format("15:04:05Z")
	}
	return ""
}

// waits says why no worker takes a job that waits.
func (r *jobRow) waits(got *desk.Jobs) {
	if r.State != queue.StateEnqueued {
		return
	}
	if slices.ContainsFunc(got.Paused, func(p queue.Pause) bool { return p.Queue == r.Queue }) {
		r.Waits = "its queue is paused"
	} else if !slices.ContainsFunc(got.Workers, func(w queue.Attendance) bool {
		return !w.Gone() && slices.Contains(w.Queues, r.Queue) && queue.Offers(w.Labels, r.Labels)
	}) {
		r.Waits = "no worker is there that may take it"
	}
}

// workerRow is a worker with the jobs that it has.
type workerRow struct {
	queue.Attendance
	Jobs []jobRow
}

// Class is the class of the worker's state.
func (w workerRow) Class() string {
	switch {
	case w.Ended:
		return "skip"
	case w.Gone():
		return "timeout"
	case len(w.Jobs) > 0:
		return "edit"
	}
	return "pass"
}

// Words are the worker's state for people.
func (w workerRow) Words() string {
	switch {
	case w.Ended:
		return "ended"
	case w.Gone():
		return "silent"
	case len(w.Jobs) > 0:
		return "at work"
	}
	return "waits"
}

// queueRow is a queue that can be paused.
type queueRow struct {
	Name    string
	Paused  *queue.Pause
	Workers int // that are there
}

// tab is a link that lists the jobs of a state.
type tab struct {
	Words, Address string
	Count          int // -1 is not known
	Here           bool
}

// jobsBody is the data of the list of jobs.
type jobsBody struct {
	Query          url.Values
	None           bool // there is no queue
	Problem        string
	Tabs           []tab
	Jobs           []jobRow
	From, Total    int
	Looked         int // see desk.Jobs
	Earlier, Later string
	Workers        []workerRow // that are there, or have jobs
	Gone           []workerRow
	Queues         []queueRow
	Pulse          string
}

// Until is the number of the last job on the page.
func (b *jobsBody) Until() int { return b.From + len(b.Jobs) - 1 }

// jobsFilter reads the fields of the list's form.
func jobsFilter(q url.Values) (f queue.Filter, err error) {
	f = queue.Filter{Queue: strings.TrimSpace(q.Get("queue")), Notebook: strings.TrimSpace(q.Get("notebook")),
		Limit: jobsLength}
	for _, word := range q["state"] {
		if word == "" {
			continue
		}
		if !slices.Contains(queue.States, queue.State(word)) {
			return f, problem("%q is no state of a job", word)
		}
		f.States = append(f.States, queue.State(word))
	}
	if f.Queue != "" {
		if err := queue.CheckName("queue", f.Queue); err != nil {
			return f, err
		}
	}
	if text := q.Get("limit"); text != "" {
		if f.Limit, err = strconv.Atoi(text); err != nil || f.Limit < 1 || f.Limit > jobsMost {
			return f, problem("limit %s: between 1 and %d", text, jobsMost)
		}
	}
	if text := q.Get("skip"); text != "" {
		if f.Skip, err = strconv.Atoi(text); err != nil || f.Skip < 0 || f.Skip > 1<<30 {
			return f, problem("%q is no number of jobs", text)
		}
	}
	return f, nil
}

// jobs lists jobs and workers. With pulse it answers with a word that changes when the page has.
func (s *server) jobs(w http.ResponseWriter, r *http.Request) {
	pulse := r.URL.Query().Has("pulse")
	if felt, ok := s.pulses.felt(r.URL.RawQuery); ok && pulse {
		give(w, "text/plain; charset=utf-8", []byte(felt))
		return
	}
	b, err := s.jobsBody(r)
	if err != nil {
		s.failed(w, r, http.StatusServiceUnavailable, err)
		return
	}
	if pulse {
		s.pulses.keep(r.URL.RawQuery, b.Pulse)
		give(w, "text/plain; charset=utf-8", []byte(b.Pulse))
		return
	}
	s.page(w, r, "jobs", "Jobs", b)
}

// pulses keeps pulses for a moment: many may look at the same list.
type pulses struct {
	mutex sync.Mutex
	kept  map[string]keptPulse // by query
}

type keptPulse struct {
	word string
	at   time.Time
}

const (
	pulseTime   = 2 * time.Second
	mostQueries = 100
)

func (p *pulses) felt(query string) (string, bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	one, found := p.kept[query]
	return one.word, found && time.Since(one.at) < pulseTime
}

func (p *pulses) keep(query, word string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.kept == nil || len(p.kept) >= mostQueries {
		p.kept = map[string]keptPulse{}
	}
	p.kept[query] = keptPulse{word, time.Now()}
}

// askJobs asks for jobs. Where there is no queue there are none.
func (s *server) askJobs(ctx context.Context, f queue.Filter) (*desk.Jobs, error) {
	got, err := inquire(ctx, s, func(ctx context.Context, d desk.Desk) (*desk.Jobs, error) { return d.Jobs(ctx, f) })
	if err != nil {
		got = &desk.Jobs{}
	}
	return got, err
}

// askAlerts asks for alerts. Where there is no queue there are none.
func (s *server) askAlerts(ctx context.Context, most int) (*desk.Alerts, error) {
	got, err := inquire(ctx, s, func(ctx context.Context, d desk.Desk) (*desk.Alerts, error) {
		return d.Alerts(ctx, most)
	})
	if err != nil {
		got = &desk.Alerts{}
	}
	return got, err
}

func (s *server) jobsBody(r *http.Request) (*jobsBody, error) {
	b := &jobsBody{Query: r.URL.Query()}
	f, err := jobsFilter(b.Query)
	if err != nil {
		b.Problem = err.Error()
		f = queue.Filter{Limit: jobsLength}
	}
	got, err := s.askJobs(r.Context(), f)
	if err != nil {
		b.None = errors.Is(err, errNoQueue)
		if b.None {
			err = nil
		}
		return b, err
	}
	b.Total, b.Looked, b.From = got.Total, got.Looked, f.Skip+1
	for _, job := range got.Jobs {
		b.Jobs = append(b.Jobs, jobRow{Job: job, Expired: job.Expired(got.Workers)})
	}
	if f.Skip > 0 {
		b.Later = pageAddress(r.URL, max(0, f.Skip-f.Limit))
	}
	if len(got.Jobs) == f.Limit && (f.Notebook != "" || f.Skip+f.Limit < got.Total) {
		b.Earlier = pageAddress(r.URL, f.Skip+f.Limit)
	}
	for i := range b.Jobs {
		b.Jobs[i].waits(got)
	}
	b.tabs(r.URL, got, f)
	b.attend(got, f)
	b.Pulse = b.pulse()
	return b, nil
}

// tabs are the states with their counts.
func (b *jobsBody) tabs(at *url.URL, got *desk.Jobs, f queue.Filter) {
	all := 0
	for i, state := range desk.Counted {
		all += got.Counts[i]
		b.Tabs = append(b.Tabs, tab{Words: string(state), Count: got.Counts[i],
			Here: len(f.States) == 1 && f.States[0] == state})
	}
	b.Tabs = slices.Insert(b.Tabs, 0, tab{Words: "all", Count: all, Here: len(f.States) == 0})
	for i := range b.Tabs {
		q := at.Query()
		q.Del("skip")
		q.Del("state")
		if i > 0 {
			q.Set("state", b.Tabs[i].Words)
		}
		b.Tabs[i].Address = strings.TrimSuffix(at.Path+"?"+q.Encode(), "?")
	}
}

// attend fills in the workers with what they have, and the queues.
func (b *jobsBody) attend(got *desk.Jobs, f queue.Filter) {
	queues := map[string]*queueRow{}
	add := func(name string) *queueRow {
		if queues[name] == nil {
			queues[name] = &queueRow{Name: name}
		}
		return queues[name]
	}
	add(queue.DefaultQueue)
	for _, w := range got.Workers {
		row := workerRow{Attendance: w}
		for _, job := range got.Leases {
			if job.Worker == w.Name {
				row.Jobs = append(row.Jobs, jobRow{Job: job, Expired: job.Expired(got.Workers)})
			}
		}
		for _, name := range w.Queues {
			if q := add(name); !w.Gone() {
				q.Workers++
			}
		}
		if w.Gone() && len(row.Jobs) == 0 {
			b.Gone = append(b.Gone, row)
		} else {
			b.Workers = append(b.Workers, row)
		}
	}
	for _, job := range got.Jobs {
		add(job.Queue)
	}
	for i := range got.Paused {
		add(got.Paused[i].Queue).Paused = &got.Paused[i]
	}
	if f.Queue != "" {
		add(f.Queue)
	}
	for _, q := range queues {
		b.Queues = append(b.Queues, *q)
	}
	slices.SortFunc(b.Queues, func(a, c queueRow) int { return strings.Compare(a.Name, c.Name) })
	slices.SortFunc(b.Workers, func(a, c workerRow) int { return strings.Compare(a.Name, c.Name) })
	slices.SortFunc(b.Gone, func(a, c workerRow) int { return c.Seen.Compare(a.Seen) })
}

// pulse is a digest of what somebody looks at the page for; heartbeats are no part of it.
func (b *jobsBody) pulse() string {
	h := fnv.New64a()
	for _, j := range b.Jobs {
		fmt.Fprint(h, j.ID, j.Words(), j.Step, j.Attempts, j.Finished, j.Says(), "\n")
	}
	for _, w := range slices.Concat(b.Workers, b.Gone) {
		fmt.Fprint(h, w.Name, w.Words(), len(w.Jobs), "\n")
	}
	fmt.Fprint(h, b.Tabs, b.Total)
	for _, q := range b.Queues {
		fmt.Fprint(h, q.Name, q.Paused != nil, q.Workers)
	}
	return strconv.FormatUint(h.Sum64(), 36)
}

// submitted is what the form of a new run says of the job.
type submitted struct {
	Notebook   string               `json:"notebook"`
	Output     string               `json:"output"`
	Parameters map[string]codec.Raw `json:"parameters"`
	Queue      string               `json:"queue"`
	Priority   string               `json:"priority"`
	Labels     []string             `json:"labels"`
}

// enqueue submits a job and returns its id.
func (s *server) enqueue(ctx context.Context, in *submitted, values map[string]string) (string, error) {
	command := []string{"submit", "--json"}
	if in.Queue != "" {
		command = append(command, "--queue="+in.Queue)
	}
	if in.Priority != "" {
		command = append(command, "--priority="+in.Priority)
	}
	for _, label := range in.Labels {
		if strings.Contains(label, ",") {
			return "", problem("%q is no label", label)
		}
		command = append(command, "--label="+label)
	}
	args, err := s.arguments(append(command, s.Queue...), in.Notebook, in.Output, values)
	if err != nil {
		return "", err
	}
	doc, err := s.program.Document(ctx, args...)
	if err != nil {
		return "", err
	}
	var made struct {
		Job struct {
			ID string `json:"id"`
		} `json:"job"`
	}
	if err := codec.Unmarshal(doc, &made); err != nil || made.Job.ID == "" {
		return "", problem("markmill queue submit has not said which job it made")
	}
	return made.Job.ID, nil
}

// submit puts the run that the form asks for into a queue.
func (s *server) submit(w http.ResponseWriter, r *http.Request) {
	b := entered(r.PostForm)
	in := &submitted{Notebook: b.Notebook, Output: b.Output, Queue: b.Queue, Priority: b.Priority,
		Labels: strings.FieldsFunc(b.Labels, func(c rune) bool { return c == ',' || c == ' ' })}
	id, err := s.enqueue(r.Context(), in, b.Values)
	if err != nil {
		b.Problem = err.Error()
		s.showForm(w, r, http.StatusConflict, b)
		return
	}
	http.Redirect(w, r, "/jobs/"+id, http.StatusSeeOther)
}

var (
	cancelJob   = withReason("jobs", "cancel")
	retryJob    = withReason("jobs", "retry")
	denyJob     = withReason("jobs", "deny")
	pauseQueue  = withReason("jobs", "pause")
	resumeQueue = withReason("jobs", "resume")
)

func approveJob(id string, form url.Values) ([]string, error) {
	return []string{"jobs", "approve", "--comment=" + strings.TrimSpace(form.Get("reason")), "--", id}, nil
}

// fetch fetches the record of a job. The command ends as the run did, so its document says that it is done.
func (s *server) fetch(ctx context.Context, id string) error {
	if err := queue.CheckName("the name", id); err != nil {
		return err
	}
	_, err := s.program.Document(ctx, append([]string{"jobs", "fetch", "--json"}, append(slices.Clone(s.Queue), "--",
		id)...)...)
	return err
}

// doQueue runs the command of an action on a job or a queue.
func (s *server) doQueue(ctx context.Context, id string, form url.Values, a action) error {
	if err := queue.CheckName("the name", id); err != nil {
		return err
	}
	return s.do(ctx, id, form, func(id string, form url.Values) ([]string, error) {
		args, err := a(id, form)
		if err != nil {
			return nil, err
		}
		return append(append(slices.Clone(args[:2]), s.Queue...), args[2:]...), nil
	})
}

// actJob does what a form of a job's page asks for, and shows the job.
func (s *server) actJob(a action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		if err := s.doQueue(r.Context(), id, r.PostForm, a); err != nil {
			s.failed(w, r, http.StatusConflict, err)
			return
		}
		http.Redirect(w, r, "/jobs/"+id, http.StatusSeeOther)
	}
}

// fetchJob fetches the record of a job, and shows its run.
func (s *server) fetchJob(w http.ResponseWriter, r *http.Request) {
	if err := s.fetch(r.Context(), r.PathValue("id")); err != nil {
		s.failed(w, r, http.StatusConflict, err)
		return
	}
	http.Redirect(w, r, "/jobs/"+r.PathValue("id"), http.StatusSeeOther)
}

// actQueue does what a form of the list asks for.
func (s *server) actQueue(a action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := s.doQueue(r.Context(), r.PathValue("id"), r.PostForm, a); err != nil {
			s.failed(w, r, http.StatusConflict, err)
			return
		}
		http.Redirect(w, r, "/jobs", http.StatusSeeOther)
	}
}
