package repo

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"markmill/engine/worktree/object"
)

// TestMergeBaseIsGits makes histories with merges, equal dates and clocks that go wrong, and asks Git's program for the
// same.
func TestMergeBaseIsGits(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git on this machine")
	}
	for seed := range uint64(4) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		dir := t.TempDir()
		git := func(stdin string, args ...string) string {
			c := exec.Command("git", append([]string{"-C", dir}, args...)...)
			c.Stdin = strings.NewReader(stdin)
			out, err := c.Output()
			if err != nil && args[0] != "merge-base" {
				t.Fatalf("git %v: %v", args, err)
			}
			return string(out)
		}
		git("", "init", "-q", "-b", "main", ".")
		const commits = 40
		var in strings.Builder
		for i := 1; i <= commits; i++ {
			date := 1_700_000_000 + i/3*60
			if seed%2 == 1 && rnd.IntN(4) == 0 {
				date -= rnd.IntN(2000)
			}
			fmt.Fprintf(&in, "commit refs/heads/c%d\nmark :%d\ncommitter A <a@localhost> %d +0000\ndata 1\nx\n", i, i,
				date)
			if i > 1 && (i > 3 || rnd.IntN(2) == 0) {
				first := max(1, i-1-rnd.IntN(6))
				fmt.Fprintf(&in, "from :%d\n", first)
				if second := max(1, i-1-rnd.IntN(9)); second != first && rnd.IntN(3) == 0 {
					fmt.Fprintf(&in, "merge :%d\n", second)
				}
			}
			in.WriteByte('\n')
		}
		git(in.String(), "fast-import", "--quiet")
		src, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		ids := make([]object.OID, commits+1)
		for line := range strings.Lines(git("", "for-each-ref", "--format=%(objectname) %(refname:short)")) {
			var name object.OID
			var n int
			if _, err := fmt.Sscanf(line, "%s c%d", &name, &n); err == nil {
				ids[n] = name
			}
		}
		for range 60 {
			a, b := ids[1+rnd.IntN(commits)], ids[1+rnd.IntN(commits)]
			want := strings.Fields(git("", "merge-base", "--all", string(a), string(b)))
			got, err := src.MergeBase(a, b)
			if err != nil && len(want) > 0 || len(want) == 0 && err == nil || err == nil &&
				!slices.Contains(want, string(got)) {
				t.Errorf("seed %d: merge base of %s and %s: %s (%v), and git says %v", seed, a, b, got, err, want)
			}
		}
	}
}
