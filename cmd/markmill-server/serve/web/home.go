package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"markmill/cmd/internal/status"
	"markmill/render/review"
	"markmill/runs"
	"markmill/runs/index"
)

const (
	stripLength = 30 // runs in the strip of a notebook
	homeLength  = 50 // notebooks on Home, first those that need a person, unless all are asked for
)

// homeRow is a notebook on Home.
type homeRow struct {
	Notebook string
	State    review.State // of its output; "" is not known
	Why      string
	Last     *runs.Entry // nil: never run here
	Strip    []stripMark
	Passed   int    // of the runs of the strip
	Shown    int    // runs of the strip
	Needs    string // what needs a person; "" nothing
	Runnable bool   // the file is there
	Due      *scheduledRow
	rank     int
}

// stripMark are the runs of one class in a strip, as the path of a picture: a picture of few paths is made and sent
// ten times as fast as an element for each run.
type stripMark struct{ Class, Path string }

// strip draws the newest runs, the newest first, to the right end of the strip.
func (r *homeRow) strip(newest []runs.Status) {
	paths, classes := map[string]*strings.Builder{}, []string(nil)
	mark := func(class string, at int) {
		if paths[class] == nil {
			paths[class], classes = &strings.Builder{}, append(classes, class)
		}
		fmt.Fprintf(paths[class], "M%d 0h6v20h-6z", 8*at)
	}
	for i := range stripLength {
		if at := stripLength - 1 - i; i >= len(newest) {
			mark("gone", at)
		} else {
			mark(classOf(string(newest[i])), at)
			if newest[i].Passed() {
				r.Passed++
			}
		}
	}
	for _, class := range classes {
		r.Strip = append(r.Strip, stripMark{class, paths[class].String()})
	}
	r.Shown = len(newest)
}

// homeBody is the data of Home.
type homeBody struct {
	Rows     []homeRow // that have run here, or need a person
	Idle     []homeRow // the others
	All      int
	Hidden   int // notebooks that have run here and are not among Rows
	Needing  int
	Live     []runs.Entry
	Surveyed time.Time // when the states were found; zero: not yet
	Trouble  string    // why the states are not known
	Clock    bool      // one of them is scheduled
	Outdated int       // notebooks whose output is outdated
	Going    bool      // what is outdated is being run
	Failed   string    // why that failed the last time
}

// rowsOf are rows of one table of Home.
type rowsOf struct {
	Frame *frame
	Rows  []homeRow
	Clock bool
}

// cut leaves the first rows, so many at most.
func (b *homeBody) cut(most int) {
	if len(b.Rows) > most {
		b.Rows, b.Hidden = b.Rows[:most], len(b.Rows)-most
	}
}

func (s *server) home(w http.ResponseWriter, r *http.Request) error {
	body, err := s.homeBody(r.Context())
	if err != nil {
		return err
	}
	if !r.URL.Query().Has("all") {
		body.cut(homeLength)
	}
	err = s.ask(r.Context(), func(x *index.Index) error {
		for i := range body.Rows {
			newest, err := x.Statuses(body.Rows[i].Notebook, stripLength)
			if err != nil {
				return err
			}
			body.Rows[i].strip(newest)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.page(w, r, "home", "Notebooks", body)
}

func (s *server) homeBody(ctx context.Context) (body *homeBody, err error) {
	var latest []index.Latest
	var live []index.Item
	err = s.ask(ctx, func(x *index.Index) (err error) {
		if latest, err = x.Latest(); err == nil {
			live, err = x.List(index.Filter{Statuses: []runs.Status{runs.Running}, Limit: 20})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if s.repo != nil { // notebooks that lie elsewhere are among the runs
		latest = slices.DeleteFunc(latest, func(n index.Latest) bool {
			return !filepath.IsLocal(filepath.FromSlash(n.Notebook))
		})
	}
	body = &homeBody{}
	for _, item := range live {
		body.Live = append(body.Live, item.Entry)
	}
	states, at, err := s.states.get(fresh, firstLook, s.outputStates)
	if body.Surveyed = at; err != nil {
		body.Trouble = err.Error()
	}
	body.fill(latest, states)
	if due, _, _ := s.due.get(dueAgain, 0, s.scheduled); due != nil { // the page of the schedules has the error
		body.schedule(due.Rows)
	}
	body.Going, body.Failed = s.updating.state()
	return body, nil
}

// States of outputs are found again when Home is looked at and they are older than fresh; firstLook is the time that
// the first page waits for them.
const (
	fresh     = 3 * time.Second
	firstLook = 400 * time.Millisecond
)

// outputStates are the states of the outputs in the checkout, by the paths of their sources.
func (s *server) outputStates(ctx context.Context) (map[string]status.Output, error) {
	states := map[string]status.Output{}
	if s.repo == nil {
		return states, nil
	}
	found, err := status.Of(ctx, s.repo, status.Options{Store: s.store})
	if err != nil {
		return nil, err
	}
	for _, o := range found.ForJSON().Outputs {
		name := cmp.Or(o.Source, o.Path)
		if old, have := states[name]; !have || worse(o.State, old.State) {
			states[name] = o
		}
	}
	return states, nil
}

// background keeps something that takes longer to find than a page may take. It is found again when it is asked for and
// is old; meanwhile pages have what was found before.
type background[T any] struct {
	mutex   sync.Mutex
	finding chan struct{} // closed when it is found; nil: nobody looks
	at      time.Time     // when it was found; zero: never
	value   T
	err     error // why it was not found the last time
}

// findTime bounds the time in which something is found.
const findTime = 5 * time.Minute

// get returns what was found, and when. The first caller waits a moment for it.
func (b *background[T]) get(age, wait time.Duration, find func(context.Context) (T, error)) (T, time.Time, error) {
	b.mutex.Lock()
	if b.finding == nil && time.Since(b.at) >= age {
		b.finding = make(chan struct{})
		go b.find(b.finding, find)
	}
	first, done := b.at.IsZero(), b.finding
	b.mutex.Unlock()
	if first && wait > 0 {
		select {
		case <-done:
		case <-time.After(wait):
		}
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.value, b.at, b.err
}

func (b *background[T]) find(done chan struct{}, find func(context.Context) (T, error)) {
	defer close(done)
	ctx, stop := context.WithTimeout(context.Background(), findTime)
	defer stop()
	var value T
	var err error
	defer func() {
		if fault := recover(); fault != nil { // net/http only catches those of requests
			err = fmt.Errorf("this is a fault of Markmill: %v", fault)
		}
		b.mutex.Lock()
		defer b.mutex.Unlock()
		if b.finding, b.at, b.err = nil, time.Now(), err; err == nil {
			b.value = value
		}
	}()
	value, err = find(ctx)
}

// stale has it found again when it is asked for the next time.
func (b *background[T]) stale() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.at = time.Time{}
}

// worse reports whether a state needs a person more than another.
func worse(a, b review.State) bool { return a != review.Current && b == review.Current }

// fill makes the rows of Home.
func (b *homeBody) fill(latest []index.Latest, states map[string]status.Output) {
	add := func(row homeRow) {
		if o, found := states[row.Notebook]; found {
			row.State, row.Why, row.Runnable = o.State, o.Why, o.Source != ""
		}
		row.need()
		if row.Needs != "" {
			b.Needing++
		}
		if row.State == review.Outdated {
			b.Outdated++
		}
		b.Rows = append(b.Rows, row)
	}
	seen := map[string]bool{}
	for _, n := range latest {
		seen[n.Notebook] = true
		add(homeRow{Notebook: n.Notebook, Last: &n.Run})
	}
	for name := range states {
		if !seen[name] {
			add(homeRow{Notebook: name})
		}
	}
	slices.SortFunc(b.Rows, func(a, b homeRow) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.Notebook, b.Notebook))
	})
	b.All = len(b.Rows)
	at := slices.IndexFunc(b.Rows, func(r homeRow) bool { return r.rank == neverRun })
	if at >= 0 {
		b.Rows, b.Idle = b.Rows[:at], b.Rows[at:]
	}
}

// schedule adds when notebooks are due.
func (b *homeBody) schedule(due []scheduledRow) {
	for _, rows := range [][]homeRow{b.Rows, b.Idle} {
		for i := range rows {
			at := slices.IndexFunc(due, func(d scheduledRow) bool { return d.Notebook == rows[i].Notebook })
			if at >= 0 {
				rows[i].Due, b.Clock = &due[at], true
			}
		}
	}
}

// neverRun is the rank of what has never run here.
const neverRun = 7

// need says what needs a person, and how soon.
func (r *homeRow) need() {
	last := r.Last
	switch {
	case last != nil && last.Status == runs.Blocked:
		r.rank, r.Needs = 1, "blocked"
	case last != nil && last.Status == runs.Fail && last.Decision == "":
		r.rank, r.Needs = 2, "failed"
	case last != nil && (last.Status == runs.Interrupted || last.Status == runs.Damaged):
		r.rank, r.Needs = 3, string(last.Status)
	case r.State != "" && r.State != review.Current && r.State != review.Missing:
		r.rank, r.Needs = 4, string(r.State)
	case last != nil && last.Status == runs.Running:
		r.rank = 5
	case last != nil:
		r.rank = 6
	default:
		r.rank = neverRun
	}
}
