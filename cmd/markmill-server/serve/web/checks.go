package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"markmill/cmd/markmill-server/queue/client"
	"markmill/engine/queue"
	"markmill/render/digest"
	"markmill/runs/index"
)

const (
	checksTime  = 30 * 24 * time.Hour // that the strips show
	mostChanges = 100
	mostAlerts  = 50
	alertsTime  = 5 * time.Second
)

// checkRow is a check, or the runs of a notebook.
type checkRow struct {
	digest.Row
	Muted *queue.Mute
}

// Class is the class of the state.
func (r checkRow) Class() string { return checkClass(r.State) }

func checkClass(state string) string {
	if state == "ok" {
		return "pass"
	}
	return classOf(state)
}

// Name is that of the check.
func (r checkRow) Name() string { return digest.Name(r.Check) }

// Up, Want, P95 and Left are figures for people.
func (r checkRow) Up() string { return digest.Percent(r.Uptime) }

func (r checkRow) Slow() string { return digest.Millis(r.P95) }

func (r checkRow) Rest() string {
	if r.Level.Left == nil {
		return ""
	}
	return digest.Left(&r.Level)
}

// Wants are the objectives for people.
func (r checkRow) Wants() string {
	var words []string
	if r.UptimeObjective != nil {
		words = append(words, digest.Percent(r.UptimeObjective))
	}
	if r.P95Objective != nil {
		words = append(words, "p95 "+digest.Millis(r.P95Objective))
	}
	return strings.Join(words, ", ")
}

// Violated reports whether an objective is.
func (r checkRow) Violated() bool { return r.Met != nil && !*r.Met }

// Parts are the parts of the strip: class and words of each.
func (r checkRow) Parts() (list []stripPart) {
	for i, state := range r.Strip {
		from := time.Now().Add(-checksTime + time.Duration(i)*checksTime/digest.Parts)
		list = append(list, stripPart{checkClass(state), cmp.Or(state, "not known"), from.UTC().Format("2 Jan 15:04")})
	}
	for i := range list {
		if r.Strip[i] == "" {
			list[i].Class = "gone"
		}
	}
	return list
}

// Story says the strip to those who do not see it.
func (r checkRow) Story() string {
	counts := map[string]int{}
	for _, state := range r.Strip {
		counts[cmp.Or(state, "not known")]++
	}
	words := fmt.Sprintf("the last 30 days in %d parts:", digest.Parts)
	for _, state := range []string{"ok", "warn", "critical", "failed", "error", "not known"} {
		if counts[state] > 0 {
			words += fmt.Sprintf(" %d %s", counts[state], state)
		}
	}
	return words
}

type stripPart struct{ Class, State, From string }

// checkedNotebook is a notebook with its checks.
type checkedNotebook struct {
	Notebook string
	Counts   string
	Rows     []checkRow
	Muted    *queue.Mute // as a whole
	Runnable bool        // it is there, so that it can be muted
}

// checkChange is a transition.
type checkChange struct {
	digest.Change
	Notebook string
}

// Class is the class of the new state.
func (c checkChange) Class() string { return checkClass(c.State) }

// Name is that of the check.
func (c checkChange) Name() string { return digest.Name(c.Check) }

// muting is what a page shows of a mute, and the form for it.
type muting struct {
	Frame           *frame
	Notebook, Check string
	Muted           *queue.Mute
	Able            bool // it can be muted
}

func newMuting(f *frame, notebook, check string, m *queue.Mute, able bool) muting {
	return muting{f, notebook, check, m, able}
}

// receiptClass is the class of the state of an alert at a target.
func receiptClass(state string) string {
	switch state {
	case queue.Delivered:
		return "pass"
	case queue.GivenUp:
		return "fail"
	case queue.Waiting:
		return "edit"
	}
	return "skip"
}

// checksBody is the data of the page of the checks.
type checksBody struct {
	Notebooks []checkedNotebook
	Changes   []checkChange
	Alerts    []*queue.Delivery
	Total     int // of the alerts
	Trouble   string
}

func (s *server) checks(w http.ResponseWriter, r *http.Request) error {
	b, err := s.checksBody(r.Context())
	if err != nil {
		return err
	}
	return s.page(w, r, "checks", "Checks", b)
}

// alerts are the alerts of the queue, newest first, and the active mutes.
type alerts struct {
	Alerts []*queue.Delivery
	Mutes  []queue.Mute
}

// askAlerts asks for alerts. Where there is no queue there are none.
func (s *server) askAlerts(ctx context.Context) (to alerts, err error) {
	to, err = withQueue(ctx, s, func(ctx context.Context, c *client.Client) (to alerts, err error) {
		if to.Alerts, err = c.Outbox(ctx); err == nil {
			to.Mutes, err = c.Muted(ctx, time.Now())
		}
		return to, err
	})
	if errors.Is(err, errNoQueue) {
		err = nil
	}
	return to, err
}

// checksBody has the notebooks with checks or objectives, the worst first, with what changed in 30 days, and who was
// told of it.
func (s *server) checksBody(ctx context.Context) (*checksBody, error) {
	b := &checksBody{}
	now := time.Now()
	var d *digest.Digest
	err := s.ask(ctx, func(x *index.Index) (err error) {
		d, err = digest.Make(s.store, x, now.Add(-checksTime), now)
		return err
	})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, alertsTime) // the checks are shown without it
	defer stop()
	sent, err := s.askAlerts(ctx)
	if err != nil {
		b.Trouble = err.Error()
	}
	b.Alerts, b.Total = sent.Alerts[:min(len(sent.Alerts), mostAlerts)], len(sent.Alerts)
	for _, n := range d.Notebooks {
		if !slices.ContainsFunc(n.Rows, func(r digest.Row) bool {
			return r.Check != "" || r.UptimeObjective != nil || r.P95Objective != nil
		}) {
			continue
		}
		path := path.Clean(n.Notebook) // as alerts have it
		one := checkedNotebook{Notebook: path, Counts: n.Counts(), Runnable: s.inside(path) == nil}
		for _, m := range sent.Mutes {
			if m.Notebook == path && m.Check == "" {
				one.Muted = &m
			}
		}
		for _, row := range n.Rows {
			r := checkRow{Row: row}
			for _, m := range sent.Mutes {
				if m.Notebook == path && m.Check == row.Check && m.Check != "" {
					r.Muted = &m
				}
			}
			one.Rows = append(one.Rows, r)
		}
		slices.SortStableFunc(one.Rows, func(a, b checkRow) int {
			return cmp.Or(digest.Severity(b.State)-digest.Severity(a.State), cmp.Compare(a.Check, b.Check))
		})
		b.Notebooks = append(b.Notebooks, one)
		for _, c := range n.Changes {
			b.Changes = append(b.Changes, checkChange{c, path})
		}
	}
	slices.SortStableFunc(b.Changes, func(a, b checkChange) int { return b.Time.Compare(a.Time) })
	b.Changes = b.Changes[:min(len(b.Changes), mostChanges)]
	return b, nil
}
