package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"markmill/engine/sandbox"
	"markmill/runs"
)

// TestSourceThatMoves: while a run goes on, others may fetch, commit and write in the checkout. Where the sandbox keeps
// steps from it that is no concern of the run; where nothing does, nobody knows who it was.
func TestSourceThatMoves(t *testing.T) {
	for name, git := range map[string][]string{
		"another branch":  {"branch", "other"},
		"packed":          {"pack-refs", "--all"},
		"the same branch": {"update-ref", "HEAD", "HEAD~1"},
		"another commit":  {"checkout", "-q", "HEAD~1"},
		"settings":        {"config", "a.b", "c"},
		"a file":          {"rm", "-q", "--cached", "a.txt"},
	} {
		for landlock, status := range map[int]runs.Status{0: runs.Fail, 2: runs.Fail, 3: runs.Pass} {
			t.Run(fmt.Sprint(name, " under Landlock ", landlock), func(t *testing.T) {
				l := newLab(t)
				l.repository(map[string]string{"a.txt": "old\n"})
				l.git("commit", "-q", "--allow-empty", "-m", "second")
				l.open()
				l.confinedBy(landlock)
				l.fake.hooks["move"] = func() { l.git(git...) }
				var words []string
				if status == runs.Fail {
					words = []string{"dirty_ending_tree"}
				}
				l.want(l.run(l.request(step("#a", "write b.txt x\ncall move"))), status, words...)
			})
		}
	}
}

// confinedBy has the sandbox of a kernel with an interface of Landlock; 0 is none.
func (l *lab) confinedBy(landlock int) {
	l.ProbeSandbox = func(context.Context, sandbox.Need) sandbox.Offer {
		return sandbox.Offer{System: "linux", Landlock: landlock, Mounts: true}
	}
}

// TestOutputOfAnotherRun: the output notebook of a run may come into the checkout after the last event of that run, and
// so after another one has begun. It is no change of the checkout. That of a run which had ended before is one.
func TestOutputOfAnotherRun(t *testing.T) {
	l := newLab(t)
	l.repository(map[string]string{"a": "1\n"})
	l.confinedBy(0)
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
	if _, err := l.Run(t.Context(), plan, Sinks{Ended: func(string, bool) error {
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
