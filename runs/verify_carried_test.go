package runs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// resumedRecord writes the journal of a run that carries step a of another and ran step b itself. change has the
// last word on the data of an event of a before it is written; dropping it (nil) leaves the event out.
func resumedRecord(t *testing.T, change func(n int, e EventType, data map[string]any) map[string]any) string {
	t.Helper()
	source := []byte("# Two steps\n")
	return goneOn(t, source, source, nil, change)
}

// goneOn is resumedRecord for a run before whose notebook is then; fork is what a fork says.
func goneOn(t *testing.T, then, source []byte, fork *ForkData,
	change func(n int, e EventType, data map[string]any) map[string]any) string {
	t.Helper()
	dir := t.TempDir()
	clock := ticking(aTime)
	if err := WriteFile(filepath.Join(dir, "notebook.md"), source); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ResumedDir), 0o755); err != nil {
		t.Fatal(err)
	}
	const was, is = RunID("20261121T100000Z-n-0102030405060708"), RunID("20261121T110000Z-n-0102030405060709")
	plan := PlanData{Steps: []PlannedStep{{ID: "a", Action: ActionRun}, {ID: "b", Index: 1, Action: ActionRun}}}
	var events []Event
	var journal *Journal
	add := func(e EventType, step notebooks.StepID, data any) {
		ev, err := journal.Append(e, step, data)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
	}
	if fork != nil {
		fork.File, fork.Digest = ForkedSource(was, "notebook.md"), DigestOf(then)
		if err := WriteFile(filepath.Join(dir, filepath.FromSlash(fork.File)), then); err != nil {
			t.Fatal(err)
		}
	}
	open := func(file string, source []byte) {
		var err error
		if journal, err = CreateJournal(filepath.Join(dir, filepath.FromSlash(file)), DigestOf(source),
			clock); err != nil {
			t.Fatal(err)
		}
	}
	open(ResumedFile(was), then)
	add(RunStarted, "", RunStartedData{Views: ViewsVersion, RunID: was, SourceFile: "notebook.md"})
	add(ContractCreated, "", ContractData{})
	add(PlanUpdated, "", plan)
	add(StepStarted, "a", StepStartedData{Dir: "steps/01-a", Attempt: 1})
	add(ScrapRecorded, "a", ScrapData{Name: "n", Type: ScrapJSON, Value: codec.Raw("1")})
	add(ScrapRecorded, "a", ScrapData{Name: "m", Type: ScrapJSON, Value: codec.Raw("2")})
	add(StepFinished, "a", StepFinishedData{Status: StepPassed, Attempts: 1, Commit: "c1", Tree: "t1"})
	add(RunCompleted, "", CompletedData{Status: Interrupted})
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(ResumedFile(was))))
	if err != nil {
		t.Fatal(err)
	}
	before := events
	open(JournalFile, source)
	last := before[len(before)-1]
	add(RunStarted, "", RunStartedData{Views: ViewsVersion, RunID: is, SourceFile: "notebook.md",
		ResumedFrom: &ResumedData{Run: was, Seq: last.Seq, Hash: last.Hash,
			File: ResumedFile(was), Digest: DigestOf(text), Fork: fork}})
	add(ContractCreated, "", ContractData{})
	add(PlanUpdated, "", plan)
	for n, e := range before[3:7] {
		var data map[string]any
		if err := codec.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		data["carried"] = map[string]any{"run_id": was, "seq": e.Seq, "hash": e.Hash, "ran_in": was, "time": e.Time,
			"forked": fork != nil}
		if e.Type == StepFinished {
			data["commit"] = "c2"
		}
		if data = change(n, e.Type, data); data != nil {
			add(e.Type, "a", data)
		}
	}
	add(StepStarted, "b", StepStartedData{Index: 1, Dir: "steps/02-b", Attempt: 1})
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestVerifyCarried(t *testing.T) {
	set := func(at int, name string, value any) func(int, EventType, map[string]any) map[string]any {
		return func(n int, _ EventType, data map[string]any) map[string]any {
			if n == at {
				data[name] = value
			}
			return data
		}
	}
	mark := func(at int, name string, value any) func(int, EventType, map[string]any) map[string]any {
		return func(n int, _ EventType, data map[string]any) map[string]any {
			if n == at {
				data["carried"].(map[string]any)[name] = value
			}
			return data
		}
	}
	without := func(at int) func(int, EventType, map[string]any) map[string]any {
		return func(n int, _ EventType, data map[string]any) map[string]any {
			if n == at {
				return nil
			}
			return data
		}
	}
	unmarked := func(at int) func(int, EventType, map[string]any) map[string]any {
		return func(n int, _ EventType, data map[string]any) map[string]any {
			if n == at {
				delete(data, "carried")
			}
			return data
		}
	}
	for _, c := range []struct {
		name   string
		change func(int, EventType, map[string]any) map[string]any
		want   string // "" is nothing
	}{
		{"as it was", set(-1, "", nil), ""},
		{"a scrap is another", set(1, "value", 7), "value is 7, and was 1"},
		{"the step is said to have failed", set(3, "status", "fail"), `status is "fail", and was "pass"`},
		{"another tree", set(3, "tree", "t9"), "tree is"},
		{"a member more", set(3, "reason", "because"), "reason was not there"},
		{"another hash", mark(1, "hash", DigestOf(nil)), "it names event 4"},
		{"another event", mark(1, "seq", 5), "it names event 5"},
		{"another run", mark(0, "ran_in", "20261121T090000Z-n-0102030405060708"), "that ran in"},
		{"another time", mark(0, "time", aTime.Add(-time.Hour)), "that ran in"},
		{"a fork that is none", mark(3, "forked", true), "it says of a fork that it was none, or the reverse"},
		{"a scrap is left out", without(1), "is carried from event 4"},
		{"the last scrap is left out", without(2), "is carried from event 5"},
		{"a scrap is the run's own", unmarked(1), "is the run's own, and others of the step are carried"},
		{"the end is the run's own", unmarked(3), "is the run's own, and others of the step are carried"},
	} {
		t.Run(c.name, func(t *testing.T) {
			check := openCheck(t, resumedRecord(t, c.change))
			check.carried()
			expectFinding(t, check.v.Findings, c.want)
		})
	}
	t.Run("its journal is another", func(t *testing.T) {
		dir := resumedRecord(t, set(-1, "", nil))
		found, err := filepath.Glob(filepath.Join(dir, ResumedDir, "*"))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		text, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, now := range []string{strings.Replace(string(text), `"status":"pass"`, `"status":"fail"`, 1),
			string(text[:len(text)-1]), ""} {
			if err := os.WriteFile(found[0], []byte(now), 0o644); err != nil {
				t.Fatal(err)
			}
			check := openCheck(t, dir)
			check.carried()
			expectFinding(t, check.v.Findings, "has changed")
			if len(check.v.Findings) < 2 {
				t.Errorf("of the journal that holds %d bytes carried finds nothing", len(now))
			}
		}
	})
}

// TestVerifyFork: a carried step of a fork must be the same in both notebooks, and stand before the step where it
// begins.
func TestVerifyFork(t *testing.T) {
	const a, b = "```bash {#a}\necho one\n```\n", "```bash {#b}\necho two\n```\n"
	then, same := []byte(a+b), func(_ int, _ EventType, data map[string]any) map[string]any { return data }
	for _, c := range []struct {
		name, now string
		at        notebooks.StepID
		want      string // "" is nothing
	}{
		{"a later step has changed", "Prose.\n\n" + a + strings.Replace(b, "two", "2", 1), "b", ""},
		{"the output of the carried step is shown otherwise", strings.Replace(a, "#a", "#a output=folded", 1) + b, "b",
			""},
		{"the carried step has changed", strings.Replace(a, "one", "1", 1) + b, "b", "another step of that id"},
		{"its options have changed", strings.Replace(a, "#a", "#a retries=2", 1) + b, "b", "another step of that id"},
		{"the carried step is gone", b, "b", "another step of that id"},
		{"the fork begins at the carried step", a + b, "a", "the fork begins at it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			check := openCheck(t, goneOn(t, then, []byte(c.now), &ForkData{At: c.at}, same))
			check.carried()
			expectFinding(t, check.v.Findings, c.want)
		})
	}
	t.Run("the notebook of the run before is another", func(t *testing.T) {
		fork := &ForkData{At: "b"}
		dir := goneOn(t, then, then, fork, same)
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(fork.File)), []byte(a), 0o644); err != nil {
			t.Fatal(err)
		}
		check := openCheck(t, dir)
		check.carried()
		expectFinding(t, check.v.Findings, "has changed")
	})
}

// openCheck is a verification that has read its journal.
func openCheck(t *testing.T, dir string) *check {
	t.Helper()
	c := &check{v: &Verification{Dir: dir}, record: At(dir)}
	c.journal()
	if len(c.v.Findings) > 0 {
		t.Fatal(c.v.Findings)
	}
	return c
}

func expectFinding(t *testing.T, findings []Finding, want string) {
	t.Helper()
	switch {
	case want == "" && len(findings) > 0:
		t.Errorf("found %v", findings)
	case want != "" && (len(findings) == 0 || !strings.Contains(findings[0].Message, want)):
		t.Errorf("found %v, and %q was expected", findings, want)
	}
}
