package engine

import (
	"context"
	"testing"

	"markmill/engine/sandbox"
	"markmill/runs"
)

// TestRefsThatMove: while a run goes on, another worktree may commit, and a fetch may come. The sandbox keeps steps from
// the refs of the source; without it, or where the checkout itself moved, nobody knows who it was.
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
				l.ProbeSandbox = func(context.Context, sandbox.Need) sandbox.Offer { return sandbox.Offer{System: "linux"} }
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
