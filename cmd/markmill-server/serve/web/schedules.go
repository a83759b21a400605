package web

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"markmill/cmd/internal/schedules"
	schedulecmd "markmill/cmd/markmill/schedule"
	"markmill/engine/schedule"
	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/render/result"
	"markmill/runs"
)

// nextTimes is how many due times the page of the schedules shows of a notebook, and mostMissed how many it counts
// that nobody looked at.
const (
	nextTimes  = 5
	mostMissed = 100
)

// scheduledRow is a notebook with a schedule.
type scheduledRow struct {
	schedule.Listed
	times  schedule.Times
	now    time.Time
	HasRun bool // the record of the newest run is here
}

// Paused says who does not want it to run; nil: nobody.
func (r *scheduledRow) Paused() *schedule.Pause {
	if r.State == nil {
		return nil
	}
	return r.State.Paused
}

// Due shows a due time in the zone of the schedule.
func (r *scheduledRow) Due(at time.Time) string {
	if r.times.Zone != nil {
		at = at.In(r.times.Zone)
	}
	return at.Format(schedules.TimeFormat)
}

// Coming are the next due times.
func (r *scheduledRow) Coming() (list []string) {
	if r.Next.IsZero() || r.times.Zone == nil {
		return nil
	}
	for at := r.Next; len(list) < nextTimes && !at.IsZero(); at = r.times.Next(at) {
		list = append(list, r.Due(at))
	}
	return list
}

// Missed are the due times that have passed since somebody looked last, at most mostMissed; paused ones are none.
func (r *scheduledRow) Missed() (n int) {
	if r.State == nil || r.State.Seen.IsZero() || r.State.Paused != nil || r.times.Zone == nil ||
		r.State.Cron != r.Cron || r.State.Timezone != r.Timezone { // of another expression
		return 0
	}
	for at := r.times.Next(r.State.Seen); n < mostMissed && !at.IsZero() && r.now.Sub(at) > schedule.Grace; {
		n, at = n+1, r.times.Next(at)
	}
	return n
}

// Class and Words are the state of the newest due time that ran.
func (r *scheduledRow) Class() string {
	switch run := r.State.Run; {
	case !run.Ended:
		return "edit"
	case run.Status == "":
		return "fail"
	default:
		return classOf(string(run.Status))
	}
}

// Words are the state of the newest due time that ran, for people.
func (r *scheduledRow) Words() string {
	switch run := r.State.Run; {
	case !run.Ended:
		return "running"
	case run.Status == "":
		return "not begun"
	default:
		return result.StatusWords(string(run.Status))
	}
}

// schedulesBody is the data of the page of the schedules.
type schedulesBody struct {
	schedules.Listing
	Rows []scheduledRow
	None bool // outside of a repository nothing is scheduled
}

// scheduled asks which notebooks are scheduled.
func (s *server) scheduled(ctx context.Context) (*schedulesBody, error) {
	b := &schedulesBody{None: s.repo == nil}
	if b.None {
		return b, nil
	}
	list, err := schedulecmd.List(ctx, s.app)
	if err != nil {
		return nil, err
	}
	b.Listing = *list
	for _, n := range b.Notebooks {
		r := scheduledRow{Listed: n, now: time.Now()}
		r.times, _ = schedule.TimesOf(&notebooks.Schedule{Cron: r.Cron, Timezone: r.Timezone}) // Error says it
		if r.State != nil && r.State.Run != nil && r.State.Run.ID != "" {
			_, err := os.Stat(s.store.Path(runs.RunID(r.State.Run.ID)))
			r.HasRun = err == nil
		}
		b.Rows = append(b.Rows, r)
	}
	return b, nil
}

func (s *server) schedules(w http.ResponseWriter, r *http.Request) error {
	b, err := s.scheduled(r.Context())
	if err != nil {
		return err
	}
	return s.page(w, r, "schedules", "Schedules", b)
}

// dueAgain is how old what Home says of schedules may be.
const dueAgain = 10 * time.Second

// actOn does what a form asks for that names a notebook, and shows a page. names are the other fields of the form.
func (s *server) actOn(page string, a action, names ...string) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		form, err := fields(r, append([]string{"notebook", "reason"}, names...))
		if err == nil {
			err = s.inside(form.Get("notebook"))
		}
		if err == nil {
			err = s.do(r.Context(), here(form.Get("notebook")), form, a, s.Queue)
			s.due.stale()
		}
		if err != nil {
			return refused(http.StatusConflict, err)
		}
		return done(w, r, page, http.StatusOK, map[string]bool{"done": true})
	}
}

var (
	pauseSchedule  = withReason("schedule", "pause")
	resumeSchedule = withReason("schedule", "unpause")
)

// muteCheck mutes a notebook, or one of its checks, until a time.
func muteCheck(id string, form url.Values) ([]string, error) {
	why, err := reason(form)
	if err != nil {
		return nil, err
	}
	until := strings.TrimSpace(form.Get("until"))
	if until == "" {
		return nil, problem("say until when: 2h, 3d, or a time")
	}
	return muted([]string{"health", "alerts", "mute", "--until=" + until, "--reason=" + why, "--", id}, form),
		nil
}

// unmuteCheck ends that.
func unmuteCheck(id string, form url.Values) ([]string, error) {
	why, err := reason(form)
	if err != nil {
		return nil, err
	}
	return muted([]string{"health", "alerts", "unmute", "--reason=" + why, "--", id}, form), nil
}

func muted(args []string, form url.Values) []string {
	if check := plain.OneLine(form.Get("check")); check != "" {
		args = append(args, check)
	}
	return args
}
