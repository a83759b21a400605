package runs

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"markmill/notebooks/codec"
)

func TestReportHasEveryMember(t *testing.T) {
	r := aPass(t, newStore(t), aTime, 1)
	text, err := os.ReadFile(filepath.Join(r.dir, ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]codec.Raw
	if err := codec.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	// The list of docs/evidence.md; terminated_by only where something was.
	want := []string{
		"allowed_writes_passed", "approval_status", "artifact_digests", "artifact_paths", "artifacts_dir", "backend",
		"backend_exit_code", "base_commit", "blockers", "changed_files", "freshness", "parameters", "result_commit",
		"run_finished_at", "run_id", "run_started_at", "schema_version", "scraps", "source_repository_mutated",
		"status", "steps", "task_id", "verification",
	}
	if got := slices.Sorted(maps.Keys(members)); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for name, want := range map[string]string{
		"schema_version": `1`, "task_id": `"fix"`, "status": `"pass"`, "backend": `"bash,python"`,
		"backend_exit_code": `0`,
		"artifacts_dir":     `"."`, "base_commit": `"b0"`, "result_commit": `"c1"`, "allowed_writes_passed": `true`,
		"approval_status": `"not-required"`, "blockers": `[]`, "run_started_at": `"2020-11-21T09:00:00.001Z"`,
		"parameters":   `[{"from":"-p","given":true,"name":"n","type":"int","value":12345678901234567890123}]`,
		"freshness":    `{"passed":true,"stale":[]}`,
		"verification": `[{"command":"check","duration_ns":7,"exit_code":0,"status":"pass","tests":{"failed":0,"passed":3,"runner":"pytest","skipped":0}}]`,
	} {
		if got, err := codec.Marshal(members[name]); err != nil || string(got) != want {
			t.Errorf("%s is %s, want %s (%v)", name, got, want, err)
		}
	}
	report, err := At(r.dir).ReadReport()
	if err != nil {
		t.Fatal(err)
	}
	paths := filesOf(t, r.dir)
	paths = slices.DeleteFunc(paths, func(path string) bool {
		return path == ReportFile || path == ReportPageFile || path == SumsFile
	})
	slices.Sort(paths)
	if !reflect.DeepEqual(report.ArtifactPaths, paths) || len(report.ArtifactDigests) != len(paths) {
		t.Errorf("artifacts are %v, want %v", report.ArtifactPaths, paths)
	}
	if got := report.ArtifactDigests["notebook.md"]; got != DigestOf(r.source) {
		t.Errorf("the source's digest is %s", got)
	}
}

func TestReportOfTheDecidingStep(t *testing.T) {
	started := &StepStartedData{Kernel: "bash"}
	finished := func(status StepStatus, exit int, by string) StepRecord {
		return StepRecord{Step: started, Finished: &StepFinishedData{Status: status, Exit: exit, TerminatedBy: by}}
	}
	skipped := StepRecord{Finished: &StepFinishedData{Status: StepSkipped}}
	for _, c := range []struct {
		name  string
		steps []StepRecord
		exit  int // -1: null
		by    string
	}{
		{"none ran", []StepRecord{skipped}, -1, ""},
		{"the last", []StepRecord{finished(StepPassed, 0, ""), finished(StepAllowed, 3, ""), skipped}, 3, ""},
		{"the first that failed", []StepRecord{finished(StepPassed, 0, ""), finished(StepFailed, 2, ""),
			finished(StepPassed, 0, "")}, 2, ""},
		{"ended by the engine", []StepRecord{finished(StepTimeout, 143, "timeout"), finished(StepPassed, 0, "")}, 143,
			"timeout"},
	} {
		t.Run(c.name, func(t *testing.T) {
			report, err := At(t.TempDir()).Report(&Run{Steps: c.steps}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := -1
			if report.BackendExitCode != nil {
				got = *report.BackendExitCode
			}
			if got != c.exit || report.TerminatedBy != c.by {
				t.Errorf("got %d %q, want %d %q", got, report.TerminatedBy, c.exit, c.by)
			}
		})
	}
}

func TestBefore(t *testing.T) {
	start := time.Date(2020, 1, 1, 0, 0, 10, 5e8, time.UTC)
	for _, c := range []struct {
		file time.Time
		want bool
	}{
		{start, false},
		{start.Add(-10 * time.Millisecond), false}, // the tick of the kernel's clock
		{start.Add(-30 * time.Millisecond), true},
		{start.Truncate(2 * time.Second), false},                      // a file system of whole seconds
		{start.Truncate(2 * time.Second).Add(-2 * time.Second), true}, // and an older file on it
	} {
		if got := before(c.file, start); got != c.want {
			t.Errorf("%s: got %v", c.file, got)
		}
	}
}

func TestReportOfNamesThatAreNotUTF8(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a\xff\uFFFD"), nil, 0o644); err != nil {
		t.Skip("no such names here:", err)
	}
	report, err := At(dir).Report(&Run{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := report.JSON(); err != nil || !reflect.DeepEqual(report.ArtifactPaths, []string{`a\xff` + "\uFFFD"}) {
		t.Errorf("got %q, %v", report.ArtifactPaths, err)
	}
	if err := At(dir).Seal(report.ArtifactDigests); err != nil {
		t.Fatal(err)
	}
	if findings, err := At(dir).CheckSums(); err != nil || len(findings) > 0 {
		t.Errorf("got %v, %v", findings, err)
	}
}
