package runs

import (
	"fmt"
	"slices"
	"testing"

	"markmill/notebooks"
)

// lanes makes a comparison of rows such as "pass A 5 +t +t": status, result tree, size of the change, and what the test
// t said of it, the first and perhaps a second time. "-" has not begun.
func lanes(pick string, rows ...string) *Sweep {
	s := &Sweep{Started: SweepStartedData{Lanes: &LanesData{Pick: pick}}}
	for _, text := range rows {
		var state SweepState
		var status, tree, first, again string
		lines := 0
		if n, _ := fmt.Sscan(text, &status, &tree, &lines, &first, &again); n > 1 {
			l := &LaneData{Tree: tree, Lines: lines, Files: 1}
			if first != "" {
				l.Judges = Judgement{"t": first == "+t"}
			}
			if again != "" {
				l.Again = &JudgedData{Judges: Judgement{"t": again == "+t"}}
			}
			state.Run, state.Ended = "r", &SweepRunEndedData{Status: Status(status), Lane: l}
		} else if status != "-" {
			state.Run, state.Ended = "r", &SweepRunEndedData{Status: Status(status)}
		}
		s.Rows = append(s.Rows, state)
	}
	return s
}

// What a comparison comes to follows from its rows alone.
func TestLanes(t *testing.T) {
	for _, test := range []struct {
		name, pick string
		rows       []string
		picked     int
		status     Status
		passed     int
		identical  []int
		missing    int
	}{
		{"the first that passes", "first", []string{"fail A 1 -t -t", "pass B 9 +t +t", "pass C 1 +t +t"}, 2,
			Pass, 2, nil, 0},
		{"the smallest change", "smallest", []string{"pass B 9 +t +t", "pass C 1 +t +t", "pass D 1 +t +t"}, 2,
			Pass, 3, nil, 0},
		{"none is asked for", "none", []string{"pass A 1 +t +t"}, 0, Pass, 1, nil, 0},
		{"none passes", "first", []string{"fail A 1 -t -t", "blocked"}, 0, Fail, 0, nil, 0},
		{"all are blocked", "first", []string{"blocked", "blocked"}, 0, Blocked, 0, nil, 0},
		{"a tree that is judged in two ways", "first", []string{"pass A 1 +t -t", "pass B 1 +t +t"}, 2, Pass, 1, nil,
			0},
		{"by two attempts", "first", []string{"pass A 1 +t", "fail A 1 -t"}, 0, Fail, 0, nil, 0},
		{"only trees that are the same", "none", []string{"pass A 1 +t", "pass B 1 +t", "pass A 1 +t", "pass B 1 +t",
			"pass B 1 +t"}, 0, Pass, 5, []int{3, 2}, 0},
		{"a part of the notebook is not picked", "first", []string{"partial A 1 +t +t"}, 0, Pass, 1, nil, 0},
		{"those after the first are not missing", "first", []string{"pass A 1 +t +t", "-", "-"}, 1, Pass, 1, nil, 0},
		{"those of another pick are", "smallest", []string{"pass A 1 +t +t", "-", "interrupted"}, 1, Pass, 1, nil, 2},
		{"nothing has passed, and one is missing", "first", []string{"fail A 1 -t -t", "-"}, 0, Interrupted, 0, nil, 1},
	} {
		s := lanes(test.pick, test.rows...)
		v := s.Verdict(0)
		passed, identical := s.Agreeing()
		if v.Picked != test.picked || v.Status != test.status || passed != test.passed ||
			s.MissingRows() != test.missing || !slices.Equal(identical, test.identical) {
			t.Errorf("%s: %+v, %d passed, %v identical, %d missing", test.name, v, passed, identical, s.MissingRows())
		}
	}
	s := lanes("none", "pass A 1 +t -t", "pass A 1 +t", "pass B 1 +t", "fail C 1")
	for row, want := range []int{3, 3, 1, 0} {
		if got := s.Judged(row); got != want {
			t.Errorf("row %d was judged %d times, want %d", row, got, want)
		}
	}
	if got := s.Flaky(1); !slices.Equal(got, []notebooks.StepID{"t"}) || s.Flaky(2) != nil {
		t.Errorf("flaky: %v, %v", got, s.Flaky(2))
	}
}

// All backends have one contract: what differs between two runs of the same request is not in its digest, and what the
// run may do is.
func TestContractDigest(t *testing.T) {
	of := func(change func(*ContractData)) Digest {
		c := ContractData{
			ContractRules: ContractRules{TaskID: "a", BaseCommit: "b", AllowedPaths: []string{"x"}, Dirty: "ignore"},
			Parameters: []ParamData{{Name: "n", Type: "int", Value: []byte("1")},
				{Name: "key", Type: string(notebooks.TypeSecret), Value: []byte(`"one"`)}}}
		change(&c)
		d, err := ContractDigest("sha256:1", c)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	plain := of(func(*ContractData) {})
	for name, change := range map[string]func(*ContractData){
		"the keyed digest of a secret": func(c *ContractData) { c.Parameters[1].Value = []byte(`"two"`) },
		"variables":                    func(c *ContractData) { c.Environment = []string{"A"} },
		"files changed meanwhile":      func(c *ContractData) { c.DirtyFiles = 3 },
	} {
		if of(change) != plain {
			t.Errorf("%s: another contract", name)
		}
	}
	for name, change := range map[string]func(*ContractData){
		"a path":      func(c *ContractData) { c.AllowedPaths = nil },
		"the base":    func(c *ContractData) { c.BaseCommit = "c" },
		"a parameter": func(c *ContractData) { c.Parameters[0].Value = []byte("2") },
		"files taken along": func(c *ContractData) {
			c.Dirty, c.DirtyFiles = "include", 3
		},
	} {
		if of(change) == plain {
			t.Errorf("%s: the same contract", name)
		}
	}
}

// Verification finds a run that is not the one which a comparison says it is.
func TestVerifyLane(t *testing.T) {
	run := func() *Run {
		return &Run{ID: "r2", Source: "sha256:1", Contract: ContractData{ContractRules: ContractRules{TaskID: "a"}},
			Started: RunStartedData{Options: &OptionsData{Options: Options{Backend: "codex"}},
				ResumedFrom: &ResumedData{Run: "r1", Fork: &ForkData{}}},
			Diff: &DiffCheckedData{ResultTree: "A", Files: []ChangedFile{{Added: 2, Deleted: 1}}},
			Steps: []StepRecord{{Planned: PlannedStep{ID: "t", Tags: []string{notebooks.TagTest}},
				Finished: &StepFinishedData{Status: StepPassed}}}}
	}
	digest, err := ContractDigest("sha256:1", run().Contract)
	if err != nil {
		t.Fatal(err)
	}
	s := &Sweep{Started: SweepStartedData{Lanes: &LanesData{Contract: digest},
		Rows: []SweepRow{{Lane: &LaneRow{Backend: "codex", Attempt: 1}}}},
		Rows: []SweepState{{Ended: &SweepRunEndedData{Lane: LaneOf(run())}}}}
	again := &JudgedData{Judges: JudgementOf(run())}
	if got := append(s.verifyLane(0, run()), again.differs("r1")(run())...); got != nil {
		t.Fatal(got)
	}
	for name, forge := range map[string]func(*Run){
		"contract": func(r *Run) { r.Contract.AllowedPaths = []string{"**"} },
		"source":   func(r *Run) { r.Source = "sha256:2" },
		"backend":  func(r *Run) { r.Started.Options.Backend = "claude" },
		"tree":     func(r *Run) { r.Diff.ResultTree = "B" },
		"size":     func(r *Run) { r.Diff.Files[0].Added = 1 },
		"test":     func(r *Run) { r.Steps[0].Finished.Status = StepFailed },
	} {
		r := run()
		forge(r)
		if s.verifyLane(0, r) == nil {
			t.Errorf("another %s is not found", name)
		}
	}
	for name, forge := range map[string]func(*Run){
		"run":     func(r *Run) { r.Started.ResumedFrom.Run = "r0" },
		"no fork": func(r *Run) { r.Started.ResumedFrom.Fork = nil },
		"test":    func(r *Run) { r.Steps[0].Finished.Status = StepFailed },
	} {
		r := run()
		forge(r)
		if again.differs("r1")(r) == nil {
			t.Errorf("%s: a second judgement of something else is not found", name)
		}
	}
}
