package runs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// LanesData makes a sweep a comparison of attempts: its rows differ in who does the agents' steps, and in the number of
// the attempt. Everything else is the same: notebook, base commit, parameters and contract.
type LanesData struct {
	Backends []string `json:"backends,omitempty"` // none: the notebook says who does its steps
	Attempts int      `json:"attempts"`           // of each backend
	Pick     string   `json:"pick"`               // one of notebooks.Picks
	Once     bool     `json:"judged_once,omitzero"`
	Contract Digest   `json:"contract"`        // ContractDigest of every run
	Output   string   `json:"output,omitzero"` // absolute path of the output notebook with the comparison
	Views    int      `json:"views"`           // ViewsVersion of that notebook
}

// LaneRow is the row of an attempt.
type LaneRow struct {
	Backend string `json:"backend,omitzero"` // "": the notebook says who does its steps
	Attempt int    `json:"attempt"`          // from 1, of the backend
}

// LaneData is what the run of an attempt came to, as far as a pick depends on it.
type LaneData struct {
	Tree   string      `json:"tree,omitzero"`    // of the result; "" where it was not captured
	Files  int         `json:"files,omitzero"`   // that it changed
	Lines  int         `json:"lines,omitzero"`   // added and deleted
	Judges Judgement   `json:"judges,omitempty"` // of the run's own tests and reviews
	Again  *JudgedData `json:"again,omitzero"`   // nil: the tree was not judged a second time
}

// Judgement says of each test and review that ran whether it passed.
type Judgement map[notebooks.StepID]bool

// JudgedData is the second judgement of a tree: a fork of the run that begins at the first step that judges.
type JudgedData struct {
	Run    RunID     `json:"run"`
	Sums   Digest    `json:"sums"` // of its SHA256SUMS
	Judges Judgement `json:"judges"`
}

// LaneOf returns what a run came to.
func LaneOf(run *Run) *LaneData {
	d := &LaneData{Judges: JudgementOf(run)}
	if run.Diff != nil && run.Diff.Skipped == "" {
		d.Tree, d.Files = run.Diff.ResultTree, len(run.Diff.Files)
		for _, f := range run.Diff.Files {
			d.Lines += f.Added + f.Deleted
		}
	}
	return d
}

// JudgementOf returns what the tests and reviews of a run said, of those that came to an end.
func JudgementOf(run *Run) Judgement {
	j := Judgement{}
	for i := range run.Steps {
		s := &run.Steps[i]
		if !notebooks.Judge(s.Planned.Tags) || s.Finished == nil || s.Finished.Status == StepSkipped {
			continue
		}
		j[s.Planned.ID] = s.Finished.Status == StepPassed || s.Finished.Status == StepAllowed
	}
	return j
}

// ContractDigest is the digest of what a run was asked and may do, which the runs of all backends share. Secrets are
// not in it, nor what a step gets of the environment, nor how many files the user changed meanwhile, where the run does
// not see them.
func ContractDigest(source Digest, c ContractData) (Digest, error) {
	c.Environment = nil
	c.Parameters = slices.DeleteFunc(slices.Clone(c.Parameters), func(p ParamData) bool {
		return p.Type == string(notebooks.TypeSecret)
	})
	if c.Dirty == "ignore" {
		c.DirtyFiles = 0
	}
	text, err := codec.Marshal(struct {
		Source   Digest       `json:"source"`
		Contract ContractData `json:"contract"`
	}{source, c})
	return DigestOf(text), err
}

// Flaky returns the tests and reviews that judged the tree of a row in two ways, whichever attempt made it.
func (s *Sweep) Flaky(row int) []notebooks.StepID {
	own := s.lane(row)
	if own == nil || own.Tree == "" {
		return nil
	}
	said, flaky := Judgement{}, map[notebooks.StepID]bool{}
	hear := func(j Judgement) {
		for step, passed := range j {
			if first, heard := said[step]; heard && first != passed {
				flaky[step] = true
			}
			said[step] = passed
		}
	}
	for i := range s.Rows {
		if l := s.lane(i); l != nil && l.Tree == own.Tree {
			hear(l.Judges)
			if l.Again != nil {
				hear(l.Again.Judges)
			}
		}
	}
	return slices.Sorted(maps.Keys(flaky))
}

// Judged counts how often the tree of a row was judged.
func (s *Sweep) Judged(row int) (times int) {
	own := s.lane(row)
	if own == nil || own.Tree == "" || len(own.Judges) == 0 {
		return 0
	}
	for i := range s.Rows {
		if l := s.lane(i); l != nil && l.Tree == own.Tree && len(l.Judges) > 0 {
			if times++; l.Again != nil {
				times++
			}
		}
	}
	return times
}

// lane is what a row came to, nil while it has not ended.
func (s *Sweep) lane(row int) *LaneData {
	if s.Rows[row].Ended == nil {
		return nil
	}
	return s.Rows[row].Ended.Lane
}

// Proven reports whether a row passed, and no test or review judged its tree otherwise.
func (s *Sweep) Proven(row int) bool {
	end := s.Rows[row].Ended
	return end != nil && end.Status.Passed() && len(s.Flaky(row)) == 0
}

// Picked is the number of the row that is picked, from 1; 0 if none is. Only a whole run that passed can be, and only
// if no judge contradicts another. Of equal changes the first is picked.
func (s *Sweep) Picked() int {
	if s.Started.Lanes == nil || s.Started.Lanes.Pick == notebooks.PickNone {
		return 0
	}
	best := -1
	for i := range s.Rows {
		if !s.Proven(i) || s.Rows[i].Ended.Status != Pass {
			continue
		}
		if s.Started.Lanes.Pick == notebooks.PickFirst {
			return i + 1
		}
		if l := s.lane(i); l != nil && (best < 0 || cmp.Or(cmp.Compare(l.Lines, s.lane(best).Lines),
			cmp.Compare(l.Files, s.lane(best).Files)) < 0) {
			best = i
		}
	}
	return best + 1
}

// Settled reports whether no further attempt is needed, because the first that passes is picked.
func (s *Sweep) Settled() bool {
	return s.Started.Lanes != nil && s.Started.Lanes.Pick == notebooks.PickFirst && s.Picked() > 0
}

// Agreeing counts the attempts that pass, and the sizes of the groups of those with the same result tree, of two and
// more, the largest first.
func (s *Sweep) Agreeing() (passed int, identical []int) {
	trees := map[string]int{}
	for i := range s.Rows {
		if s.Proven(i) {
			if passed++; s.lane(i) != nil {
				trees[s.lane(i).Tree]++
			}
		}
	}
	for _, n := range trees {
		if n > 1 {
			identical = append(identical, n)
		}
	}
	slices.Sort(identical)
	slices.Reverse(identical)
	return passed, identical
}

// MissingRows counts the rows that a resumed sweep would run.
func (s *Sweep) MissingRows() (n int) {
	for i := range s.Rows {
		if s.Rows[i].Missing() && !s.Settled() {
			n++
		}
	}
	return n
}

// lanesStatus is that of a comparison: it passes with an attempt that does.
func (s *Sweep) lanesStatus() Status {
	status := Blocked
	for i := range s.Rows {
		switch {
		case s.Proven(i):
			return Pass
		case s.Rows[i].Missing():
			status = Interrupted
		case status == Blocked && s.Rows[i].Ended.Status != Blocked:
			status = Fail
		}
	}
	return status
}

// verifyLane says in what the run of an attempt is not what the sweep says of it.
func (s *Sweep) verifyLane(row int, run *Run) (out []string) {
	if digest, err := ContractDigest(run.Source, run.Contract); err != nil || digest != s.Started.Lanes.Contract {
		out = append(out, "it ran under another contract than the other attempts")
	}
	if want := s.Started.Rows[row].Lane.Backend; run.Started.Options != nil && run.Started.Options.Backend != want {
		out = append(out, fmt.Sprintf("it was asked of the backend %q, and its row says %q",
			run.Started.Options.Backend, want))
	}
	is, own := LaneOf(run), s.lane(row)
	if own == nil || is.Tree != own.Tree || is.Files != own.Files || is.Lines != own.Lines ||
		!maps.Equal(is.Judges, own.Judges) {
		out = append(out, "its result tree, the size of its change, or what its tests said is not what the sweep says")
	}
	return out
}
