package jetstream_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"markmill/engine/queue"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// observed is a run of one step with these checks ("disk=warn"), values ("loss=0.5") and status.
func observed(t interface{ Fatal(...any) }, n int, status runs.Status, found ...string) *runs.Run {
	step := runs.StepRecord{Planned: runs.PlannedStep{ID: "s"},
		Finished: &runs.StepFinishedData{Status: runs.StepPassed}}
	if status != runs.Pass {
		step.Finished.Status = runs.StepFailed
	}
	for _, text := range found {
		name, value, _ := strings.Cut(text, "=")
		if !slices.Contains(runs.CheckStates, runs.CheckState(value)) {
			step.Scraps = append(step.Scraps, runs.ScrapData{Name: name, Type: "json", Value: codec.Raw(value)})
			continue
		}
		scrap, err := runs.CheckData{State: runs.CheckState(value), Value: codec.Raw("93"), Unit: "%"}.Scrap(name)
		if err != nil {
			t.Fatal(err)
		}
		step.Scraps = append(step.Scraps, scrap)
	}
	run := runs.NewRun()
	run.ID, run.FinishedAt = runs.RunID(fmt.Sprintf("run-%d", n)), time.Unix(int64(n)*300, 0).UTC()
	run.Started = runs.RunStartedData{Notebook: "w.md", SourcePath: "w.md"}
	run.Contract.Parameters = []runs.ParamData{{Name: "host", Type: "text", Value: codec.Raw(`"a"`)}}
	run.Steps = []runs.StepRecord{step}
	run.Diff, run.Verification = &runs.DiffCheckedData{Skipped: "-"}, &runs.VerificationData{Skipped: "-"}
	run.Completed = &runs.CompletedData{Status: status}
	return run
}

// TestTransitions: what is told of a sequence of runs, and what is not.
func TestTransitions(t *testing.T) {
	all := &notebooks.Alerts{On: []string{"fail", "warn", "critical", "recover", "scraps.loss > 0.5"},
		To: []string{"ops"}}
	words := &notebooks.Alerts{On: notebooks.AlertWords, To: all.To}
	type step struct {
		status runs.Status
		found  []string
		told   string
	}
	for name, c := range map[string]struct {
		rules *notebooks.Alerts
		steps []step
	}{
		"the first run is good": {all, []step{{runs.Pass, []string{"a=ok", "loss=0.1"}, ""}}},
		"the first run is bad": {all, []step{{runs.Fail, []string{"a=critical", "loss=0.9"}, "critical a >critical, " +
			"holds scraps.loss > 0.5 >holds, fail  >failed"}}},
		"nothing changes": {all, []step{{runs.Fail, []string{"a=critical"}, "critical a >critical, fail  >failed"},
			{runs.Fail, []string{"a=critical"}, ""}, {runs.Fail, []string{"a=critical"}, ""}}},
		"back from each level": {words, []step{{runs.Pass, []string{"a=warn", "b=critical", "c=error"},
			"warn a >warn, critical b >critical, critical c >error"},
			{runs.Pass, []string{"a=ok", "b=ok", "c=ok"},
				"recover a warn>ok, recover b critical>ok, recover c error>ok"}}},
		"back by way of warn, which is not told": {&notebooks.Alerts{On: []string{"critical", "recover"}}, []step{
			{runs.Pass, []string{"a=critical"}, "critical a >critical"}, {runs.Pass, []string{"a=warn"}, ""},
			{runs.Pass, []string{"a=ok"}, "recover a warn>ok"}}},
		"no word of runs": {&notebooks.Alerts{On: []string{"critical", "recover"}}, []step{{runs.Fail, nil, ""},
			{runs.Pass, nil, ""}}},
		"a check that did not run stays as it was": {words, []step{{runs.Pass, []string{"a=critical"},
			"critical a >critical"},
			{runs.Pass, nil, ""}, {runs.Pass, []string{"a=critical"}, ""}, {runs.Pass, []string{"a=ok"},
				"recover a critical>ok"}}},
		"a value that is missing in a failed run": {all, []step{{runs.Pass, []string{"loss=0.9"}, "holds scraps.loss " +
			"> 0.5 >holds"},
			{runs.Fail, nil, "fail  ok>failed"}, {runs.Pass, []string{"loss=0.9"}, "recover  failed>ok"},
			{runs.Pass, []string{"loss=0.2"}, "recover scraps.loss > 0.5 holds>ok"}}},
		"a value that cannot be compared": {all, []step{{runs.Pass, []string{`loss="9"`},
			"holds scraps.loss > 0.5 >error"}}},
		"blocked and failed are one state": {all, []step{{runs.Fail, nil, "fail  >failed"}, {runs.Blocked, nil, ""},
			{runs.Pass, []string{"loss=0"}, "recover  failed>ok"}}},
	} {
		s := queue.NewSeries("p", observed(t, 0, runs.Pass), c.rules)
		for i, step := range c.steps {
			s.Add(observed(t, i+1, step.status, step.found...), "", c.rules, time.Unix(0, 0))
			var told []string
			for _, a := range s.Alerts {
				told = append(told, fmt.Sprintf("%s %s %s>%s", a.Event, a.Name, a.Before, a.State))
			}
			if got := strings.Join(told, ", "); got != step.told {
				t.Errorf("%s, run %d: %q, want %q", name, i+1, got, step.told)
			}
		}
	}
}

// TestRunsThatSayNothing: a part of a notebook, and a run that a person ended, do not change the state of the run; one
// that was killed does.
func TestRunsThatSayNothing(t *testing.T) {
	rules := &notebooks.Alerts{On: []string{"fail", "recover"}}
	part := observed(t, 1, runs.Partial)
	part.Steps[0].Planned.LeftOut = "--only"
	ended := observed(t, 2, runs.Interrupted)
	ended.Completed.Signal = 2
	killed := observed(t, 3, runs.Interrupted)
	killed.Completed = nil
	for i, run := range []*runs.Run{part, ended, killed} {
		s := queue.NewSeries("p", run, rules)
		s.Add(run, "", rules, time.Unix(7, 0))
		if want := i / 2; len(s.Alerts) != want {
			t.Errorf("%d: %+v", i, s.Alerts)
		}
	}
}

// TestBy: with by: the values of a parameter have states of their own.
func TestBy(t *testing.T) {
	a, b := observed(t, 1, runs.Pass), observed(t, 2, runs.Pass)
	b.Contract.Parameters[0].Value = codec.Raw(`"b"`)
	for by, same := range map[string]bool{"": true, "host": false} {
		rules := &notebooks.Alerts{By: strings.Fields(by)}
		if got := queue.NewSeries("p", a, rules).Key() == queue.NewSeries("p", b, rules).Key(); got != same {
			t.Errorf("by %q: one series: %v", by, got)
		}
	}
}

// TestAlertsProperty: of any sequence of states, each change to a bad state is told once, each return to ok once, with
// ids that are all different, and deriving the alerts again gives the same.
func TestAlertsProperty(t *testing.T) {
	rules := &notebooks.Alerts{On: []string{"warn", "critical", "recover"}}
	rapid.Check(t, func(t *rapid.T) {
		states := rapid.SliceOf(rapid.SampledFrom([]string{"ok", "warn", "critical", "error", ""})).Draw(t, "states")
		tell := func() (ids []string) {
			s := queue.NewSeries("p", observed(t, 0, runs.Pass), rules)
			for i, state := range states {
				var found []string
				if state != "" {
					found = []string{"a=" + state}
				}
				s.Add(observed(t, i, runs.Pass, found...), "", rules, time.Unix(0, 0))
				for _, a := range s.Alerts {
					ids = append(ids, a.ID)
				}
			}
			return ids
		}
		want, before := 0, "ok"
		for _, state := range states {
			if state != "" && state != before {
				want++
				before = state
			}
		}
		ids := tell()
		if len(ids) != want || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != want ||
			!slices.Equal(ids, tell()) {
			t.Fatalf("%v: %d alerts, want %d", states, len(ids), want)
		}
	})
}

// TestBackoff: a receiver that is down is tried ever later, and given up after three days; a person can begin anew.
func TestBackoff(t *testing.T) {
	now := time.Unix(0, 0).UTC()
	d := queue.NewDelivery(queue.Alert{ID: "a", Time: now}, []string{"x", "x"}, now)
	r := &d.To[0]
	var waits []time.Duration
	for r.State == queue.Waiting {
		r.Ended(now, fmt.Errorf("down"), false, 0)
		if r.State == queue.Waiting {
			waits = append(waits, r.Next.Sub(now))
			now = r.Next
		}
	}
	if len(d.To) != 1 || waits[0] != 5*time.Second || waits[1] != 10*time.Second ||
		waits[len(waits)-1] != 15*time.Minute ||
		now.Sub(time.Unix(0, 0)) < queue.Patience || len(r.Tries) > 20 || !d.Failed() {
		t.Errorf("%v, %+v", waits, r)
	}
	if !d.Again("me", "mended", now) || !d.Open() || r.Since != now {
		t.Errorf("%+v", r)
	}
	r.Ended(now, fmt.Errorf("busy"), false, 20*time.Minute)
	if r.Next.Sub(now) != 20*time.Minute {
		t.Errorf("Retry-After is not heeded: %+v", r)
	}
	r.Ended(now, nil, false, 0)
	if d.Again("me", "twice", now) || d.Open() || d.Failed() {
		t.Errorf("%+v", r)
	}
}
