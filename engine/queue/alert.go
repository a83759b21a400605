package queue

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"markmill/engine"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/expr"
	"markmill/runs"
)

// What an alert is about.
const (
	AboutRun        = "run"
	AboutCheck      = "check"
	AboutExpression = "expression"
	AboutTest       = "test" // the message of a person who tries a target; its event and its state are called so, too
)

// Alert is one transition that targets are told of. Its id is computed from the series, the subject, the run, and the
// states before and after, so it is the same however often it is derived.
type Alert struct {
	ID       string     `json:"id"`
	Project  string     `json:"project"` // name of the repository's folder
	Notebook string     `json:"notebook"`
	Title    string     `json:"title,omitzero"`
	By       string     `json:"by,omitzero"`    // NAME=VALUE of the parameters that tell the states apart
	Run      runs.RunID `json:"run_id"`         // "" for a job that left no record
	Job      string     `json:"job,omitzero"`   // that left no record
	Time     time.Time  `json:"time"`           // when the run ended
	About    string     `json:"about"`          // run, check, expression, test
	Name     string     `json:"name"`           // of the check; the expression; "" for the run
	Event    string     `json:"event"`          // fail, warn, critical, recover, holds, test
	Before   string     `json:"before"`         // the state before; "" is not known
	State    string     `json:"state"`          // the state now
	Value    codec.Raw  `json:"value,omitzero"` // number that a check measured
	Unit     string     `json:"unit,omitzero"`
	Message  string     `json:"message,omitzero"`
	Place    int        `json:"place"` // among the alerts of the run, from 0
	// Unmuted says that the state is older: the alert is sent because a mute has ended.
	Unmuted bool `json:"unmuted,omitzero"`
}

// Bad reports whether the new state is bad.
func (a *Alert) Bad() bool { return a.Event != notebooks.AlertRecover }

// Of names the run, or the job that left none.
func (a *Alert) Of() string {
	if a.Job != "" {
		return "job " + a.Job
	}
	return "run " + string(a.Run)
}

// Words returns what has happened in one line, without the name of the notebook.
func (a *Alert) Words() string {
	if a.About == AboutTest {
		return a.Message
	}
	name := a.About
	if a.Name != "" {
		name += " " + a.Name
	}
	data := runs.CheckData{State: runs.CheckState(a.State), Value: a.Value, Unit: a.Unit, Message: a.Message}
	words := name + " is " + data.Words()
	if a.Unmuted {
		return words + " (muted until now)"
	}
	if a.Before != "" {
		words += fmt.Sprintf(" (it was %s)", a.Before)
	}
	return words
}

// States of runs and expressions.
const (
	stateOK      = string(runs.CheckOK)
	stateFailed  = "failed"
	stateHolds   = "holds"
	eventHolds   = "holds"
	mostRecent   = 256 // runs that a series remembers
	messageBytes = 1000
)

// Series holds the states of a notebook after the last run that was evaluated, and the alerts of that run.
type Series struct {
	Project  string            `json:"project"`
	Notebook string            `json:"notebook"`
	By       string            `json:"by,omitzero"`
	States   map[string]string `json:"states"` // by what they are about
	Recent   []runs.RunID      `json:"recent"` // runs that it has seen, the last one last
	Alerts   []Alert           `json:"alerts"` // of the last one
	To       []string          `json:"to"`     // names of targets of the alerts
}

// NewSeries returns the series of a run, without any state.
func NewSeries(project string, run *runs.Run, rules *notebooks.Alerts) *Series {
	s := &Series{Project: project, Notebook: run.Started.SourcePath, States: map[string]string{}}
	if s.Notebook == "" {
		s.Notebook = run.Started.Notebook
	}
	s.By = SeriesBy(rules, run.Contract.Parameters)
	return s
}

// SeriesBy returns the parameter values that separate the states of a notebook (by:), as a text.
func SeriesBy(rules *notebooks.Alerts, params []runs.ParamData) string {
	var by []string
	for _, name := range rules.By {
		for _, p := range params {
			if p.Name == name {
				by = append(by, fmt.Sprintf("%s=%s", name, p.Value))
			}
		}
	}
	return strings.Join(by, " ")
}

// SeriesOf returns the series of the runs of a job, without any state.
func SeriesOf(spec *Spec) *Series {
	return &Series{Project: spec.Project, Notebook: cmp.Or(spec.Request.MadeOf, spec.Request.Path), By: spec.Series,
		States: map[string]string{}}
}

// AddJob evaluates a job that ended without a record, as Add does a failed run. It returns false if the series has
// already evaluated it.
func (s *Series) AddJob(job *Job, title string, rules *notebooks.Alerts, why string, now time.Time) bool {
	id := runs.RunID(fmt.Sprintf("job %s %d", job.ID, job.Attempts)) // put back, it may end so again
	if s.Seen(id) {
		return false
	}
	s.begin(id, rules)
	s.turn(Alert{Project: s.Project, Notebook: s.Notebook, Title: title, By: s.By, Job: job.ID, Time: now.UTC(),
		About: AboutRun, State: stateFailed, Event: notebooks.AlertFail,
		Message: "it left no record: " + why}, id, rules)
	return true
}

// begin replaces the alerts of the series with none.
func (s *Series) begin(id runs.RunID, rules *notebooks.Alerts) {
	s.Alerts, s.To = nil, rules.To
	s.Recent = append(s.Recent, id)
	s.Recent = s.Recent[max(0, len(s.Recent)-mostRecent):]
}

// Key names the series: a word.
func (s *Series) Key() string { return digest(s.Project, s.Notebook, s.By) }

func digest(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Seen reports whether the series has evaluated a run.
func (s *Series) Seen(id runs.RunID) bool { return slices.Contains(s.Recent, id) }

// Add evaluates a run that has ended, or was killed, and replaces the alerts of the series with those of the run.
// States that the run does not report are kept.
func (s *Series) Add(run *runs.Run, title string, rules *notebooks.Alerts, now time.Time) {
	s.begin(run.ID, rules)
	at := run.FinishedAt
	if at.IsZero() {
		at = now
	}
	from := Alert{Project: s.Project, Notebook: s.Notebook, Title: title, By: s.By, Run: run.ID, Time: at.UTC()}
	for _, c := range run.Checks() {
		if carried(run, c.Step) { // found by an earlier run
			continue
		}
		a := from
		a.About, a.Name, a.State, a.Value, a.Unit, a.Message = AboutCheck, c.Name, string(c.State), c.Value,
			c.Unit, c.Message
		switch {
		case c.State.Failing():
			a.Event = notebooks.AlertCritical
		case c.State == runs.CheckWarn:
			a.Event = notebooks.AlertWarn
		}
		s.turn(a, run.ID, rules)
	}
	scope := engine.ScopeOf(run)
	for _, text := range rules.On {
		if slices.Contains(notebooks.AlertWords, text) {
			continue
		}
		e, err := expr.Parse(text)
		if err != nil {
			continue // the notebook's reader has refused it
		}
		holds, err := e.Eval(scope)
		a := from
		a.About, a.Name, a.State = AboutExpression, text, stateOK
		switch {
		case err != nil && run.Status() != runs.Pass: // a value is missing: a step did not run
			continue
		case err != nil:
			a.Event, a.State, a.Message = eventHolds, string(runs.CheckError), err.Error()
		case holds:
			a.Event, a.State = eventHolds, stateHolds
		}
		s.turn(a, run.ID, rules)
	}
	if state, message := stateOf(run); state != "" {
		a := from
		a.About, a.State, a.Message = AboutRun, state, message
		if state != stateOK {
			a.Event = notebooks.AlertFail
		}
		s.turn(a, run.ID, rules)
	}
}

// turn records a new state, and adds an alert if it differs from the old one and the notebook asks for it.
func (s *Series) turn(a Alert, by runs.RunID, rules *notebooks.Alerts) {
	key := a.About + ":" + a.Name
	a.Before = s.States[key]
	s.States[key] = a.State
	switch {
	case a.Before == a.State:
		return
	case a.Event == "" && (a.Before == "" || a.Before == stateOK):
		return
	case a.Event == "":
		a.Event = notebooks.AlertRecover
		asked := map[string][]string{AboutRun: {notebooks.AlertFail}, AboutCheck: {notebooks.AlertWarn,
			notebooks.AlertCritical}}
		if words := asked[a.About]; words != nil && !slices.ContainsFunc(words, func(word string) bool {
			return slices.Contains(rules.On, word)
		}) {
			return
		}
	}
	if a.Event != eventHolds && !slices.Contains(rules.On, a.Event) {
		return
	}
	if len(a.Message) > messageBytes {
		a.Message = strings.ToValidUTF8(a.Message[:messageBytes], "") + "…"
	}
	a.Place, a.ID = len(s.Alerts), digest(s.Key(), key, string(by), a.Before, a.State)
	s.Alerts = append(s.Alerts, a)
}

func carried(run *runs.Run, step notebooks.StepID) bool {
	return slices.ContainsFunc(run.Steps, func(r runs.StepRecord) bool {
		return r.Planned.ID == step && r.Finished != nil && r.Finished.Carried != nil
	})
}

// stateOf returns the state of a run; "" if it has none, because only a part ran or a person stopped it.
func stateOf(run *runs.Run) (state, message string) {
	status := run.Status()
	switch {
	case run.Completed == nil:
		return stateFailed, "it was killed"
	case len(run.LeftOut()) > 0:
		return "", ""
	case status == runs.Pass:
		return stateOK, ""
	case status == runs.Interrupted && (run.Completed.Aborted != nil || run.Completed.Signal != 0):
		return "", ""
	}
	message = string(status)
	if causes := run.Causes(); len(causes) > 0 {
		message += ": " + causes[0].Message
	}
	return stateFailed, message
}
