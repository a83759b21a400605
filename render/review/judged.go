package review

import (
	"fmt"
	"slices"
	"time"

	"markmill/render/plain"
)

// Judged is what the tests of the base say of the branch: review --judge.
type Judged struct {
	Notebooks []JudgedNotebook `json:"notebooks"`
	Notes     []JudgedTest     `json:"notes,omitempty"` // of no notebook, found without a run
	Runs      int              `json:"runs"`            // how often a notebook's tests were run
	TookNS    int64            `json:"took_ns"`
	Note      bool             `json:"decide_is_note,omitzero"` // by the policy
	// Dependencies are lock files that differ between the two sides: the installed dependencies are of one of them.
	Dependencies []string `json:"dependencies,omitempty"`
}

// JudgedNotebook is one notebook of the base, run on the code of the branch.
type JudgedNotebook struct {
	Path  string       `json:"path"`
	State JudgedState  `json:"state"`
	Words string       `json:"words,omitzero"` // why, of one that was not judged
	Base  string       `json:"base,omitzero"`  // what its tests came to, in words: on the base,
	Head  string       `json:"head,omitzero"`  // on the branch with its own tests, as its output says,
	Both  string       `json:"both,omitzero"`  // on the branch with the base's tests
	Tests []JudgedTest `json:"tests,omitempty"`
	Runs  []string     `json:"run_dirs,omitempty"`
}

// JudgedState is what became of a notebook.
type JudgedState string

const (
	JudgePassed  JudgedState = "passes"     // also with the base's tests
	JudgeFailed  JudgedState = "fails"      // an old test fails: Tests has the grades
	JudgeNothing JudgedState = "same"       // nothing that it judges differs
	JudgeNot     JudgedState = "not judged" // nobody knows: Words says why
)

// Grade says what a finding asks of a reviewer.
type Grade string

const (
	GradeObjection Grade = "objection"
	GradeDecide    Grade = "decide" // the branch changed the old test on purpose: a person decides
	GradeTold      Grade = "told"
)

// JudgedTest is an old test that does not hold on the branch, or what else the judges tell.
type JudgedTest struct {
	ID    string `json:"id,omitzero"` // for review --accept: it is bound to both trees, the notebook and the test
	Grade Grade  `json:"grade"`
	Step  string `json:"step,omitzero"`
	Test  string `json:"test,omitzero"`
	File  string `json:"file,omitzero"`
	Line  int    `json:"line,omitzero"`
	Words string `json:"words"`
	Diff  string `json:"diff,omitzero"` // of the test, from the base to the branch
	// Accepted says who accepted it, and why.
	Accepted string `json:"accepted,omitzero"`
}

// words describes a judged test on one line.
func (t *JudgedTest) words() string {
	words := t.Words
	if t.Test != "" {
		words = t.Test + " " + words
	}
	if t.File != "" {
		at := t.File
		if t.Line > 0 {
			at += fmt.Sprintf(":%d", t.Line)
		}
		words += " (" + at + ")"
	}
	if t.Accepted != "" {
		words += "; accepted by " + t.Accepted
	}
	return words
}

// conditions of the grades.
var gradeConditions = map[Grade]Condition{GradeObjection: OnJudged, GradeDecide: OnDecide, GradeTold: OnTold}

// Findings lists what the judges found. An objection or a decision has Objection set.
func (j *Judged) Findings() (out []Finding) {
	if j == nil {
		return nil
	}
	add := func(path string, t *JudgedTest) {
		f := Finding{Condition: gradeConditions[t.Grade], Path: path, Step: t.Step, Words: t.words(), ID: t.ID,
			Diff: t.Diff}
		if t.File != "" {
			f.Files = []string{t.File}
		}
		if t.Accepted != "" || t.Grade == GradeDecide && j.Note {
			f.Condition = OnTold
		}
		f.Objection = f.Condition != OnTold
		out = append(out, f)
	}
	for i := range j.Notes {
		add(j.Notes[i].File, &j.Notes[i])
	}
	for i := range j.Notebooks {
		n := &j.Notebooks[i]
		if n.State == JudgeNot {
			add(n.Path, &JudgedTest{Grade: GradeTold, Words: "not judged with main's tests: " + n.Words})
		}
		for k := range n.Tests {
			add(n.Path, &n.Tests[k])
		}
	}
	for _, lock := range j.Dependencies {
		add(lock, &JudgedTest{Grade: GradeTold,
			Words: "differs between the two sides, and the tests ran with the dependencies that are installed"})
	}
	return out
}

// CostWords say what judging cost: "judged 3 notebooks in 41s, 4 suite runs".
func (j *Judged) CostWords() string {
	count := 0
	for _, n := range j.Notebooks {
		if n.State != JudgeNothing {
			count++
		}
	}
	took := time.Duration(j.TookNS)
	unit := time.Second
	if took < 10*time.Second {
		unit = 100 * time.Millisecond
	}
	return fmt.Sprintf("judged %s in %s, %s", plain.Counted(count, "notebook"), took.Round(unit),
		plain.Counted(j.Runs, "suite run"))
}

// VerdictWords sum up what the judges say: "passes only with its own tests".
func (j *Judged) VerdictWords() string {
	has := func(s JudgedState) bool {
		return slices.ContainsFunc(j.Notebooks, func(n JudgedNotebook) bool { return n.State == s })
	}
	grade := func(g Grade) bool {
		return slices.ContainsFunc(j.Notebooks, func(n JudgedNotebook) bool {
			return slices.ContainsFunc(n.Tests, func(t JudgedTest) bool { return t.Grade == g && t.Accepted == "" })
		})
	}
	switch {
	case grade(GradeObjection):
		return "fails with main's tests"
	case grade(GradeDecide):
		return "old tests no longer hold"
	case has(JudgeNot):
		return "not judged with main's tests"
	case has(JudgePassed):
		return "also passes with main's tests"
	case len(j.Notebooks) == 0:
		return "main has no tests in a notebook"
	}
	return "nothing that main's tests judge changed"
}
