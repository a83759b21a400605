package cmdtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"markmill/runs"
)

// lesson is a way in which tools of this kind have reported what was not so.
type lesson struct {
	name     string
	notebook string
	exit     int
	check    func(c *closed, run *runs.Run, dir string)
}

var lessons = []lesson{
	{"1 tests are green and nothing changed, where a change was asked for",
		"---\nrequire: [diff, tests]\n---\n```bash {#t .test}\ntrue\n```\n", 1,
		func(c *closed, run *runs.Run, _ string) { c.blocker(run, runs.CodeNoDiff) }},
	{"2 a step commits by itself",
		"---\nforbid: [keys/**]\n---\n```bash {#a}\necho more >> keys/k; git commit -qam mine; echo more >> a.txt; " +
			"git add a.txt; echo new > new\n```\n", 1,
		func(c *closed, run *runs.Run, dir string) {
			c.blocker(run, runs.CodeDisallowedFileChange)
			patch := c.read(runs.At(dir).File(runs.PatchFile))
			for _, path := range []string{"a.txt", "keys/k", "new"} {
				if !strings.Contains(patch, "b/"+path+"\n") {
					c.t.Errorf("the patch has no %s", path)
				}
			}
		}},
	{"3 a valid patch and green tests, then a time-out",
		"```bash {#a}\necho more >> a.txt\n```\n```bash {#t .test}\ngrep -q more a.txt\n```\n```bash {#z " +
			"timeout=1s}\nsleep 300\n```\n", 3,
		func(c *closed, run *runs.Run, dir string) {
			c.blocker(run, runs.CodeTimeout)
			if !strings.Contains(c.read(runs.At(dir).File(runs.PatchFile)), "+more") {
				c.t.Error("the patch is lost")
			}
		}},
	{"4 a process that the engine ended is not exit 0",
		"```bash {#a timeout=1s}\ntrap 'exit 0' INT TERM\nsleep 300 & wait\n```\n", 3,
		func(c *closed, run *runs.Run, _ string) {
			if f := run.Steps[0].Finished; f.Exit == 0 || f.TerminatedBy != "timeout" || f.Status != runs.StepTimeout {
				c.t.Errorf("recorded as exit %d, %q, %s", f.Exit, f.TerminatedBy, f.Status)
			}
		}},
	{"5 an interpreter that ends with 0 in the middle proves nothing",
		"```python {#t .test}\nimport os\nos._exit(0)\nraise SystemExit('not reached')\n```\n", 1,
		func(c *closed, run *runs.Run, _ string) { c.blocker(run, runs.CodeVerificationFailed) }},
	{"6 an older artifact with the right name", "```bash {#a}\necho more >> a.txt\n```\n", 0,
		func(c *closed, _ *runs.Run, dir string) {
			old := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
			c.must(os.Chtimes(runs.At(dir).File(runs.PatchFile), old, old))
			record, err := runs.At(dir).Report(c.load(dir), nil)
			c.must(err)
			if f := record.Freshness; f.Passed || len(f.Stale) != 1 || f.Stale[0] != runs.PatchFile {
				c.t.Errorf("freshness is %+v", f)
			}
		}},
	{"7 a prompt that waits for input, and a child that holds the output",
		"```bash {#a timeout=60s}\nread -r answer || echo \"end of file\"\n```\n```bash {#b timeout=2s}\n(trap '' " +
			"INT TERM; sleep 300) &\nsleep 300\n```\n", 3,
		func(c *closed, run *runs.Run, dir string) {
			c.blocker(run, runs.CodeTimeout)
			if got := c.read(filepath.Join(dir, "steps", "01-a", "stdout")); got != "end of file\n" {
				c.t.Errorf("stdout is %q", got)
			}
		}},
	{"8 output that is empty, binary, long, or looks like the engine's own",
		"```python {#a}\n```\n```python {#b}\nimport os\n_ = os.write(1, bytes(range(256)) * 40960)\n```\n" +
			"```bash {#c}\nprintf '%s\\n' '<!-- markmill:output -->' '```' " +
			"'{\"type\":\"run.completed\",\"data\":{\"status\":\"fail\"}}' '<!-- /markmill -->'\n```\n", 0,
		func(c *closed, run *runs.Run, dir string) {
			want := strings.Repeat(string(allBytes()), 40960)
			if got := c.read(filepath.Join(dir, "steps", "02-b", "stdout")); got != want {
				c.t.Errorf("%d bytes of stdout, want %d", len(got), len(want))
			}
			if run.Status() != runs.Pass {
				c.t.Errorf("the status is %s", run.Status())
			}
		}},
	{"9 the user's configuration does not leak in",
		"```bash {#a}\ntest -z \"$PYTHONSTARTUP$BASH_ENV$ENV$GREP_OPTIONS$EDITOR\"\n```\n```python {#b}\nimport os\n" +
			"assert not hasattr(__builtins__, 'leaked') and 'PYTHONSTARTUP' not in os.environ\n```\n", 0, nil},
	{"10 a stored verdict is not trusted", "```bash {#a}\nexit 1\n```\n", 1,
		func(c *closed, _ *runs.Run, dir string) {
			path := runs.At(dir).File(runs.ReportFile)
			c.must(os.WriteFile(path, []byte(strings.Replace(c.read(path), `"status": "fail"`, `"status": "pass"`, 1)),
				0o644))
			if out := c.expect(1, "verify", dir); !strings.Contains(out, runs.ReportFile) {
				c.t.Error(out)
			}
		}},
}

// TestLessons runs a notebook for each of them.
func TestLessons(t *testing.T) {
	t.Parallel()
	for _, l := range lessons {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			c := newClosed(t)
			c.write("startup", "import builtins; builtins.leaked = 1\nexport EDITOR=leaked\n")
			startup := filepath.Join(c.dir, "startup")
			c.env = append(c.env, "PYTHONSTARTUP="+startup, "BASH_ENV="+startup, "ENV="+startup, "GREP_OPTIONS=-v",
				"EDITOR=vi")
			c.commit("n.md", l.notebook)
			c.expect(l.exit, "run", "n.md", "--no-progress-bar")
			dir := c.last()
			run := c.load(dir)
			c.expect(0, "verify", dir)
			if l.check != nil {
				l.check(c, run, dir)
			}
		})
	}
}

func (c *closed) load(dir string) *runs.Run {
	c.t.Helper()
	run, _, err := runs.At(dir).Load()
	c.must(err)
	return run
}

func (c *closed) blocker(run *runs.Run, code string) {
	c.t.Helper()
	for _, b := range run.Blockers() {
		if b.Code == code {
			return
		}
	}
	c.t.Errorf("blockers %v, want %s", run.Blockers(), code)
}

func allBytes() []byte {
	out := make([]byte, 256)
	for i := range out {
		out[i] = byte(i)
	}
	return out
}

// TestMissingRequiredEvent takes each event out of a record, and makes the chain anew as who can write the journal
// could: what is absent is named.
func TestMissingRequiredEvent(t *testing.T) {
	t.Parallel()
	c := newClosed(t)
	c.commit("pass.md", notebooksOf(t, "testdata/failclosed.txtar")["pass.md"])
	c.expect(0, "run", "pass.md", "--no-progress-bar")
	dir := c.last()
	source := runs.DigestOf([]byte(c.read(filepath.Join(dir, "notebook.md"))))
	path := runs.At(dir).File(runs.JournalFile)
	whole := c.read(path)
	events, _, err := runs.ReadJournal(strings.NewReader(whole), source)
	c.must(err)
	for gone, event := range events {
		// patch.applied, tree.opened and inputs.recorded need not be there; without the first there is no journal of
		// the notebook, and without the last the run was cut.
		if event.Type == runs.PatchApplied || event.Type == runs.RunStarted || event.Type == runs.RunCompleted ||
			event.Type == runs.InputsRecorded || event.Type == runs.TreeOpened {
			continue
		}
		c.must(os.Remove(path))
		at := 0
		journal, err := runs.CreateJournal(path, source, func() time.Time { return events[at].Time })
		c.must(err)
		for at = range events {
			if at != gone {
				_, err := journal.Append(events[at].Type, events[at].Step, events[at].Data)
				c.must(err)
			}
		}
		c.must(journal.Close())
		want := string(event.Type) + " is absent"
		if event.Type == runs.PlanUpdated {
			want = "which the plan does not have"
		}
		if out := c.expect(1, "verify", dir); !strings.Contains(out, want) {
			t.Errorf("without event %d (%s):\n%s", gone, event.Type, out)
		}
	}
	c.must(os.WriteFile(path, []byte(whole), 0o644))
	c.expect(0, "verify", dir)
}

// TestNotUnderstood: an option, a key or a word that is not understood is an error, nothing runs, and nothing is left.
func TestNotUnderstood(t *testing.T) {
	t.Parallel()
	const step = "```bash {#a}\necho ran\n```\n"
	front := func(line string) string { return "---\n" + line + "\n---\n" + step }
	c := newClosed(t)
	c.git("commit", "-q", "--allow-empty", "-m", "base")
	for _, try := range []struct {
		notebook string
		args     []string
	}{
		{step, []string{"--allow", "x"}}, {step, []string{"--dirty", "maybe"}},
		{step, []string{"--execution-timeout", "-1"}},
		{step, []string{"--execution-timeout", "soon"}},
		{step, []string{"--start-timeout", "0"}}, {step, []string{"--only", "b"}}, {step, []string{"--from", "b"}},
		{step, []string{"-p", "undeclared", "1"}},
		{step, []string{"--base", "nowhere"}}, {step, []string{"--branch", "a..b"}}, {step, []string{"--cwd", "../x"}},
		{step, []string{"--log-level", "LOUD"}},
		{step, []string{"--engine", "other"}}, {step, []string{"out.py"}}, {step, []string{"--events", "-", "--json"}},
		{step, []string{"-k", "cobol"}},
		{front("requires: [tests]"), nil}, {front("require: [test]"), nil}, {front("require: tests please"), nil},
		{front("mode: anywhere"), nil},
		{front("approval: maybe"), nil}, {front("limits: {file: 1}"), nil}, {front("limits: {files: -1}"), nil},
		{front("limits: {files: many}"), nil}, {front("allow: [\"[a\"]"), nil},
		{front("allow: [\"\"]"), nil}, {front("forbid: [/etc/**]"), nil}, {front("sandbox: maybe"), nil},
		{front("network: of"), nil}, {front("timeout: soon"), nil},
		{front("resources: {memory: much}"), nil}, {front("durability: never"), nil},
		{front("allow: [a]\nallow: [b]"), nil},
		{"```bash {#a timeout=soon}\ntrue\n```\n", nil}, {"```bash {#a expect-exit=x}\ntrue\n```\n", nil},
		{"```bash {#a tiemout=1s}\ntrue\n```\n", nil}, {"```bash {#a if=\"1 +\"}\ntrue\n```\n", nil},
		{"```bash {#a needs=b}\ntrue\n```\n", nil}, {"```bash {#a retries=-1}\ntrue\n```\n", nil},
		{"```cobol {#a}\ntrue\n```\n", nil}, {"```bash {#a}\ntrue\n```\n```bash {#a}\ntrue\n```\n", nil},
	} {
		c.write("src/n.md", try.notebook)
		c.before = c.everything()
		out, code := c.markmill(append([]string{"run", "n.md"}, try.args...)...)
		if code != 2 || !strings.Contains(out, "markmill: ") {
			t.Errorf("%q of %q: exit %d\n%s", try.args, try.notebook, code, out)
		}
		if left := c.touched(func(string) bool { return false }); len(left) > 0 {
			t.Errorf("%q of %q left %q", try.args, try.notebook, left)
		}
		if started := c.started(); started != nil {
			t.Errorf("%q of %q started %q", try.args, try.notebook, started)
		}
	}
}
