package cmdtest

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"markmill/runs"
)

// closedCase is one way in which a run does not pass.
type closedCase struct {
	name     string // of its notebook in testdata/failclosed.txtar, where notebook is not set
	notebook string
	code     string
	event    runs.EventType // where a reader finds the matter first
	step     string         // whose the blocker is
	status   runs.Status
	args     []string
	resumes  bool // the last run is resumed instead
	prepare  func(*closed)
	files    []string // of the run directory, besides those that are always there
	testLog  string   // what test.log says; "" for the words that there was no test
	patch    bool     // patch.diff is not empty
}

// always are the files of every record.
var always = []string{"SHA256SUMS", "events.jsonl", "notebook.md", "output.md", "patch.diff", "report.json",
	"report.md", "test.log", "trace.jsonl"}

// noTest is what test.log says where the notebook has no test.
const noTest = "No step has the tag test: nothing was tested."

func closedCases() []closedCase {
	const (
		fail, blocked = runs.Fail, runs.Blocked
		finished      = runs.StepFinished
		diff          = runs.GitDiffChecked
		end           = runs.RunCompleted
		gate          = runs.GateBlocked
	)
	ran := func(list ...string) (out []string) {
		for _, word := range list {
			out = append(out, "steps/"+word)
		}
		return out
	}
	changedA := ran("01-a/diff.patch", "01-a/result.json")
	asked := func(c *closed) { c.expect(3, "run", "approval.md") }
	approved := func(options ...string) func(*closed) {
		return func(c *closed) {
			asked(c)
			c.expect(0, append([]string{"approve", "last"}, options...)...)
		}
	}
	request, answer := runs.RequestFile, runs.ApprovalFile
	return []closedCase{
		{name: "step_failed", code: runs.CodeStepFailed, event: finished, step: "a", status: fail,
			files: ran("01-a/result.json", "01-a/stdout")},
		{name: "step_failed_if", code: runs.CodeStepFailed, event: finished, step: "a", status: fail},
		{name: "wrong_tree", code: runs.CodeWrongTree, event: finished, step: "t", status: fail,
			files: ran("01-t/result.json", "01-t/stderr"), testLog: "Permission denied", args: []string{"--tree",
				"separate"}},
		{name: "data_conflict", code: runs.CodeDataConflict, event: end, status: fail,
			files:   ran("01-a/result.json"),
			prepare: func(c *closed) { c.commit(".gitignore", "data/\n") }},
		{name: "verification_failed", code: runs.CodeVerificationFailed, event: finished, step: "t", status: fail,
			patch: true, testLog: "0 passed, 1 failed",
			files: append(changedA, ran("02-t/result.json", "02-t/stdout")...)},
		{name: "verification_failed_skipped", code: runs.CodeVerificationFailed, event: runs.VerificationCompleted,
			status: fail, testLog: "=== t: skipped"},
		{name: "verification_failed_allowed", code: runs.CodeVerificationFailed, event: runs.VerificationCompleted,
			status: fail, files: ran("01-t/result.json"), testLog: "t"},
		{name: "verification_failed_empty", code: runs.CodeVerificationFailed, event: runs.VerificationCompleted,
			status: fail, files: ran("01-t/result.json", "01-t/stderr"), testLog: "Ran 0 tests"},
		{name: "tests_failed", code: runs.CodeTestsFailed, event: finished, step: "t", status: fail,
			files: ran("01-t/result.json", "01-t/stdout"), testLog: "3 passed, 2 failed"},
		{name: "check_critical", code: runs.CodeCheckCritical, event: end, step: "a", status: fail,
			files: ran("01-a/result.json")},
		{name: "judge_changed", code: runs.CodeJudgeChanged, event: runs.VerificationCompleted, step: "t", status: fail,
			files: append(slices.Clip(changedA), ran("02-t/result.json", "02-t/stdout")...), testLog: "1 passed",
			patch: true},
		{name: "reviewer_rejected", code: runs.CodeReviewerRejected, event: finished, step: "r", status: blocked,
			files: ran("01-r/result.json", "01-r/stdout")},
		{name: "timeout", code: runs.CodeTimeout, event: finished, step: "a", status: blocked, patch: true,
			files:   changedA,
			testLog: "t"},
		{name: "run_timeout", code: runs.CodeTimeout, event: finished, step: "a", status: blocked, patch: true,
			files: changedA, testLog: "t"},
		{name: "output_changed", code: runs.CodeOutputChanged, event: end, status: fail,
			files: ran("01-a/result.json", "01-a/stdout"), args: []string{"out.md", "--frozen"},
			prepare: func(c *closed) { c.write("src/out.md", "of another day") }},
		{name: "state_not_rebuilt", code: runs.CodeStateNotRebuilt, event: end, step: "once", status: fail,
			resumes: true,
			files:   append(ran("01-once/result.json"), "resumed/RUN.jsonl"),
			prepare: func(c *closed) {
				c.env = append(c.env, "HOLD="+c.dir)
				c.markmill("run", "state_not_rebuilt.md") // its second step kills it
				c.expect(0, "runs", "maintain", "reconcile")
			}},
		{name: "secret_leaked", code: runs.CodeSecretLeaked, event: finished, step: "a", status: fail, files: changedA,
			patch: true},
		{name: "secret_leaked_late", code: runs.CodeSecretLeaked, event: end, status: fail,
			files: ran("01-a/result.json"),
			patch: true},
		{name: "no_diff", code: runs.CodeNoDiff, event: diff, status: fail, testLog: "1 passed",
			files: ran("01-t/result.json", "01-t/stdout")},
		{name: "no_diff_skipped", code: runs.CodeNoDiff, event: diff, status: fail},
		{name: "no_diff_branch", notebook: "no_diff_skipped", code: runs.CodeNoDiff, event: diff, status: fail,
			args: []string{"--branch", "b"}},
		{name: "allow", code: runs.CodeDisallowedFileChange, event: diff, step: "a", status: fail, patch: true,
			files: changedA},
		{name: "forbid", code: runs.CodeDisallowedFileChange, event: diff, step: "a", status: fail, patch: true,
			files: changedA},
		{name: "rename", code: runs.CodeDisallowedFileChange, event: diff, step: "a", status: fail, patch: true,
			files: changedA},
		{name: "none", code: runs.CodeDisallowedFileChange, event: diff, step: "a", status: fail, patch: true,
			files: changedA},
		{name: "no_change", code: runs.CodeDisallowedFileChange, event: finished, step: "a", status: fail, patch: true,
			files: changedA},
		{name: "too_many_files", code: runs.CodeChangeTooLarge, event: diff, step: "a", status: fail, patch: true,
			files: changedA},
		{name: "too_many_lines", code: runs.CodeChangeTooLarge, event: diff, step: "a", status: fail, patch: true,
			files: changedA},
		{name: "too_many_bytes", code: runs.CodeChangeTooLarge, event: diff, step: "a", status: fail, patch: true,
			files: changedA},
		{name: "dirty_test", code: runs.CodeDirtyEndingTree, event: end, step: "t", status: fail, patch: true,
			testLog: "t",
			files:   ran("01-t/diff.patch", "01-t/result.json")},
		{name: "dirty_after", code: runs.CodeDirtyEndingTree, event: end, step: "a", status: fail, patch: true,
			testLog: "t",
			files:   ran("01-t/result.json", "02-a/diff.patch", "02-a/result.json")},
		{name: "dirty_source", code: runs.CodeDirtyEndingTree, event: end, status: fail, files: ran("01-a/result.json"),
			args: []string{"-p", "source", "$SOURCE", "--tree", "separate"}},
		{name: "scraps", code: runs.CodeStepFailed, event: finished, step: "a", status: fail,
			files: ran("01-a/result.json")},
		{name: "write_output", code: runs.CodeArtifactWriteFailure, event: end, status: fail, patch: true,
			files: changedA,
			args:  []string{"/dev/full"},
			prepare: func(c *closed) {
				if _, err := os.Stat("/dev/full"); err != nil {
					c.t.Skip("there is no /dev/full")
				}
			}},
		{name: "provider_gate", code: runs.CodeProviderUnavailable, event: gate, status: blocked,
			prepare: func(c *closed) {
				if runtime.GOOS != "linux" || os.Geteuid() != 0 {
					c.t.Skip("the sandbox that cannot be had is the limit of root's processes")
				}
			}},
		{name: "provider_missing", code: runs.CodeProviderUnavailable, event: finished, step: "b", status: blocked,
			patch: true, files: changedA,
			prepare: func(c *closed) { c.withoutPython() }},
		{name: "provider_slow", code: runs.CodeProviderUnavailable, event: finished, step: "b", status: blocked,
			patch:   true,
			files:   changedA,
			prepare: func(c *closed) { c.interpreter("python3", "#!/bin/sh\nexec sleep 300\n") },
			args:    []string{"--start-timeout", "5"}},
		{name: "missing_test", code: runs.CodeMissingTestCommand, event: gate, status: blocked},
		{name: "missing_test_left_out", code: runs.CodeMissingTestCommand, event: gate, status: blocked,
			testLog: "=== t: skipped", args: []string{"--skip-tag", "test"}},
		{name: "missing_test_only", notebook: "missing_test_left_out", code: runs.CodeMissingTestCommand, event: gate,
			status: blocked, testLog: "=== t: skipped", args: []string{"--only", "a"}},
		{name: "dirty_start", code: runs.CodeDirtyStartingTree, event: gate, status: blocked,
			prepare: func(c *closed) { c.write("src/new", "x") }},
		{name: "dirty_start_option", code: runs.CodeDirtyStartingTree, event: gate, status: blocked,
			prepare: func(c *closed) { c.write("src/a.txt", "x") }, args: []string{"--dirty", "block"}},
		{name: "approval_required", notebook: "approval", code: runs.CodeApprovalRequired, event: gate, status: blocked,
			files: []string{request}},
		{name: "approval_required_by_require", notebook: "approval_require", code: runs.CodeApprovalRequired,
			event:  gate,
			status: blocked, files: []string{request}},
		{name: "approval_denied", notebook: "approval", code: runs.CodeApprovalDenied, event: runs.ApprovalDenied,
			status: blocked, files: []string{request, answer},
			prepare: func(c *closed) { asked(c); c.expect(0, "deny", "last", "--reason", "no") }},
		{name: "approval_expired", notebook: "approval", code: runs.CodeApprovalExpired, event: gate, status: blocked,
			files:   []string{request},
			prepare: func(c *closed) { approved("--expires", "1ms")(c); time.Sleep(2 * time.Millisecond) }},
		{name: "approval_consumed", notebook: "approval", code: runs.CodeApprovalConsumed, event: gate, status: blocked,
			files:   []string{request},
			prepare: func(c *closed) { approved()(c); c.expect(0, "run", "approval.md") }},
		{name: "approval_mismatch", notebook: "approval", code: runs.CodeApprovalMismatch, event: gate, status: blocked,
			files:   []string{request},
			prepare: approved(), args: []string{"-p", "word", "two"}},
		{name: "secret_missing", code: runs.CodeSecretMissing, event: gate, status: blocked},
		{name: "depth_exceeded", notebook: "depth", code: runs.CodeDepthExceeded, event: gate, status: blocked,
			prepare: func(c *closed) { c.env = append(c.env, "MARKMILL_DEPTH=6") }},
	}
}

// withoutPython leaves Markmill a PATH on which there is no python3.
func (c *closed) withoutPython() {
	c.t.Helper()
	c.must(os.Remove(filepath.Join(c.dir, "bin", "python3")))
	for _, name := range []string{"git", "sh"} {
		at, err := exec.LookPath(name)
		c.must(err)
		c.must(os.Symlink(at, filepath.Join(c.dir, "bin", name)))
	}
	c.env = append(c.env, "PATH="+filepath.Join(c.dir, "bin"))
}

// TestFailClosed runs every row of the table "Fail closed" in docs/evidence.md: what code it gives, where it is told,
// how the run and the process end, which files there are, and that the record holds. Of several ways to one code it
// takes the first; with MARKMILL_ALL set, all.
func TestFailClosed(t *testing.T) {
	t.Parallel()
	books := notebooksOf(t, "testdata/failclosed.txtar")
	seen := map[string]bool{}
	for _, row := range closedCases() {
		if row.notebook == "" {
			row.notebook = row.name
		}
		if seen[row.code] && !everything() {
			continue
		}
		seen[row.code] = true
		t.Run(row.name, func(t *testing.T) {
			text, ok := books[row.notebook+".md"]
			if !ok {
				t.Fatalf("testdata/failclosed.txtar has no %s.md", row.notebook)
			}
			t.Parallel()
			c := newClosed(t)
			c.commit(row.notebook+".md", text)
			row.run(c)
		})
	}
}

func (row closedCase) run(c *closed) {
	t := c.t
	if row.prepare != nil {
		row.prepare(c)
	}
	c.started()
	c.before = c.everything()
	args := []string{"run", row.notebook + ".md", "--no-progress-bar"}
	if row.resumes {
		args = []string{"resume", "last", "--no-progress-bar"}
	}
	for _, a := range row.args {
		args = append(args, strings.ReplaceAll(a, "$SOURCE", c.src))
	}
	out, exit := c.markmill(args...)
	if want := map[runs.Status]int{runs.Fail: 1, runs.Blocked: 3}[row.status]; exit != want {
		t.Errorf("exit %d, want %d\n%s", exit, want, out)
	}
	if !strings.Contains(out, "markmill: "+row.code+": ") {
		t.Errorf("the code %s is not told:\n%s", row.code, out)
	}
	dir := c.last()
	if dir == "" {
		t.Fatalf("there is no record\n%s", out)
	}
	run, _, err := runs.At(dir).Load()
	c.must(err)
	if run.Status() != row.status {
		t.Errorf("the status is %s, want %s", run.Status(), row.status)
	}
	row.blocker(c, dir)
	files := slices.Concat(always, row.files)
	if row.code != runs.CodeSecretLeaked && slices.ContainsFunc(files,
		func(f string) bool { return strings.HasSuffix(f, "diff.patch") }) {
		files = append(files, runs.BundleFile) // a step changed something
	}
	for _, s := range run.Steps {
		if s.Finished != nil && s.Finished.Reads != nil && s.Finished.Reads.File != "" {
			files = append(files, s.Finished.Reads.File)
		}
	}
	want := slices.Sorted(slices.Values(files))
	got := c.recordFiles(dir)
	for i, name := range got { // the journal of a run that this one goes on from
		if strings.HasPrefix(name, "resumed/") {
			got[i] = "resumed/RUN.jsonl"
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the files are\n%q, want\n%q", got, want)
	}
	if patch := c.read(runs.At(dir).File(runs.PatchFile)); (patch != "") != row.patch {
		t.Errorf("patch.diff is %q", patch)
	}
	if log := c.read(runs.At(dir).File(runs.TestLogFile)); !strings.Contains(log, cmp.Or(row.testLog, noTest)) {
		t.Errorf("test.log is %q, without %q", log, cmp.Or(row.testLog, noTest))
	}
	if out := c.expect(0, "verify", dir); !strings.Contains(out, "everything holds") {
		t.Error(out)
	}
	row.untouched(c, dir, len(run.Steps) > 0 && run.Steps[0].Step != nil)
	c.remedied(run, row.code, out)
	c.oneVerdict(run, "\n"+out)
}

// untouched holds what the run did outside its record: with a gate that is not met, nothing at all.
func (row closedCase) untouched(c *closed, dir string, started bool) {
	rel, err := filepath.Rel(c.dir, dir)
	c.must(err)
	words := c.started()
	if (len(words) > 0) != started {
		c.t.Errorf("interpreters that were started: %q; a step was started: %v", words, started)
	}
	gated := row.event == runs.GateBlocked || row.event == runs.ApprovalDenied
	if gated && started {
		c.t.Error("a step was started, and a gate was not met")
	}
	except := func(path string) bool {
		for _, own := range []string{filepath.ToSlash(rel), "src/.markmill/approvals", "src/.markmill/made",
			"src/.markmill/data", "home/state"} { // the key of the user
			if path == own || strings.HasPrefix(path, own+"/") {
				return true
			}
		}
		if path == "src/.markmill" || path == "src/.markmill/runs" || path == "src/.markmill/.gitignore" ||
			path == "src/.markmill/open" || path == "word" {
			return true
		}
		// What a run that started leaves besides: empty folders of caches.
		return !gated && (strings.HasPrefix(path, "home/") && c.isFolder(path) ||
			path == "src/.markmill/history" || strings.HasPrefix(path, "src/.markmill/history/") || // of checks
			strings.HasPrefix(path, "home/cache/markmill/programs/") || // digests of interpreters
			row.name == "dirty_source" && path == "src/a.txt")
	}
	if got := c.touched(except); len(got) > 0 {
		c.t.Errorf("touched outside the record: %q", got)
	}
}

// isFolder says whether there is a folder below the test's folder.
func (c *closed) isFolder(path string) bool {
	info, err := os.Lstat(filepath.Join(c.dir, filepath.FromSlash(path)))
	return err == nil && info.IsDir()
}

// blocker holds where the code stands: in run.completed, and in the event that carries it first.
func (row closedCase) blocker(c *closed, dir string) {
	t := c.t
	source, err := os.ReadFile(filepath.Join(dir, "notebook.md"))
	c.must(err)
	file, err := runs.At(dir).Open(runs.JournalFile)
	c.must(err)
	defer file.Close()
	events, _, err := runs.ReadJournal(file, runs.DigestOf(source))
	c.must(err)
	run, err := runs.Fold(events)
	c.must(err)
	i := slices.IndexFunc(run.Completed.Blockers, func(b runs.Blocker) bool { return b.Code == row.code })
	if i < 0 {
		t.Fatalf("run.completed has no %s: %v", row.code, run.Completed.Blockers)
	}
	b := run.Completed.Blockers[i]
	if string(b.Step) != row.step || b.Message == "" {
		t.Errorf("the blocker is %+v, want one of step %q", b, row.step)
	}
	first := runs.RunCompleted
	quoted := regexp.MustCompile(`"code":"` + row.code + `"`)
	for _, e := range events {
		ended := regexp.MustCompile(`"status":"(fail|timeout|pending)"`)
		if quoted.Match(e.Data) && e.Type != runs.ApprovalRequested || row.step != "" && e.Type == runs.StepFinished &&
			string(e.Step) == row.step && ended.Match(e.Data) {
			first = e.Type
			break
		}
	}
	if first != row.event {
		t.Errorf("it is first told in %s, want %s", first, row.event)
	}
}

// TestFailClosedIsWhole fails when a code has no row.
func TestFailClosedIsWhole(t *testing.T) {
	covered := map[string]bool{runs.CodeMissingRequiredEvent: true} // TestMissingRequiredEvent
	// An interruption: ../markmill/runs/testdata/abort.txtar.
	elsewhere := []string{runs.CodeAborted}
	// Those of agents have the scenarios of agents_linux_test.go, and a table in docs/agents.md.
	agents := readDoc(t, "agents.md").section(t, "What is recorded")
	for _, row := range closedCases() {
		covered[row.code] = true
	}
	codes := constants(t, "../../runs/cause.go", "Code")
	if len(codes) < 20 {
		t.Fatalf("only %d codes are found in runs/cause.go", len(codes))
	}
	for _, code := range codes { // or its message and the next command say all that is known
		own := []string{runs.CodeStepFailed, runs.CodeVerificationFailed, runs.CodeCheckCritical,
			runs.CodeReviewerRejected, runs.CodeAborted}
		if runs.Fix(code) == "" != slices.Contains(own, code) {
			t.Errorf("the code %s has the remedy %q", code, runs.Fix(code))
		}
	}
	codes = slices.DeleteFunc(codes, func(code string) bool { return slices.Contains(elsewhere, code) })
	for _, code := range codes {
		if strings.HasPrefix(code, "provider_") && code != runs.CodeProviderUnavailable {
			elsewhere = append(elsewhere, code)
			if !agents.hasRow(code) {
				t.Errorf("the code %s has no row in docs/agents.md", code)
			}
		} else if !covered[code] {
			t.Errorf("the code %s has no case in closedCases", code)
		}
	}
	codes = slices.DeleteFunc(codes, func(code string) bool { return slices.Contains(elsewhere, code) })
	rows := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|.*\\| (fail|blocked) \\|$").FindAllStringSubmatch(
		string(readDoc(t,
			"evidence.md").section(t, "Fail closed")), -1)
	if len(rows) != len(codes) {
		t.Errorf("the table of docs/evidence.md has %d rows for %d codes", len(rows), len(codes))
	}
	for _, row := range rows {
		for _, c := range closedCases() {
			if c.code == row[1] && string(c.status) != row[2] {
				t.Errorf("%s: the case %s ends as %s, the table says %s", c.code, c.name, c.status, row[2])
			}
		}
	}
}
