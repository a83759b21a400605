package schedule

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
	_ "time/tzdata" // for machines without a time zone database; that of the system comes first

	"markmill/engine/worktree/object"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/params"
	"markmill/notebooks/schedule"
	"markmill/runs"
)

// State is what is known of the schedule of a notebook.
type State struct {
	Notebook string      `json:"notebook"` // path in the repository
	Cron     string      `json:"cron"`     // when another one stands in the notebook, it begins anew
	Timezone string      `json:"timezone"`
	Seen     time.Time   `json:"seen"`             // what was due up to here has been decided
	Waiting  []time.Time `json:"waiting,omitzero"` // due times that run when the run before them has ended
	Run      *Run        `json:"run,omitempty"`    // the newest
	Skipped  *Skip       `json:"skipped,omitempty"`
	Paused   *Pause      `json:"paused,omitempty"`
	Resumed  *Pause      `json:"resumed,omitempty"` // who ended the last pause, and why
}

// Listed is a scheduled notebook, as markmill schedule list --json prints it.
type Listed struct {
	Notebook string    `json:"notebook"`
	Cron     string    `json:"cron"`
	Timezone string    `json:"timezone"`
	Next     time.Time `json:"next,omitzero"` // none while it is paused
	State    *State    `json:"state,omitempty"`
	Error    string    `json:"error,omitzero"` // why it cannot run
}

// Run is the run of a due time.
type Run struct {
	Due    time.Time   `json:"due"`
	ID     string      `json:"id,omitzero"` // of the run, or of the job; "": it could not be planned
	Ended  bool        `json:"ended"`
	Status runs.Status `json:"status,omitzero"`
	Output string      `json:"output,omitzero"` // path in the repository
	Commit string      `json:"commit,omitzero"` // of its output; noted before the branch has it
	Error  string      `json:"error,omitzero"`  // why it did not begin, or its output was not committed
}

// Skip is a due time that did not run.
type Skip struct {
	Due time.Time `json:"due"`
	Why string    `json:"why"`
}

// Pause says who does not want the notebook to run, and why.
type Pause struct {
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	Time   time.Time `json:"time"`
}

const (
	// Grace is how late a due time may be decided and still count as on time.
	Grace = 10 * time.Minute
	// maxWaiting bounds the due times that wait with overlap: queue.
	maxWaiting = 100
)

// Look decides what was due up to now and returns the due time to run, the zero time for none. cancel says that the run
// that goes on is to be ended first; the due time then waits.
func (s *State) Look(spec *notebooks.Schedule, times Times, now time.Time) (due time.Time, cancel bool) {
	if s.Seen.IsZero() || s.Cron != spec.Cron || s.Timezone != spec.Timezone {
		s.Cron, s.Timezone, s.Seen, s.Waiting = spec.Cron, spec.Timezone, now, nil
	}
	if s.Paused != nil {
		s.Seen, s.Waiting = latest(s.Seen, now), nil
		return due, false
	}
	busy := s.Run != nil && !s.Run.Ended
	if newest := times.Newest(s.Seen, now, times.Zone); !newest.IsZero() { // none when the clock was set back
		s.Seen = newest
		why := ""
		switch {
		case spec.CatchUp == notebooks.CatchUpNone && now.Sub(newest) > Grace:
			why = "nobody looked in time (catch-up: none)"
		case !busy && len(s.Waiting) == 0:
			return newest.In(times.Zone), false
		case spec.Overlap == notebooks.OverlapSkip:
			why = "the run before it went on (overlap: skip)"
		case spec.Overlap == notebooks.OverlapCancel:
			s.Waiting = []time.Time{newest}
		case len(s.Waiting) == maxWaiting:
			why = "too many due times wait already"
		default:
			s.Waiting = append(s.Waiting, newest)
		}
		if why != "" {
			s.Skipped = &Skip{newest, why}
		}
	}
	if len(s.Waiting) == 0 {
		return due, false
	}
	if busy {
		return due, spec.Overlap == notebooks.OverlapCancel
	}
	due = s.Waiting[0].In(times.Zone)
	s.Waiting = slices.Delete(s.Waiting, 0, 1)
	return due, false
}

// Pause stops what would be due from now on.
func (s *State) Pause(by, reason string, now time.Time) {
	s.Paused, s.Resumed = &Pause{by, reason, now}, nil
}

// Resume begins anew: what was due in the meantime does not run.
func (s *State) Resume(by, reason string, now time.Time) {
	s.Paused, s.Waiting, s.Seen, s.Resumed = nil, nil, latest(s.Seen, now), &Pause{by, reason, now}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Where a store keeps the state of each scheduled notebook: Folder has a folder for each, and that has StateFile.
const (
	Folder    = "schedules"
	StateFile = "state.json"
)

// Wrote are the newest runs of the scheduled notebooks of a store, which leave outputs and commits in the repository
// when they have ended.
func Wrote(store string) (list []Run) {
	files, _ := filepath.Glob(filepath.Join(store, Folder, "*", StateFile)) // the pattern is valid
	for _, file := range files {
		var s State
		if data, err := os.ReadFile(file); err == nil && codec.Unmarshal(data, &s) == nil && s.Run != nil {
			list = append(list, *s.Run)
		}
	}
	return list
}

// Times are the due times of a schedule.
type Times struct {
	*schedule.Cron
	Zone *time.Location
}

// Next is the first due time after a time; zero for none.
func (t Times) Next(after time.Time) time.Time { return t.Cron.Next(after, t.Zone) }

// TimesOf reads the expression and the time zone of a schedule.
func TimesOf(s *notebooks.Schedule) (t Times, err error) {
	if t.Cron, err = schedule.Parse(s.Cron); err != nil {
		return t, err
	}
	// which is another one elsewhere
	if t.Zone, err = time.LoadLocation(s.Timezone); err != nil || s.Timezone == "Local" {
		return t, fmt.Errorf("timezone: %q is not in the time zone database", s.Timezone)
	}
	return t, nil
}

// Params are the parameters of a run that is due, as YAML.
func Params(s *notebooks.Schedule, due time.Time) string { return schedule.Expand(s.Params, due) }

// Given are the parameters of a run that is due.
func Given(s *notebooks.Schedule, due time.Time) ([]params.Given, error) {
	return params.ParseGiven("-y", "schedule: params", []byte(Params(s, due)))
}

// Output is the path of the output of a run that is due. It may have placeholders for parameters.
func Output(s *notebooks.Schedule, due time.Time) string { return schedule.ExpandPath(s.Output, due) }

// Check finds what keeps the schedule of a notebook from running: its time zone, its branch, its parameters.
func Check(nb *notebooks.Notebook, getenv func(string) (string, bool)) error {
	s := nb.Front.Schedule
	if s == nil {
		return nil
	}
	var errs notebooks.ErrorList
	add := func(key, msg, hint string) {
		at := s.At[key]
		errs = append(errs, &notebooks.Error{Kind: notebooks.KindOption, File: nb.Name, Line: max(at.Line, 1),
			Col: at.Col,
			Msg: "schedule: " + msg, Hint: hint})
	}
	times, err := TimesOf(s)
	due := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	if err != nil {
		add("timezone", err.Error(), "name one such as Europe/Berlin, or UTC")
	} else {
		due = due.In(times.Zone)
	}
	if s.Commit != "" && !object.ValidBranch(s.Commit) {
		add("commit", fmt.Sprintf("commit: %q cannot name a branch", s.Commit), "see git help check-ref-format")
	}
	given, err := Given(s, due)
	if err == nil {
		_, err = params.Bind(nb.Name, nb.Params, given, params.Options{Getenv: getenv, MissingSecrets: true})
	}
	var list notebooks.ErrorList
	if one := (*notebooks.Error)(nil); !errors.As(err, &list) && errors.As(err, &one) {
		list = append(list, one)
	}
	for _, e := range list {
		add("params", e.Msg, e.Hint)
	}
	if len(errs) == 0 {
		return nil
	}
	return errs
}
