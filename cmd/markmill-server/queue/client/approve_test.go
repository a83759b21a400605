package client

import (
	"strings"
	"testing"

	"markmill/engine"
	"markmill/engine/queue"
	"markmill/runs"
)

// TestUnanswerable: what a worker says that a run asks for is not answered unless the record holds, and is of this job,
// of this run, of the notebook that was submitted, and of its commit.
func TestUnanswerable(t *testing.T) {
	spec := &queue.Spec{ID: "j", Base: "c0ffee", Request: engine.Request{Source: []byte("# N\n")}}
	h := &queue.History{Job: queue.Job{ID: "j"}, Entries: []queue.Entry{{Kind: queue.Enqueued, Spec: spec}}}
	for words, change := range map[string]func(*runs.Verification){
		"":                            func(*runs.Verification) {},
		"changed":                     func(v *runs.Verification) { v.Findings = []runs.Finding{{Message: "changed"}} },
		"[]":                          func(v *runs.Verification) { v.Run = nil },
		"it is of run s of job":       func(v *runs.Verification) { v.Run.ID = "s" },
		"it is of run r of job \"k\"": func(v *runs.Verification) { v.Run.Contract.Job = "k" },
		"its notebook is another one": func(v *runs.Verification) { v.Run.Source = runs.DigestOf(nil) },
		"it begins with commit bad":   func(v *runs.Verification) { v.Run.Contract.BaseCommit = "bad" },
	} {
		run := runs.NewRun()
		run.ID, run.Source = "r", runs.DigestOf(spec.Request.Source)
		run.Contract.Job, run.Contract.BaseCommit = "j", spec.Base
		v := &runs.Verification{Run: run}
		change(v)
		got := unanswerable(v, h, &queue.Entry{Kind: queue.Asked, Run: "r"})
		if !strings.Contains(got, words) || (got == "") != (words == "") {
			t.Errorf("refused for %q instead of %q", got, words)
		}
	}
}
