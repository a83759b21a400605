package engine

import (
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/params"
	"markmill/runs"
)

func TestForkReads(t *testing.T) {
	for _, c := range []struct {
		name, code, condition string
		want                  string
	}{
		{"a shell's variable", "echo $rate", "", "rate"},
		{"in braces", "echo ${rate}s", "", "rate"},
		{"part of longer names", "echo $rates $my_rate rate2", "", ""},
		{"behind a longer name", "x = rates + rate", "", "rate"},
		{"the condition", "true", "rate > 1", "rate"},
		{"nothing", "true", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &PlannedStep{Step: &notebooks.Step{Code: []byte(c.code), If: c.condition}, Kernel: &fakeKernel{}}
			if got := reads(s, []string{"rate"}); got != c.want {
				t.Errorf("%q, and %q was expected", got, c.want)
			}
			s.Parameters = true
			if got := reads(s, []string{"rate"}); got != "" {
				t.Errorf("the block of parameters reads %q", got)
			}
		})
	}
}

// TestForked: a run that is asked for once more is the same, a fork begins at the first step that reads another value,
// and no step is carried whose program the record does not have.
func TestForked(t *testing.T) {
	l := newLab(t)
	l.repository(map[string]string{"a.txt": "old\n"})
	source := func(last string) string {
		return "---\nparams:\n  x: {type: int, default: 1}\n---\n" + step("#a", "write a.txt new") +
			step("#b if=\"x > 0\"", "write b.txt more") + step("#c", last)
	}
	first := l.run(l.request(source("print c")))
	l.want(first, runs.Pass)
	plan, err := l.Plan(t.Context(), l.request(source("print c")))
	if err != nil || !plan.RanAlready(first.Run) {
		t.Errorf("the same again is another run: %v", err)
	}
	before, err := l.Forked(first.Dir)
	if err != nil {
		t.Fatal(err)
	}
	req, err := before.Request([]params.Given{{Name: "x", Text: "5", Source: "-p"}})
	if err != nil {
		t.Fatal(err)
	}
	req.Repository = l.root
	fork := l.run(req)
	l.want(fork, runs.Pass)
	if from := fork.Run.Started.ResumedFrom; from == nil || from.Fork == nil || from.Fork.At != "b" {
		t.Errorf("the fork begins at %+v", from)
	}
	l.verify(fork)
	again := l.request(source("print d"))
	again.Given, again.Reuse = req.Given, ReuseOn
	if plan, err = l.Plan(t.Context(), again); err != nil ||
		!strings.Contains(plan.NotReused(), "the program of bash") {
		t.Errorf("a step whose program is not recorded is carried: %v, %q", err, plan.NotReused())
	}
}
