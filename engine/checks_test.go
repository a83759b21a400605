package engine

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"markmill/engine/sandbox"
	"markmill/runs"
)

// TestRefsThatMove: while a run goes on, another worktree may commit, and a fetch may come. The sandbox keeps steps
// from the refs of the source; without it, or where the checkout itself moved, nobody knows who it was.
func TestRefsThatMove(t *testing.T) {
	for name, c := range map[string]struct {
		git   []string
		free  bool // the sandbox is off
		words []string
	}{
		"another branch":  {git: []string{"branch", "other"}},
		"packed":          {git: []string{"pack-refs", "--all"}},
		"no sandbox":      {git: []string{"branch", "other"}, free: true, words: []string{"dirty_ending_tree"}},
		"the same branch": {git: []string{"update-ref", "HEAD", "HEAD~1"}, words: []string{"dirty_ending_tree"}},
		"another commit":  {git: []string{"checkout", "-q", "HEAD~1"}, words: []string{"dirty_ending_tree"}},
		"settings":        {git: []string{"config", "a.b", "c"}, words: []string{"dirty_ending_tree"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.repository(map[string]string{"a.txt": "old\n"})
			l.git("commit", "-q", "--allow-empty", "-m", "second")
			l.open()
			if c.free {
				l.ProbeSandbox = func(context.Context, sandbox.Need) sandbox.Offer {
					return sandbox.Offer{System: "linux"}
				}
			}
			l.fake.hooks["move"] = func() { l.git(c.git...) }
			status := runs.Pass
			if c.words != nil {
				status = runs.Fail
			}
			l.want(l.run(l.request(step("#a", "write b.txt x\ncall move"))), status, c.words...)
		})
	}
}

// TestOutputOfAnotherRun: the output notebook of a run may come into the checkout after the last event of that run, and
// so after another one has begun. It is no change of the checkout. That of a run which had ended before is one.
func TestOutputOfAnotherRun(t *testing.T) {
	l := newLab(t)
	l.repository(map[string]string{"a": "1\n"})
	var clock atomic.Int64
	l.Now = func() time.Time { return noon.Add(time.Duration(clock.Add(1)) * time.Second) }
	req := l.request("```bash {#one}\nwrite b 1\n```\n")
	req.Output = filepath.Join(l.root, "out", "first.md")
	if err := os.Mkdir(filepath.Dir(req.Output), 0o755); err != nil {
		t.Fatal(err)
	}
	plan, err := l.Plan(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	second := l.request("```bash {#two}\ncall output\n```\n")
	l.fake.hooks["output"] = func() { l.write("out/first.md", "the output\n") }
	var during *Result
	if _, err := l.Run(t.Context(), plan, Sinks{CommitOutput: func(runs.RunID, bool) error {
		during = l.runBeside(second)
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	l.want(during, runs.Pass)
	l.fake.hooks["output"] = func() { l.write("out/first.md", "another\n") }
	l.want(l.runBeside(second), runs.Fail, runs.CodeDirtyEndingTree+"|: out/first.md")
}

// runBeside makes a run while another one may go on.
func (l *lab) runBeside(req Request) *Result {
	plan, err := l.Plan(l.t.Context(), req)
	if err != nil {
		l.t.Fatal(err)
	}
	result, err := l.Run(l.t.Context(), plan, Sinks{})
	if err != nil {
		l.t.Fatal(err)
	}
	return result
}
