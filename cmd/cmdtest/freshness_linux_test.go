package cmdtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// proofs is a repository of notebooks, with a store and a cache of its own.
type proofs struct {
	t       *testing.T
	program string
	dir     string
	env     []string
}

func newProofs(t *testing.T, files map[string]string) *proofs {
	t.Helper()
	top := t.TempDir()
	p := &proofs{t: t, program: builtProgram(t), dir: filepath.Join(top, "repo")}
	p.env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(top, "cache"), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@localhost", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@localhost")
	for name, text := range files {
		p.write(name, text)
	}
	p.shell("git init -q")
	p.commit()
	return p
}

func (p *proofs) write(name, text string) {
	p.t.Helper()
	full := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *proofs) commit() { p.t.Helper(); p.shell("git add -A && git commit -q --allow-empty -m x") }

// shell runs a script in the repository, and returns what it prints.
func (p *proofs) shell(script string) string {
	p.t.Helper()
	out, err := p.try("bash", "-c", script)
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return out
}

func (p *proofs) try(name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir, c.Env = p.dir, p.env
	out, err := c.CombinedOutput()
	return string(out), err
}

// run runs markmill, and fails the test if that fails.
func (p *proofs) run(args ...string) string {
	p.t.Helper()
	out, err := p.try(p.program, args...)
	if err != nil {
		p.t.Fatalf("markmill %v: %v\n%s", args, err, out)
	}
	return out
}

// status is the state of the only output.
func (p *proofs) status() string {
	p.t.Helper()
	out, err := p.try(p.program, "status", "--porcelain")
	state, _, _ := strings.Cut(out, "\t")
	if state == "" {
		p.t.Fatalf("markmill status: %v\n%s", err, out)
	}
	return state
}

// TestNotSeen: what docs/freshness.md says cannot be seen is not, so that its words are changed with the program.
func TestNotSeen(t *testing.T) {
	t.Parallel()
	p := newProofs(t, map[string]string{"a": "1\n"})
	p.write("n.md", "```bash {#s}\ntest -e sub/missing || stat -c %s a\n```\n")
	p.commit()
	p.run("run", "n.md", "out/n.md")
	for _, edit := range [][2]string{{"a", "longer\n"}, {"sub/missing", ""}} {
		p.write(edit[0], edit[1])
		if got := p.status(); got != "current" {
			t.Errorf("%s: it is %s: docs/freshness.md says that this cannot be seen", edit[0], got)
		}
	}
	p.write("n.md", "---\ninputs: [a, sub/**]\n---\n```bash {#s}\ntest -e sub/missing || stat -c %s a\n```\n")
	p.commit()
	p.run("run", "n.md", "out/n.md")
	for _, edit := range [][2]string{{"a", "longest\n"}, {"sub/missing", "more"}} {
		p.write(edit[0], edit[1])
		if got := p.status(); got != "outdated" {
			t.Errorf("%s is declared, and changed: it is %s", edit[0], got)
		}
		p.shell("git checkout -q -- " + edit[0])
	}
}

// TestNotSeenByCaches: what docs/freshness.md says of caches outside of the worktree. Another process fills one during
// the run, and a program compares times more coarsely than two runs are apart, as one that looks at whole seconds does
// with two runs that begin in the same one.
func TestNotSeenByCaches(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	const code = "touch built # as another process would\n" +
		"[ built -nt $MARKMILL_WORKTREE/a ] || cp $MARKMILL_WORKTREE/a built\n" +
		"now=$(($(stat -c %Y $MARKMILL_WORKTREE/b) / 1000000000)),$(stat -c %s $MARKMILL_WORKTREE/b)\n" +
		"if [ \"$now\" = \"$(cat checked)\" ]; then touch hit; else cat $MARKMILL_WORKTREE/b; fi\n" +
		"echo \"$now\" >checked\n"
	p := newProofs(t, map[string]string{"a": "1\n", "b": "1\n",
		"n.md":          "```bash {#s}\ncd " + cache + "\n" + code + "```\n",
		"markmill.yaml": fmt.Sprintf("sandbox:\n  write: [%q]\n", cache)})
	p.run("run", "n.md", "out/n.md")
	if p.edit([2]string{"a", "2\n"}); p.status() != "current" {
		t.Errorf("it is %s: docs/freshness.md says that this cannot be seen", p.status())
	}
	p.edit([2]string{"b", "2\n"})
	if got := p.status(); got != "outdated" {
		t.Errorf("the first run read b, which changed: it is %s", got)
	}
	p.run("run", "n.md", "out/n.md", "--dirty", "include")
	if _, err := os.Stat(filepath.Join(cache, "hit")); err != nil {
		t.Fatal("the second run read b: ", err)
	}
	if p.edit([2]string{"b", "3\n"}); p.status() != "current" {
		t.Errorf("it is %s: docs/freshness.md says that this cannot be seen", p.status())
	}
}

// TestReuseIsTheSame edits a notebook, its code and its data at random: a run that carries steps leaves the same tree,
// scraps and outputs as one that does not.
func TestReuseIsTheSame(t *testing.T) {
	t.Parallel()
	rounds := 3
	if os.Getenv("MARKMILL_ALL") != "" {
		rounds = 60
	}
	random := rand.New(rand.NewPCG(1, 3))
	p := newProofs(t, map[string]string{"data/a": "1\n", "data/b": "2\n", "lib.sh": "f() { cat data/a; }\n"})
	steps := []string{
		"```bash {#one}\n. ./lib.sh; f > one; echo ${FOO-none} >> one; f > $TMPDIR/t; " +
			"glue one \"$(cat one)\"; [ -e made ] || cp one made\n```\n",
		"```python {#two}\nx = open('one').read() + open('data/b').read()\nopen('two', 'w').write(x)\n" +
			"glue('two', x)\n```\n",
		"```bash {#three}\nls data > three; cat three\n```\n",
		"```sh {#four}\ncat two three made $TMPDIR/t; rm -f three\n```\n",
		"```bash {#check .test}\ntest -s two\n```\n",
	}
	settings := []string{"reads: on\n", "kernels: {bash: {program: ./shell}}\n",
		"kernels: {own: {command: [./shell, '{file}'], languages: [bash]}}\n",
		"kernels: {node: {program: ./shell}}\n"}
	p.write("shell", "#!/bin/sh\nexport FOO=0\nexec bash \"$@\"\n")
	p.shell("chmod +x shell")
	carried := 0
	for round := range rounds {
		switch random.IntN(10) {
		case 0:
			p.write("data/a", fmt.Sprintf("%d\n", random.IntN(3)))
		case 1:
			p.write("data/b", fmt.Sprintf("%d\n", random.IntN(3)))
		case 2:
			p.write(fmt.Sprintf("data/new%d", random.IntN(3)), "new\n")
		case 3:
			i := random.IntN(len(steps))
			steps[i] = strings.TrimSuffix(steps[i], "```\n") + fmt.Sprintf("# %d\n```\n", round)
		case 4:
			p.write("lib.sh", fmt.Sprintf("f() { cat data/a; echo %d; }\n", random.IntN(3)))
		case 5:
			p.write("unrelated/x", fmt.Sprintf("%d\n", round))
		case 6:
			p.write("made", fmt.Sprintf("%d\n", random.IntN(2)))
		case 7:
			p.write("markmill.yaml", settings[random.IntN(len(settings))])
		case 8:
			p.write(".gitattributes", []string{"", "data/* text eol=crlf\n", "*.sh -text\n"}[random.IntN(3)])
		case 9:
			p.write("shell", fmt.Sprintf("#!/bin/sh\nexport FOO=%d\nexec bash \"$@\"\n", random.IntN(3)))
		}
		p.write("n.md", strings.Join(steps, "\n"))
		p.commit()
		if strings.Contains(p.run("run", "n.md", "reused.md", "--reuse", "--no-progress-bar"), "carried over") {
			carried++
		}
		tree := p.shell(p.program + " show last --json | grep -o '\"result_tree\": *\"[^\"]*\"' || true")
		p.run("verify", "last")
		p.run("run", "n.md", "anew.md", "--no-progress-bar")
		if now := p.shell(p.program +
			" show last --json | grep -o '\"result_tree\": *\"[^\"]*\"' || true"); now != tree {
			t.Errorf("round %d: the tree is %s, and with carried steps %s", round, now, tree)
		}
		scraps := func(name string) string { return p.run("notebook", "scraps", name, "--json") }
		strip := func(name string) string {
			b, err := os.ReadFile(filepath.Join(p.dir, name))
			if err != nil {
				t.Fatal(err)
			}
			body, _, _ := strings.Cut(string(b), "<!-- markmill:manifest")
			_, body, _ = strings.Cut(body, "<!-- markmill:end") // the verdict tells what was carried
			_, body, _ = strings.Cut(body, "-->\n")
			return body
		}
		if a, b := strip("reused.md"), strip("anew.md"); withoutCarried(a) != withoutCarried(b) {
			t.Errorf("round %d: the outputs differ:\n%s\n%s", round, a, b)
		}
		if a, b := scraps("reused.md"), scraps("anew.md"); strings.ReplaceAll(a, "reused.md", "anew.md") != b {
			t.Errorf("round %d: the scraps differ:\n%s\n%s", round, a, b)
		}
		p.shell("rm reused.md anew.md")
	}
	t.Logf("%d attempts", rounds)
	if carried < max(1, rounds/6) {
		t.Errorf("steps were carried in %d of %d rounds", carried, rounds)
	}
}

// TestReuseOfWhatIsSeenOtherwise: what a step has not read, and might do something else for; and what it left that no
// record keeps.
func TestReuseOfWhatIsSeenOtherwise(t *testing.T) {
	const again = "run again for their state only: one"
	for _, c := range []struct{ name, one, two, edit, want, not string }{
		{"a file that it made is there", "[ -e made ] || echo 1 >made", "cat made", "echo 7 >made",
			"made, which step one made, is there already", "carried over"},
		{"a folder is where it made a file", "echo 1 >made || true", "true", "mkdir made; echo 7 >made/x",
			"made, which step one made, is there already", "carried over"},
		{"HEAD is another commit", "git rev-parse HEAD", "true", "git commit -q --allow-empty -m x",
			"Git's history, which step one read, has changed", "carried over"},
		{"it left a file in TMPDIR", "cp a $TMPDIR/x", "cat $TMPDIR/x b", "echo 2 >b", again, "no step is carried"},
		{"it left a file in the Git directory", "cp a .git/x", "cat .git/x b", "echo 2 >b", again,
			"no step is carried"},
		{"it left nothing", "cp a $TMPDIR/x; rm $TMPDIR/x", "cat b", "echo 2 >b", "carried over: one", "run again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newProofs(t, map[string]string{"a": "1\n", "b": "1\n",
				"n.md": fmt.Sprintf("```bash {#one}\n%s\n```\n\n```bash {#two kernel=other}\n%s\n```\n", c.one, c.two)})
			p.run("run", "n.md")
			p.shell(c.edit)
			p.commit()
			if out := p.run("run", "n.md", "--reuse"); !strings.Contains(out, c.want) || strings.Contains(out, c.not) {
				t.Errorf("not %q, or %q:\n%s", c.want, c.not, out)
			}
		})
	}
}

// TestReuseMakesNoChain: where one step changes again and again, the others are carried from the run in which they ran,
// even if that is none of the last ones. The record of a fork of a fork of a fork would have the journals of all.
func TestReuseMakesNoChain(t *testing.T) {
	t.Parallel()
	p := newProofs(t, map[string]string{"a": "1\n"})
	forks := 3
	if everything() {
		forks = 22 // the last twenty runs are looked at
	}
	for i := range 1 + forks {
		p.write("n.md", fmt.Sprintf("```bash {#one}\ncat a\n```\n\n```bash {#two kernel=other}\necho %d\n```\n", i))
		p.run("run", "n.md", "--reuse", "--no-progress-bar")
	}
	if got := strings.Fields(p.shell("ls .markmill/runs/*/resumed/*.jsonl")); len(got) != forks {
		t.Errorf("%d runs have %d journals of runs before them", forks, len(got))
	}
}

// TestReuseOfOtherValues: a parameter that was given before, and is not now, is no mistake. The newest run says why
// nothing is carried.
func TestReuseOfOtherValues(t *testing.T) {
	t.Parallel()
	p := newProofs(t, map[string]string{"n.md": "```yaml {.parameters}\nn: 2\n```\n\n```bash {#one}\necho $n\n```\n"})
	for _, run := range [][2]string{
		{"-p n=3", "no earlier run of the notebook passed"},
		{"-p n=3", "carried over: one"},
		{"-p n=4", "the parameter n has another value"},
		{"", "the parameter n was given to the run before"},
		{"-p n=4", "carried over: one"},
	} {
		if out := p.run(append([]string{"run", "n.md", "--reuse"}, strings.Fields(run[0])...)...); !strings.Contains(
			out,
			run[1]) {
			t.Errorf("--reuse %s: not %q:\n%s", run[0], run[1], out)
		}
	}
}

// withoutCarried drops what an output notebook says of carried steps, and the lines that hold digests.
func withoutCarried(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "<!-- markmill:") {
			out = append(out, strings.Replace(line, " · in an earlier run", "", 1))
		}
	}
	return strings.Join(out, "")
}
