package serve

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"markmill/cmd/api/status"
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
	body = &homeBody{}
	for _, item := range live {
		body.Live = append(body.Live, item.Entry)
	}
	s.survey.add(s, body, latest)
	due := s.due.look(s)
	for _, rows := range [][]homeRow{body.Rows, body.Idle} {
		for i := range rows {
			rows[i].Due = due[rows[i].Notebook]
			body.Clock = body.Clock || rows[i].Due != nil
		}
	}
	body.Going, body.Failed = s.catching.state()
	return body, nil
}

// survey keeps the states of the outputs in the checkout. They are found again in the background when Home is looked
// at and they are older than fresh: a large repository takes longer than a page may.
type survey struct {
	mutex   sync.Mutex
	looking bool
	at      time.Time
	states  map[string]status.Output // by path of the source
	err     error
}

const (
	fresh     = 3 * time.Second
	firstLook = 400 * time.Millisecond // that the first page waits for the states
)

// look starts a survey unless one goes on or the last is fresh.
func (v *survey) look(s *server) (done chan struct{}) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if s.repo == nil || v.looking || time.Since(v.at) < fresh {
		return nil
	}
	v.looking, done = true, make(chan struct{})
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		found, err := status.Of(ctx, s.repo, status.Options{Store: s.store})
		states := map[string]status.Output{}
		if err == nil {
			for _, o := range found.ForJSON().Outputs {
				name := cmp.Or(o.Source, o.Path)
				if old, have := states[name]; !have || worse(o.State, old.State) {
					states[name] = o
				}
			}
		}
		v.mutex.Lock()
		defer v.mutex.Unlock()
		v.looking, v.at, v.states, v.err = false, time.Now(), states, err
	}()
	return done
}

// worse reports whether a state needs a person more than another.
func worse(a, b review.State) bool { return a != review.Current && b == review.Current }

// add makes the rows of Home.
func (v *survey) add(s *server, body *homeBody, latest []index.Latest) {
	done := v.look(s)
	v.mutex.Lock()
	first := v.at.IsZero()
	v.mutex.Unlock()
	if first && done != nil {
		select {
		case <-done:
		case <-time.After(firstLook):
		}
	}
	v.mutex.Lock()
	defer v.mutex.Unlock()
	body.Surveyed = v.at
	if v.err != nil {
		body.Trouble = v.err.Error()
	}
	seen := map[string]bool{}
	for _, n := range latest {
		row := homeRow{Notebook: n.Notebook, Last: &n.Run}
		v.state(&row)
		seen[n.Notebook] = true
		body.Rows = append(body.Rows, row)
	}
	for name := range v.states {
		if !seen[name] {
			row := homeRow{Notebook: name}
			v.state(&row)
			body.Rows = append(body.Rows, row)
		}
	}
	for i := range body.Rows {
		body.Rows[i].need()
		if body.Rows[i].Needs != "" {
			body.Needing++
		}
		if body.Rows[i].State == review.Outdated {
			body.Outdated++
		}
	}
	slices.SortFunc(body.Rows, func(a, b homeRow) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.Notebook, b.Notebook))
	})
	body.All = len(body.Rows)
	at := slices.IndexFunc(body.Rows, func(r homeRow) bool { return r.rank == neverRun })
	if at >= 0 {
		body.Rows, body.Idle = body.Rows[:at], body.Rows[at:]
	}
}

func (v *survey) state(row *homeRow) {
	if o, found := v.states[row.Notebook]; found {
		row.State, row.Why, row.Runnable = o.State, o.Why, o.Source != ""
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
