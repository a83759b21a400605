package schedule

import (
	"slices"
	"time"

	"markmill/notebooks"
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
}

// Run is the run of a due time.
type Run struct {
	Due    time.Time   `json:"due"`
	ID     string      `json:"id,omitzero"` // of the run, or of the job; "": it could not be planned
	Ended  bool        `json:"ended"`
	Status runs.Status `json:"status,omitzero"`
	Commit string      `json:"commit,omitzero"` // of its output
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
func (s *State) Pause(by, reason string, now time.Time) { s.Paused = &Pause{by, reason, now} }

// Resume begins anew: what was due in the meantime does not run.
func (s *State) Resume(now time.Time) { s.Paused, s.Waiting, s.Seen = nil, nil, latest(s.Seen, now) }

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
