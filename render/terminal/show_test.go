package terminal

import (
	"bytes"
	"testing"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

func check(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestList(t *testing.T) {
	var b bytes.Buffer
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	err := List(&b, []runs.Entry{
		{ID: "20261121T100000Z-fix-ab12", Notebook: "fix.md", Status: runs.Pass, StartedAt: at,
			FinishedAt: at.Add(1500 * time.Millisecond)},
		{ID: "20261121T090000Z-漢-cd34", Notebook: "evil\x1b[31m.md", Status: runs.Interrupted,
			StartedAt: at.Add(-time.Hour), Reason: "killed"},
	}, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	check(t, b.String(), `RUN                        STATUS       STARTED               TOOK  NOTEBOOK         REASON
20261121T100000Z-fix-ab12  pass         2026-11-21 10:00:00Z  1.5s  fix.md
20261121T090000Z-漢-cd34   interrupted  2026-11-21 09:00:00Z        evil\x1b[31m.md  killed
`)
}

func TestListOfNone(t *testing.T) {
	var b bytes.Buffer
	if err := List(&b, nil, nil, nil, false); err != nil {
		t.Fatal(err)
	}
	check(t, b.String(), "No runs are kept here.\n")
}

func testRun() *runs.Run {
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	change := []runs.ChangedFile{{Path: "parser/parse.go", Status: "modified", Added: 1, Deleted: 1}}
	return &runs.Run{
		ID: "20261121T100000Z-fix-ab12", StartedAt: at, FinishedAt: at.Add(2 * time.Second),
		Started: runs.RunStartedData{Notebook: "fix.md"},
		Contract: runs.ContractData{
			ContractRules: runs.ContractRules{BaseCommit: "1234567"},
			Parameters: []runs.ParamData{
				{Name: "n", Type: "int", Value: codec.Raw("3"), From: "-p", Given: true},
				{Name: "token", Type: "secret", Value: codec.Raw(`"hmac:aa"`), From: "env T", Given: true}}},
		Steps: []runs.StepRecord{
			{Planned: runs.PlannedStep{ID: "change", Action: runs.ActionRun}, Step: &runs.StepStartedData{},
				Finished: &runs.StepFinishedData{Status: runs.StepPassed, DurationNS: 15e8},
				Patch:    &runs.PatchData{Files: change},
				Scraps:   []runs.ScrapData{{Name: "why", Type: "text", Value: codec.Raw(`"off by one"`)}}},
			{Planned: runs.PlannedStep{ID: "later", Action: runs.ActionRun}},
		},
		Diff: &runs.DiffCheckedData{Files: change, AllowedPassed: true},
		Completed: &runs.CompletedData{Status: runs.Blocked,
			Blockers: []runs.Blocker{{Code: runs.CodeTimeout, Step: "later", Message: "the run passed 2s"}}},
	}
}

func TestSummary(t *testing.T) {
	check(t, Summary(testRun(), ".markmill/runs/x", false),
		"⊘ blocked · 1 of 2 steps passed, 1 not reached · no tests · 1 file +1 −1 · evidence: .markmill/runs/x")
}

func TestFactsOfARun(t *testing.T) {
	var b bytes.Buffer
	p := page{w: &b}
	if p.facts(testRun(), Record{Sums: "sha256:12"}); p.err != nil {
		t.Fatal(p.err)
	}
	check(t, b.String(), `
Change
  modified  parser/parse.go  +1  −1

Record
  run     20261121T100000Z-fix-ab12
  record  sha256:12
  base    1234567
`)
}

func TestInspect(t *testing.T) {
	one, min := 1, notebooks.Value{Type: notebooks.TypeFloat, Float: 0}
	nb := &notebooks.Notebook{
		Name: "health.md",
		Front: notebooks.Front{Title: "System health", Timeout: 2 * time.Minute, Allow: []string{"reports/**"},
			Limits: notebooks.Limits{Files: 3}, Require: []string{"diff", "tests"}},
		Params: []notebooks.Param{
			{Name: "threshold", Type: notebooks.TypeFloat, HasDefault: true,
				DefaultSrc: "1.0", Help: "alert above this",
				Min: &min},
			{Name: "host", Type: notebooks.TypeString, Required: true},
			{Name: "token", Type: notebooks.TypeSecret, HasDefault: true, DefaultSrc: "hunter2", Env: "TOKEN"},
		},
		Steps: []*notebooks.Step{
			{ID: "collect", Lang: "python"},
			{ID: "verify", Index: 1, Lang: "bash", Tags: []string{"test"}, Timeout: 30 * time.Second, ExpectExit: &one,
				Needs: []notebooks.StepID{"collect"}},
		},
	}
	var b bytes.Buffer
	bound := []notebooks.Bound{{Param: nb.Params[1],
		Value: notebooks.Value{Type: notebooks.TypeString, Text: "db\x1b1"},
		From:  "-p", Given: true}}
	if err := Inspect(&b, nb, bound, nil, false); err != nil {
		t.Fatal(err)
	}
	check(t, b.String(), `System health

Parameters
  threshold  float   = 1.0               alert above this; at least 0.0
  host       string  = "db\u001b1" (-p)
  token      secret  = ***               or $TOKEN

Steps
  1  collect  python
  2  verify   bash    .test  timeout=30s needs=collect expect-exit=1

Gates
  timeout  2m0s a step
  allow    reports/**
  limits   3 files
  require  diff, tests
`)
}
