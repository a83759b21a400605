package cmdtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"markmill/cmd/internal/program"
	"markmill/cmd/markmill/verify"
	"markmill/notebooks/codec"
	"markmill/runs"
)

const forgedNotebook = "```bash {#flaky retries=1}\n[ -e \"$TMPDIR/again\" ] || { touch \"$TMPDIR/again\"; echo " +
	"first; exit 1; }\ntouch again\necho second\n```\n\n" +
	"```bash {#test .test}\necho '3 passed, 0 failed'\n```\n"

// TestForgedRecords changes files of a record and carries the change through report.json and SHA256SUMS, as somebody
// does who knows how they are made and has no key: the journal must still show each.
func TestForgedRecords(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the interpreters of the notebook are for Unix")
	}
	for _, program := range []string{"git", "bash"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("there is no " + program)
		}
	}
	dir := t.TempDir()
	for name, value := range map[string]string{"HOME": filepath.Join(dir, "home"),
		"XDG_CACHE_HOME": filepath.Join(dir, "cache"), "MARKMILL_DIR": "", "GIT_CONFIG_NOSYSTEM": "1"} {
		t.Setenv(name, value)
	}
	repo := filepath.Join(dir, "repo")
	command(t, dir, "git", "init", "-q", repo)
	write(t, filepath.Join(repo, "n.md"), forgedNotebook)
	command(t, repo, "git", "add", ".")
	command(t, repo, "git", "-c", "user.name=A", "-c", "user.email=a@localhost", "commit", "-q", "-m", "base")
	command(t, repo, builtProgram(t), "run", "n.md", "--no-progress-bar")
	t.Chdir(repo)
	found, err := filepath.Glob(".markmill/runs/*")
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	record, app := found[0], program.New()
	if v, _, err := verify.Verify(app, record, ""); err != nil || !v.OK() {
		t.Fatalf("the run itself does not hold: %v %v", err, v)
	}
	appended := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, name), string(b)+"more\n")
		}
	}
	planted := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, name), "planted\n")
		}
	}
	member := func(name, value string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			b, err := runs.At(dir).ReadFile(runs.ReportFile)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Replace(string(b), "{", `{"`+name+`": `+value+",", 1)
			write(t, runs.At(dir).File(runs.ReportFile), text)
		}
	}
	forgeries := []struct {
		name  string
		forge func(t *testing.T, dir string)
		where string
	}{
		{"test log", appended(runs.TestLogFile), runs.TestLogFile},
		{"trace", appended(runs.TraceFile), runs.TraceFile},
		{"report page", appended(runs.ReportPageFile), runs.ReportPageFile},
		{"output of an earlier attempt", appended("steps/01-flaky/attempt-1/stdout"),
			"steps/01-flaky/attempt-1/stdout"},
		{"planted step", planted("steps/03-more/stdout"), "steps/03-more/stdout"},
		{"planted stream", planted("steps/02-test/stderr"), "steps/02-test/stderr"},
		{"planted file", planted("evidence.txt"), "evidence.txt"},
		{"approval in the report", member("approval", `{"actor": "ceo"}`), runs.ReportFile},
		{"second status in the report", member("Status", `"pass"`), runs.ReportFile},
		{"the same member twice", member("status", `"pass"`), runs.ReportFile},
	}
	t.Logf("%d attempts", len(forgeries))
	for _, c := range forgeries {
		t.Run(c.name, func(t *testing.T) {
			forged := filepath.Join(t.TempDir(), filepath.Base(record))
			if err := os.CopyFS(forged, os.DirFS(record)); err != nil {
				t.Fatal(err)
			}
			c.forge(t, forged)
			resealed(t, forged)
			v, _, err := verify.Verify(app, forged, "")
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range v.Findings {
				if f.Where == c.where {
					return
				}
			}
			t.Errorf("not found: %v", v.Findings)
		})
	}
}

// resealed makes report.json and SHA256SUMS agree with the files as they are.
func resealed(t *testing.T, dir string) {
	t.Helper()
	report, err := runs.At(dir).ReadFile(runs.ReportFile)
	if err != nil {
		t.Fatal(err)
	}
	run, _, err := runs.At(dir).Load()
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := runs.At(dir).Report(run, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]any{"artifact_paths": fresh.ArtifactPaths,
		"artifact_digests": fresh.ArtifactDigests} {
		now, err := codec.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		report = replacedMember(t, report, name, now)
	}
	write(t, runs.At(dir).File(runs.ReportFile), string(report))
	if err := runs.At(dir).Seal(nil); err != nil {
		t.Fatal(err)
	}
}

// replacedMember puts another value in the place of a member's, and leaves the other bytes as they are.
func replacedMember(t *testing.T, text []byte, name string, value []byte) []byte {
	t.Helper()
	at := bytes.Index(text, []byte(`"`+name+`":`))
	if at < 0 {
		t.Fatalf("the report has no %s", name)
	}
	at += len(name) + 3
	depth, end := 0, at
	for ; end < len(text); end++ {
		switch text[end] {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		if depth == 0 && (text[end] == ']' || text[end] == '}') {
			break
		}
	}
	return append(append(append([]byte{}, text[:at]...), value...), text[end+1:]...)
}
