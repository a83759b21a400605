package schedule

import (
	"errors"
	"fmt"
	"time"
	_ "time/tzdata" // for machines without a time zone database; that of the system comes first

	"markmill/engine/worktree/object"
	"markmill/notebooks"
	"markmill/notebooks/params"
	"markmill/notebooks/schedule"
)

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
