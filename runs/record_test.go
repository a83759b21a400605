package runs

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/region"
)

// record is a run directory that a test makes by hand, file by file and event by event.
type record struct {
	t      testing.TB
	dir    string
	id     RunID
	source []byte
	*Journal
}

// created makes the directory of a run that is not alive.
func created(t testing.TB, store Store, id RunID) string {
	t.Helper()
	record, release, err := store.Create(id)
	if err != nil {
		t.Fatal(err)
	}
	release()
	return record.Path()
}

// newRecord begins a run in a store: its source is there and run.started is in its journal.
func newRecord(t testing.TB, store Store, start time.Time, random byte) *record {
	t.Helper()
	return newRecordOf(t, store, start, random, RunStartedData{})
}

// newRecordOf is newRecord of a run.started that says more.
func newRecordOf(t testing.TB, store Store, start time.Time, random byte, started RunStartedData) *record {
	t.Helper()
	r := &record{t: t, id: NewRunID(start, "fix.md", []byte{random}),
		source: []byte("# Fix\n\n```bash {#change}\ntrue\n```\n\nmore\n")}
	r.dir = created(t, store, r.id)
	r.write("notebook.md", string(r.source))
	var err error
	if r.Journal, err = CreateJournal(filepath.Join(r.dir, JournalFile), DigestOf(r.source),
		ticking(start)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	started.Views = ViewsVersion
	started.RunID, started.Notebook, started.SourceFile = r.id, "tasks/fix.md", "notebook.md"
	mustAppend(t, r.Journal, RunStarted, "", started)
	return r
}

// write writes a file of the record and returns its digest.
func (r *record) write(path, text string) Digest {
	r.t.Helper()
	path = filepath.Join(r.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := WriteFile(path, []byte(text)); err != nil {
		r.t.Fatal(err)
	}
	return DigestOf([]byte(text))
}

// steps appends the contract, the plan and two steps that changed and tested something.
func (r *record) steps() {
	r.t.Helper()
	j := r.Journal
	mustAppend(r.t, j, ContractCreated, "", ContractData{
		ContractRules: ContractRules{TaskID: "fix", BaseCommit: "b0", AllowedPaths: []string{"parser/**"},
			MutationMode: "worktree"},
		Parameters: []ParamData{{Name: "n", Type: "int", Value: codec.Raw("12345678901234567890123"), From: "-p",
			Given: true}},
	})
	mustAppend(r.t, j, PlanUpdated, "", PlanData{Steps: []PlannedStep{
		{ID: "change", Index: 0, Lang: "bash", Kernel: "bash", Action: ActionRun},
		{ID: "check", Index: 1, Lang: "python", Kernel: "python", Tags: []string{"test"}, Action: ActionRun},
		{ID: "later", Index: 2, Lang: "bash", Kernel: "bash", Action: ActionSkip, Reason: "tag skip"},
	}})
	mustAppend(r.t, j, StepStarted, "change", StepStartedData{Index: 0, Dir: "steps/00-change", Kernel: "bash",
		Program: "/bin/bash", Attempt: 1})
	mustAppend(r.t, j, ScrapRecorded, "change", ScrapData{Name: "old", Type: ScrapJSON, Value: codec.Raw("1.50")})
	mustAppend(r.t, j, ScrapRecorded, "change", ScrapData{
		Name: "plot", Type: ScrapImage, File: "steps/00-change/plot.png", Digest: r.write("steps/00-change/plot.png",
			"PNG"),
	})
	mustAppend(r.t, j, PatchApplied, "change", PatchData{
		Commit: "c1", Patch: "steps/00-change/diff.patch", Digest: r.write("steps/00-change/diff.patch",
			"--- a\n+++ b\n"),
		Files: []ChangedFile{{Path: "parser/parse.go", Status: "modified", Added: 1, Deleted: 1}},
	})
	mustAppend(r.t, j, StepFinished, "change", StepFinishedData{
		Index: 0, Status: StepPassed, Attempts: 1, DurationNS: 5,
		Stdout: StreamData{File: "steps/00-change/stdout", Bytes: 3, Digest: r.write("steps/00-change/stdout", "hi\n")},
		Result: "steps/00-change/result.json", ResultDigest: r.write("steps/00-change/result.json", "{}\n"),
		Commit: "c1",
	})
	mustAppend(r.t, j, StepStarted, "check", StepStartedData{Index: 1, Dir: "steps/01-check", Kernel: "python",
		Attempt: 1})
	mustAppend(r.t, j, ScrapRecorded, "check", ScrapData{Name: "old", Type: ScrapJSON, Value: codec.Raw("2")})
	mustAppend(r.t, j, StepFinished, "check", StepFinishedData{
		Index: 1, Status: StepPassed, Attempts: 1, DurationNS: 7, Tests: &TestCounts{Runner: "pytest", Passed: 3},
		Stderr: StreamData{File: "steps/01-check/stderr", Bytes: 2, Digest: r.write("steps/01-check/stderr", "e\n")},
		Displays: []DisplayData{{MIME: "text/html", File: "steps/01-check/display-1.html", Bytes: 4,
			Digest: r.write("steps/01-check/display-1.html", "<b/>")}},
	})
}

// finish appends what ends a pass and writes all files.
func (r *record) finish() {
	r.t.Helper()
	r.finishWith(CompletedData{Status: Pass, ResultCommit: "c1"})
}

// finishWith does that with another end.
func (r *record) finishWith(end CompletedData) {
	r.t.Helper()
	mustAppend(r.t, r.Journal, GitDiffChecked, "", DiffCheckedData{
		BaseCommit: "b0", ResultCommit: "c1", AllowedPassed: true,
		Files: []ChangedFile{{Path: "parser/parse.go", Status: "modified", Added: 1, Deleted: 1}},
		Patch: PatchFile, PatchDigest: r.write(PatchFile, "--- a\n+++ b\n"),
	})
	mustAppend(r.t, r.Journal, VerificationCompleted, "", VerificationData{
		Passed: true, Steps: []VerificationStep{{Step: "check", Status: StepPassed, DurationNS: 7,
			Tests: &TestCounts{Runner: "pytest", Passed: 3}}},
	})
	mustAppend(r.t, r.Journal, RunCompleted, "", end)
	if err := r.Close(); err != nil {
		r.t.Fatal(err)
	}
	run, _, err := At(r.dir).Load()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := writeFolds(r.dir, run); err != nil {
		r.t.Fatal(err)
	}
}

// renderForTest stands in for the view of a run.
// rendering takes report.md and test.log as they stand, and makes the output notebook with f.
func rendering(f func(record *Record, run *Run, source []byte, name string) ([]byte, error)) RenderFunc {
	return func(w io.Writer, record *Record, run *Run, source []byte, name string) error {
		if name == ReportPageFile || name == TestLogFile {
			b, err := record.ReadFile(name)
			if err != nil {
				return err
			}
			_, err = w.Write(b)
			return err
		}
		b, err := f(record, run, source, name)
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	}
}

func renderForTest(_ *Record, run *Run, source []byte, _ string) ([]byte, error) {
	notebook := notebooks.Manifest{Status: string(run.Status())}
	at := len("# Fix\n\n```bash {#change}\ntrue\n```\n")
	return region.Splice(source, []region.Region{{ID: "change", At: at, Body: []byte("exit 0\n")}}, notebook), nil
}

// writeFolds writes what follows from the journal.
func writeFolds(dir string, run *Run) error {
	source, err := At(dir).Source()
	if err != nil {
		return err
	}
	output, err := renderForTest(At(dir), run, source, OutputFile)
	if err != nil {
		return err
	}
	files := map[string][]byte{TestLogFile: []byte("3 passed\n"), PatchFile: []byte("--- a\n+++ b\n")}
	if run.Diff == nil {
		files[PatchFile] = nil
	}
	if run.Left(OutputFile) == nil {
		files[OutputFile] = output
	}
	for path, text := range files {
		if err := WriteFile(filepath.Join(dir, path), text); err != nil {
			return err
		}
	}
	return writeReport(dir, run)
}

func writeReport(dir string, run *Run) error {
	report, err := At(dir).Report(run, nil)
	if err != nil {
		return err
	}
	text, err := report.JSON()
	if err != nil {
		return err
	}
	if err := WriteFile(filepath.Join(dir, ReportFile), text); err != nil {
		return err
	}
	if err := WriteFile(filepath.Join(dir, ReportPageFile), []byte("# Report\n")); err != nil {
		return err
	}
	return At(dir).Seal(report.ArtifactDigests)
}

func newStore(t testing.TB) Store { return Store{Dir: filepath.Join(t.TempDir(), ".markmill")} }

// aPass is a whole run directory of a run that passed.
func aPass(t testing.TB, store Store, start time.Time, random byte) *record {
	t.Helper()
	r := newRecord(t, store, start, random)
	r.steps()
	r.finish()
	return r
}
