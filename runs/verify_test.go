package runs

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"markmill/notebooks/codec"
)

func verify(t *testing.T, dir string) *Verification {
	t.Helper()
	v, err := At(dir).Verify(rendering(renderForTest), Signers{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVerifyPasses(t *testing.T) {
	r := aPass(t, newStore(t), aTime, 1)
	v := verify(t, r.dir)
	if !v.OK() || v.Status != Pass || v.RunID != r.id {
		t.Errorf("got %s %s, %v", v.RunID, v.Status, v.Findings)
	}
}

// filesOf is every file of a run directory, by path.
func filesOf(t *testing.T, dir string) []string {
	t.Helper()
	var paths []string
	if err := At(dir).walk(func(path string) error {
		paths = append(paths, path)
		return nil
	}, nil); err != nil {
		t.Fatal(err)
	}
	return paths
}

// TestVerifyNoticesEveryFile changes, empties and deletes each file of a record, with the time of
// the file put back, and adds files; a record that was mended is whole again.
func TestVerifyNoticesEveryFile(t *testing.T) {
	r := aPass(t, newStore(t), aTime, 1)
	for _, path := range filesOf(t, r.dir) {
		full := filepath.Join(r.dir, path)
		text, err := os.ReadFile(full)
		if err != nil {
			t.Fatal(err)
		}
		for name, damage := range map[string]func() error{
			"first byte": func() error { return os.WriteFile(full, append([]byte{text[0] ^ 1}, text[1:]...), 0o644) },
			"last byte": func() error {
				return os.WriteFile(full, append(text[:len(text)-1:len(text)-1], '!'), 0o644)
			},
			"longer":    func() error { return os.WriteFile(full, append(bytes.Clone(text), 'x'), 0o644) },
			"emptied":   func() error { return os.WriteFile(full, nil, 0o644) },
			"deleted":   func() error { return os.Remove(full) },
			"a folder":  func() error { return errors.Join(os.Remove(full), os.Mkdir(full, 0o755)) },
			"a symlink": func() error { return errors.Join(os.Remove(full), os.Symlink("/dev/null", full)) },
		} {
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			v := verify(t, r.dir)
			if v.OK() {
				t.Errorf("%s: %s went unseen", path, name)
			}
			named := false
			for _, finding := range v.Findings {
				named = named || finding.Where == path || strings.Contains(finding.Message, path)
			}
			if !named {
				t.Errorf("%s: %s is not named in %v", path, name, v.Findings)
			}
			if err := os.RemoveAll(full); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(full, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, path := range []string{"extra", "steps/00-change/extra", ".hidden"} {
		full := filepath.Join(r.dir, path)
		if err := os.WriteFile(full, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if v := verify(t, r.dir); v.OK() || v.Findings[0].Where != path {
			t.Errorf("%s was added; got %v", path, v.Findings)
		}
		if err := os.Remove(full); err != nil {
			t.Fatal(err)
		}
	}
	if v := verify(t, r.dir); !v.OK() {
		t.Errorf("mended: %v", v.Findings)
	}
}

// TestVerifyDoesNotTrustSums: who changes a file and writes SHA256SUMS again is told by what the file
// follows from.
func TestVerifyDoesNotTrustSums(t *testing.T) {
	store := newStore(t)
	for i, c := range []struct{ path, old, new, want string }{
		{"notebook.md", "Fix", "Fox", "source notebook: has changed"},
		{"steps/00-change/stdout", "hi", "ho", "steps/00-change/stdout: has changed: the journal says"},
		{"steps/00-change/plot.png", "P", "Q", "steps/00-change/plot.png: has changed: the journal says"},
		{"steps/00-change/diff.patch", "a", "b", "steps/00-change/diff.patch: has changed: the journal says"},
		{"steps/00-change/result.json", "{}", "[]", "steps/00-change/result.json: has changed: the journal says"},
		{"steps/01-check/display-1.html", "b", "i", "steps/01-check/display-1.html: has changed: the journal says"},
		{"steps/01-check/stderr", "e", "f", "steps/01-check/stderr: has changed: the journal says"},
		{PatchFile, "a", "b", "patch.diff: has changed: the journal says"},
		{JournalFile, `"exit":0`, `"exit":1`, "events.jsonl: line 8: event 7: hash mismatch"},
		{TestLogFile, "3", "4", "report.json: artifact_digests is"},
		{OutputFile, "exit 0", "exit 1", "report.json: artifact_digests is"},
		{ReportFile, `"status": "pass"`, `"status": "fail"`,
			`report.json: status is "fail" and the record gives "pass"`},
		{ReportFile, `"task_id": "fix"`, `"task_id": "fax"`,
			`report.json: task_id is "fax" and the record gives "fix"`},
		{ReportFile, `"task_id"`, `"task"`, "report.json: task_id is missing"},
		{ReportFile, `12345678901234567890123`, `12345678901234567890124`, "report.json: parameters is"},
	} {
		t.Run(c.path+" "+c.new, func(t *testing.T) {
			r := aPass(t, store, aTime, byte(i))
			full := filepath.Join(r.dir, c.path)
			text, err := os.ReadFile(full)
			if err != nil {
				t.Fatal(err)
			}
			changed := bytes.Replace(text, []byte(c.old), []byte(c.new), 1)
			if bytes.Equal(text, changed) {
				t.Fatalf("%q is not in %s", c.old, text)
			}
			if err := os.WriteFile(full, changed, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := At(r.dir).Seal(nil); err != nil {
				t.Fatal(err)
			}
			v := verify(t, r.dir)
			if v.OK() || !strings.HasPrefix(v.Findings[0].String(), c.want) {
				t.Errorf("got %v, want %q", v.Findings, c.want)
			}
		})
	}
}

// TestVerifyMissesFiles: who removes a file, and writes report and sums again without it.
func TestVerifyMissesFiles(t *testing.T) {
	store := newStore(t)
	for i, path := range []string{OutputFile, ReportFile, ReportPageFile, TestLogFile} {
		r := aPass(t, store, aTime, byte(i))
		run, _, err := At(r.dir).Load()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(r.dir, path)); err != nil {
			t.Fatal(err)
		}
		if path != ReportFile && path != ReportPageFile { // which writeReport writes
			if err := writeReport(r.dir, run); err != nil {
				t.Fatal(err)
			}
		}
		if err := At(r.dir).Seal(nil); err != nil {
			t.Fatal(err)
		}
		if v := verify(t, r.dir); len(v.Findings) != 1 || v.Findings[0].String() != path+": is missing" {
			t.Errorf("%s: got %v", path, v.Findings)
		}
	}
}

// TestVerifyRendersAgain: an output notebook that is whole in itself, stands in report and sums, and
// is not what the journal gives.
func TestVerifyRendersAgain(t *testing.T) {
	r := aPass(t, newStore(t), aTime, 1)
	run, source, err := At(r.dir).Load()
	if err != nil {
		t.Fatal(err)
	}
	other := func(record *Record, run *Run, source []byte, _ string) ([]byte, error) {
		text, err := renderForTest(record, run, source, OutputFile)
		return append(text, "\nother\n"...), err
	}
	text, err := other(nil, run, source, OutputFile)
	if err != nil {
		t.Fatal(err)
	}
	r.write(OutputFile, string(text))
	if err := writeReport(r.dir, run); err != nil {
		t.Fatal(err)
	}
	v := verify(t, r.dir)
	if v.OK() || v.Findings[len(v.Findings)-1].Where != OutputFile {
		t.Errorf("got %v", v.Findings)
	}
	v, err = At(r.dir).Verify(rendering(func(*Record, *Run, []byte, string) ([]byte, error) {
		return nil,
			errors.New("no")
	}), Signers{})
	if err != nil || v.OK() || !strings.Contains(v.Findings[len(v.Findings)-1].Message,
		"cannot be made from the journal: no") {
		t.Errorf("got %v, %v", v.Findings, err)
	}
}

func TestVerifyFreshness(t *testing.T) {
	r := aPass(t, newStore(t), aTime, 1)
	planted := filepath.Join(r.dir, TestLogFile)
	old := aTime.Add(-time.Minute)
	if err := os.Chtimes(planted, old, old); err != nil {
		t.Fatal(err)
	}
	v := verify(t, r.dir)
	if v.OK() || !strings.HasPrefix(v.Findings[0].String(), "report.json: freshness is") ||
		v.Findings[1].String() != "test.log: was there before the run started" {
		t.Errorf("got %v", v.Findings)
	}
	// The source notebook is written before the run starts.
	if err := os.Chtimes(filepath.Join(r.dir, "notebook.md"), old, old); err != nil {
		t.Fatal(err)
	}
	// A run that says so of itself is no less stale.
	run, _, err := At(r.dir).Load()
	if err != nil {
		t.Fatal(err)
	}
	if err := writeReport(r.dir, run); err != nil {
		t.Fatal(err)
	}
	if v := verify(t, r.dir); len(v.Findings) != 1 ||
		v.Findings[0].String() != "test.log: was there before the run started" {
		t.Errorf("got %v", v.Findings)
	}
}

// TestVerifyTheVerdict makes whole records that contradict themselves.
func TestVerifyTheVerdict(t *testing.T) {
	for _, c := range []struct {
		name   string
		append func(r *record)
		want   string
	}{
		{"no checks", func(r *record) {
			mustAppend(t, r.Journal, RunCompleted, "", CompletedData{Status: Pass})
		}, "events.jsonl: missing_required_event: git.diff.checked is absent before run.completed"},
		{"an honest failure", func(r *record) {
			mustAppend(t, r.Journal, RunCompleted, "", CompletedData{Status: Fail,
				Blockers: []Blocker{{Code: CodeMissingRequiredEvent}}})
		}, ""},
		{"verification failed", func(r *record) {
			mustAppend(t, r.Journal, GitDiffChecked, "", DiffCheckedData{AllowedPassed: true})
			mustAppend(t, r.Journal, VerificationCompleted, "", VerificationData{Passed: false})
			mustAppend(t, r.Journal, RunCompleted, "", CompletedData{Status: Pass})
		}, "events.jsonl: run.completed says pass and the record contradicts it: the verification did not pass"},
		{"not completed", func(*record) {}, "events.jsonl: missing_required_event: run.completed is absent at the end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRecord(t, newStore(t), aTime, 1)
			r.steps()
			c.append(r)
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			run, _, err := At(r.dir).Load()
			if err != nil {
				t.Fatal(err)
			}
			if err := writeFolds(r.dir, run); err != nil {
				t.Fatal(err)
			}
			v := verify(t, r.dir)
			got := ""
			if !v.OK() {
				got = v.Findings[0].String()
			}
			if got != c.want {
				t.Errorf("got %v, want %q", v.Findings, c.want)
			}
		})
	}
}

// TestVerifyStaysInside: a journal that names files elsewhere does not make Verify read them.
func TestVerifyStaysInside(t *testing.T) {
	r := newRecord(t, newStore(t), aTime, 1)
	secret := filepath.Join(r.dir, "..", "secret")
	if err := os.WriteFile(secret, []byte("s"), 0o644); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, r.Journal, PlanUpdated, "", PlanData{Steps: []PlannedStep{{ID: "s"}}})
	mustAppend(t, r.Journal, StepFinished, "s", StepFinishedData{
		Stdout: StreamData{File: "../secret", Bytes: 1, Digest: DigestOf([]byte("s"))},
		Stderr: StreamData{File: secret, Bytes: 1, Digest: DigestOf([]byte("s"))},
	})
	v := verify(t, r.dir)
	refused := 0
	for _, finding := range v.Findings {
		if strings.HasPrefix(finding.Message, "the journal names it, and it cannot be read: path escapes") {
			refused++
		}
	}
	if refused != 2 {
		t.Errorf("got %v", v.Findings)
	}
}

func TestVerifyIsOfAFolder(t *testing.T) {
	dir := t.TempDir()
	if _, err := At(filepath.Join(dir, "none")).Verify(nil, Signers{}); err == nil {
		t.Error("a run that is not there was verified")
	}
	v := verify(t, dir)
	if v.OK() || v.Findings[0].Where != JournalFile {
		t.Errorf("got %v", v.Findings)
	}
}

func TestVerifyMovedRun(t *testing.T) {
	r := aPass(t, newStore(t), aTime, 1)
	for name, want := range map[string]string{
		"evidence": "",
		"20200101T000000Z-other-00": "events.jsonl: is of run " + string(r.id) +
			", and its folder has the name of 20200101T000000Z-other-00",
	} {
		moved := filepath.Join(t.TempDir(), name)
		if err := os.CopyFS(moved, os.DirFS(r.dir)); err != nil {
			t.Fatal(err)
		}
		got := ""
		if v := verify(t, moved); !v.OK() {
			got = v.Findings[0].String()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestVerifyOutput(t *testing.T) {
	store := newStore(t)
	aPass(t, store, aTime, 1)
	newest := aPass(t, store, aTime.Add(time.Minute), 2)
	text, err := os.ReadFile(filepath.Join(newest.dir, OutputFile))
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "fix.out.md")
	if err := os.WriteFile(copied, text, 0o644); err != nil {
		t.Fatal(err)
	}
	v, err := VerifyOutput(copied, store, rendering(renderForTest), Signers{})
	if err != nil || !v.OK() || v.RunID != newest.id {
		t.Errorf("got %+v, %v", v, err)
	}
	if err := os.WriteFile(copied, bytes.Replace(text, []byte("exit 0"), []byte("exit 1"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	v, err = VerifyOutput(copied, store, rendering(renderForTest), Signers{})
	if err != nil || v.Run != nil || len(v.Findings) < 2 ||
		!strings.Contains(v.Findings[len(v.Findings)-1].Message, "no run in") {
		t.Errorf("got %+v, %v", v, err)
	}
}

// TestReportIsCompared: a member that the record does not give is a finding, and a reader leaves it alone.
func TestReportIsCompared(t *testing.T) {
	r := aPass(t, newStore(t), aTime, 1)
	full := filepath.Join(r.dir, ReportFile)
	text, err := os.ReadFile(full)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]codec.Raw
	if err := codec.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	members["later"] = codec.Raw(`1`)
	if text, err = codec.Marshal(members); err != nil {
		t.Fatal(err)
	}
	r.write(ReportFile, string(text))
	if err := At(r.dir).Seal(nil); err != nil {
		t.Fatal(err)
	}
	if v := verify(t, r.dir); v.OK() || !strings.Contains(v.Findings[0].Message, `"later" is no member`) {
		t.Errorf("got %v", v.Findings)
	}
	if report, err := At(r.dir).ReadReport(); err != nil || report.TaskID != "fix" {
		t.Errorf("got %+v, %v", report, err)
	}
}
