package index_test

import (
	"slices"
	"testing"

	"markmill/runs"
	"markmill/runs/index"
)

// Stats say what a count by hand over the folds of the journals says.
func TestStats(t *testing.T) {
	store := aStore(t, 200)
	x, _ := open(t, store)
	got, err := x.Stats(index.Filter{Notebook: "report.md"})
	if err != nil || len(got) != 1 || got[0].Notebook != "report.md" {
		t.Fatal(got, err)
	}
	entries, err := store.List()
	if err != nil {
		t.Fatal(err)
	}
	count, passed, failed, checks := 0, 0, 0, []float64{}
	var times []float64
	verdicts := map[string]map[runs.Status]int{}
	for _, e := range entries {
		if e.Notebook != "report.md" {
			continue
		}
		count++
		_, run := store.Claim(e.ID)
		if e.Status == runs.Interrupted {
			continue
		}
		times = append(times, e.FinishedAt.Sub(e.StartedAt).Seconds())
		checks = append(checks, float64(run.Steps[2].Finished.DurationNS)/1e9)
		key := string(run.Source) + run.Contract.BaseCommit
		for _, p := range run.Contract.Parameters {
			key += string(p.Value) + ","
		}
		if verdicts[key] == nil {
			verdicts[key] = map[runs.Status]int{}
		}
		verdicts[key][e.Status]++
		if e.Status == runs.Pass {
			passed++
			if passed == 1 && (got[0].LastGreen == nil || got[0].LastGreen.Run != e.ID) {
				t.Errorf("last green %+v, want %s", got[0].LastGreen, e.ID)
			}
		} else {
			failed++
		}
	}
	slices.Sort(times)
	slices.Sort(checks)
	rank := func(v []float64, p int) float64 { return v[(len(v)*p+99)/100-1] }
	s := got[0]
	if s.Runs != count || s.Statuses["pass"] != passed || s.Statuses["fail"] != failed ||
		*s.PassRate != float64(passed)/float64(passed+failed) || failed == 0 {
		t.Errorf("%+v, want %d runs, %d passed, %d failed", s, count, passed, failed)
	}
	if s.P50 != rank(times, 50) || s.P95 != rank(times, 95) || s.Slowest[0].Seconds != times[len(times)-1] {
		t.Errorf("p50 %v, p95 %v, slowest %v", s.P50, s.P95, s.Slowest[0])
	}
	if last := s.Steps[2]; last.Step != "check" || last.P95 != rank(checks, 95) || last.Failed != failed ||
		last.Runs != len(checks) {
		t.Errorf("step %+v", last)
	}
	flaky := 0
	for _, v := range verdicts {
		if v[runs.Pass] > 0 && v[runs.Fail] > 0 {
			flaky++
		}
	}
	if len(s.Flaky) != flaky || flaky == 0 {
		t.Errorf("%d flaky, want %d", len(s.Flaky), flaky)
	}
}
