package web

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

	"golang.org/x/sync/errgroup"

	"markmill/cmd/markmill-server/queue/client"
	"markmill/engine/queue"
	"markmill/engine/queue/jetstream"
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
func (r *jobRow) waits(got *jobsFound) {
	if r.State != queue.StateEnqueued {
		return
	}
	if slices.ContainsFunc(got.Paused, func(p queue.Pause) bool { return p.Queue == r.Queue }) {
		r.Waits = "its queue is paused"
	} else if !slices.ContainsFunc(got.Workers, func(w queue.Presence) bool {
		return !w.Gone() && slices.Contains(w.Queues, r.Queue) && queue.Offers(w.Labels, r.Labels)
	}) {
		r.Waits = "no worker is there that may take it"
	}
}

// workerRow is a worker with the jobs that it has.
type workerRow struct {
	queue.Presence
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
	Looked         int // see jobsFound
	Earlier, Later string
	Workers        []workerRow // that are there, or have jobs
	Gone           []workerRow
	Queues         []queueRow
	Version        string
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

// jobs lists jobs and workers. With version it answers with a word that changes when the page has.
func (s *server) jobs(w http.ResponseWriter, r *http.Request) error {
	onlyVersion := r.URL.Query().Has("version")
	if known, ok := s.versions.get(r.URL.RawQuery); ok && onlyVersion {
		return give(w, "text/plain; charset=utf-8", []byte(known))
	}
	b, err := s.jobsBody(r)
	if err != nil {
		return refused(http.StatusServiceUnavailable, err)
	}
	if onlyVersion {
		s.versions.put(r.URL.RawQuery, b.Version)
		return give(w, "text/plain; charset=utf-8", []byte(b.Version))
	}
	return s.page(w, r, "jobs", "Jobs", b)
}

// versions keeps versions of lists for a moment: many may look at the same list.
type versions struct {
	mutex sync.Mutex
	kept  map[string]keptVersion // by query
}

type keptVersion struct {
	word string
	at   time.Time
}

const (
	versionTime = 2 * time.Second
	mostQueries = 100
)

func (p *versions) get(query string) (string, bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	one, found := p.kept[query]
	return one.word, found && time.Since(one.at) < versionTime
}

func (p *versions) put(query, word string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.kept == nil || len(p.kept) >= mostQueries {
		p.kept = map[string]keptVersion{}
	}
	p.kept[query] = keptVersion{word, time.Now()}
}

// countedStates are the states whose jobs are counted.
var countedStates = []queue.State{queue.StateHeld, queue.StateEnqueued, queue.StateUnapproved, queue.StateRunning,
	queue.StateCompleted, queue.StateFailed, queue.StateCanceled, queue.StateDead}

// mostLeases bounds the jobs that are shown with their workers.
const mostLeases = 500

// jobsFound are the jobs of a filter, with the workers, pauses and leases that an operator needs.
type jobsFound struct {
	Jobs    []queue.Job
	Total   int
	Looked  int // of Total, where the filter has a notebook; 0: at all
	Counts  map[queue.State]int
	Leases  []queue.Job // the jobs that workers have
	Workers []queue.Presence
	Paused  []queue.Pause
}

// askJobs asks for jobs. Where there is no queue there are none. It sends all its requests at once.
func (s *server) askJobs(ctx context.Context, f queue.Filter) (*jobsFound, error) {
	to := &jobsFound{}
	return withQueue(ctx, s, func(ctx context.Context, c *client.Client) (*jobsFound, error) {
		var group errgroup.Group
		group.Go(func() (err error) { to.Jobs, to.Total, err = c.Queue.List(ctx, f); return err })
		group.Go(func() (err error) { to.Paused, err = c.Queue.Paused(ctx); return err })
		group.Go(func() (err error) { to.Workers, err = c.Queue.Presence(ctx); return err })
		group.Go(func() (err error) {
			running := queue.Filter{States: []queue.State{queue.StateRunning}, Limit: mostLeases}
			to.Leases, _, err = c.Queue.List(ctx, running)
			return err
		})
		group.Go(func() (err error) { to.Counts, err = c.Queue.Counts(ctx, f.Queue); return err })
		err := group.Wait()
		if f.Notebook != "" {
			to.Looked = min(to.Total, jetstream.MostRead)
		}
		return to, err
	})
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
	b.fillWorkers(got, f)
	b.Version = b.version()
	return b, nil
}

// tabs are the states with their counts.
func (b *jobsBody) tabs(at *url.URL, got *jobsFound, f queue.Filter) {
	all := 0
	for _, state := range countedStates {
		all += got.Counts[state]
		b.Tabs = append(b.Tabs, tab{Words: string(state), Count: got.Counts[state],
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

// fillWorkers fills in the workers with what they have, and the queues.
func (b *jobsBody) fillWorkers(got *jobsFound, f queue.Filter) {
	queues := map[string]*queueRow{}
	add := func(name string) *queueRow {
		if queues[name] == nil {
			queues[name] = &queueRow{Name: name}
		}
		return queues[name]
	}
	add(queue.DefaultQueue)
	for _, w := range got.Workers {
		row := workerRow{Presence: w}
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

// version is a digest of what somebody looks at the page for; heartbeats are no part of it.
func (b *jobsBody) version() string {
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

// enqueue submits a job and returns its id.
func (s *server) enqueue(ctx context.Context, in *formBody) (string, error) {
	command := []string{"queue", "submit", "--json"}
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
	args, err := s.arguments(append(command, s.Queue...), in)
	if err != nil {
		return "", err
	}
	doc, err := s.program.Document(ctx, args...)
	if err != nil {
		return "", err
	}
	var made queue.Shown
	if err := codec.Unmarshal(doc, &made); err != nil || made.Job.ID == "" {
		return "", problem("markmill queue submit has not said which job it made")
	}
	return made.Job.ID, nil
}

// submit puts the run that the form asks for into a queue.
func (s *server) submit(w http.ResponseWriter, r *http.Request) error {
	return s.requested(w, r, true, func(b *formBody) error {
		id, err := s.enqueue(r.Context(), b)
		if err != nil {
			return err
		}
		return done(w, r, "/jobs/"+id, http.StatusCreated, map[string]string{"job": id})
	})
}

var (
	cancelJob   = withReason("queue", "cancel")
	retryJob    = withReason("queue", "retry")
	denyJob     = withReason("deny")
	pauseQueue  = withReason("queue", "pause")
	resumeQueue = withReason("queue", "unpause")
)

func approveJob(id string, form url.Values) ([]string, error) {
	return []string{"approve", "--comment=" + strings.TrimSpace(form.Get("reason")), "--", id}, nil
}

// inQueue does what a form asks for of a job or a queue, and shows a page, in which {id} stands for its name.
func (s *server) inQueue(page string, a action) handler {
	return s.actQueue(page, func(r *http.Request, id string) error {
		form, err := fields(r, []string{"reason"})
		if err != nil {
			return err
		}
		return s.do(r.Context(), id, form, a, s.Queue)
	})
}

// fetchJob fetches the record of a job. The command ends as the run did, so its document says that it is done.
func (s *server) fetchJob() handler {
	return s.actQueue("/jobs/{id}", func(r *http.Request, id string) error {
		args := append([]string{"queue", "fetch", "--json"}, s.Queue...)
		_, err := s.program.Document(r.Context(), append(args, "--", id)...)
		return err
	})
}

func (s *server) actQueue(page string, do func(r *http.Request, id string) error) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		id := r.PathValue("id")
		err := queue.CheckName("the name", id)
		if err == nil {
			err = do(r, id)
		}
		if err != nil {
			return refused(http.StatusConflict, err)
		}
		return done(w, r, strings.ReplaceAll(page, "{id}", id), http.StatusOK, map[string]bool{"done": true})
	}
}
