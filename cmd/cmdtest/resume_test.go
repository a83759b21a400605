package cmdtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"markmill/runs"
)

const resumedNotebook = "# Cut anywhere\n\n" +
	"```bash {#one}\nx=1; echo one > a; mkdir d; echo 'a\tb' > d/b; glue n 7; echo one\n```\n\n" +
	"```python {#two}\ny = 2\nopen('p', 'w').write(scraps['n'])\nglue('half', 0.5)\ny\n```\n\n" +
	"```bash {#three if=\"scraps.half > 0.4\"}\nx=$((x+1)); git mv old new; rm d/b; echo \"$x\"; false\n```\n\n" +
	"```python {#four .allow-failure}\nprint(y + 1)\nraise ValueError('no')\n```\n\n" +
	"```bash {#test .test}\ntest \"$x\" = 2 && cat a new p\n```\n\n" +
	"```bash {#end .finally}\necho end\n```\n"

// TestResumeAnywhere cuts the journal of a run after each of its events, and in the middle of the next, as a crash
// does, and goes on from what is left. Wherever it was cut, the resumed run gives the output notebook, byte for
// byte, and the tree that it would have given uncut, and its record holds. It tries some of the places;
// with MARKMILL_ALL set, all.
func TestResumeAnywhere(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the interpreters of the notebook are for Unix")
	}
	for _, program := range []string{"git", "bash", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("there is no " + program)
		}
	}
	program := builtProgram(t)
	for _, c := range []struct {
		name, notebook string
		every          int
	}{
		{"pass", strings.Replace(resumedNotebook, "; false\n", "\n", 1), 6},
		{"fail", resumedNotebook, 12},
	} {
		if everything() {
			c.every = 1
		}
		t.Run(c.name, func(t *testing.T) { resumeAnywhere(t, program, c.notebook, c.every) })
	}
}

func resumeAnywhere(t *testing.T, program, notebook string, every int) {
	dir := t.TempDir()
	repo := filepath.Join(dir, "repo")
	for name, value := range map[string]string{"HOME": dir, "XDG_CACHE_HOME": filepath.Join(dir, "cache"),
		"MARKMILL_DIR": "", "GIT_CONFIG_NOSYSTEM": "1"} {
		t.Setenv(name, value)
	}
	command(t, dir, "git", "init", "-q", repo)
	write(t, filepath.Join(repo, "old"), "one\n")
	write(t, filepath.Join(repo, "n.md"), notebook)
	command(t, repo, "git", "add", ".")
	command(t, repo, "git", "-c", "user.name=A", "-c", "user.email=a@localhost", "commit", "-q", "-m", "base")
	markmill := func(args ...string) (string, error) {
		cmd := exec.Command(program, args...)
		cmd.Dir = repo
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	output := filepath.Join(dir, "out.md")
	_, wantExit := markmill("run", "n.md", output)
	store := filepath.Join(repo, ".markmill", "runs")
	folder := onlyRun(t, store, "")
	want, tree := read(t, output), resultTree(t, filepath.Join(store, folder))
	saved := filepath.Join(dir, "saved")
	if err := os.CopyFS(saved, os.DirFS(filepath.Join(store, folder))); err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(read(t, runs.At(saved).File(runs.JournalFile)), []byte("\n"))
	for cut := 1; cut < len(lines)-1; cut++ {
		if cut%every != 2%every && cut != len(lines)-2 {
			continue
		}
		cutRun(t, saved, filepath.Join(store, folder), bytes.Join(lines[:cut], nil), lines[cut][:len(lines[cut])/2])
		if err := os.Remove(output); err != nil {
			t.Fatal(err)
		}
		out, err := markmill("resume", folder)
		if cut < 3 {
			if err == nil || !strings.Contains(out, "before its plan stood") {
				t.Errorf("cut after %d events: %v\n%s", cut, err, out)
			}
			write(t, output, "")
			continue
		}
		if (err == nil) != (wantExit == nil) {
			t.Errorf("cut after %d events: it ends with %v, and uncut with %v\n%s", cut, err, wantExit, out)
		}
		made := onlyRun(t, store, folder)
		if got := read(t, output); !bytes.Equal(got, want) {
			t.Errorf("cut after %d events, the output is another:\n%s", cut, got)
		}
		if got := resultTree(t, filepath.Join(store, made)); got != tree {
			t.Errorf("cut after %d events, the result's tree is %s, and uncut %s", cut, got, tree)
		}
		for _, run := range []string{folder, made} {
			if out, err := markmill("verify", run); err != nil {
				t.Errorf("cut after %d events: %s", cut, out)
			}
		}
		if err := os.RemoveAll(filepath.Join(store, made)); err != nil {
			t.Fatal(err)
		}
	}
}

// cutRun puts a run directory back to what a crash leaves of it: the first events, a torn one, and no view.
func cutRun(t *testing.T, saved, dir string, events, torn []byte) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(saved)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{runs.SumsFile, runs.ReportFile, runs.ReportPageFile, runs.OutputFile,
		runs.TestLogFile,
		runs.TraceFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, runs.At(dir).File(runs.JournalFile), string(events)+string(torn))
}

// onlyRun is the name of the one run in a store besides another.
func onlyRun(t *testing.T, store, other string) string {
	t.Helper()
	entries, err := os.ReadDir(store)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.Name() != other {
			names = append(names, e.Name())
		}
	}
	if len(names) != 1 {
		t.Fatalf("one run was expected besides %q, and there are %v", other, names)
	}
	return names[0]
}

func resultTree(t *testing.T, dir string) string {
	t.Helper()
	run, _, err := runs.At(dir).Load()
	if err != nil {
		t.Fatal(err)
	}
	return run.Diff.ResultTree
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
