package worktree

import (
	"testing"

	"markmill/engine/worktree/gittest"
)

// TestTreeOrder: folders sort in a tree and in an index as if their names ended in a slash.
func TestTreeOrder(t *testing.T) {
	g := gittest.New(t)
	for _, p := range []string{"a/f", "a-b/f", "a.c", "a0/f", "a.d/f"} {
		g.Write(p, p)
	}
	g.Commit("base")
	tree := made(t, g)
	if out := gittest.GitIn(t, tree.Dir(), nil, "status", "--porcelain"); out != "" {
		t.Errorf("status: %s", out)
	}
	if got := gittest.GitIn(t, tree.Dir(), nil, "write-tree"); got != string(tree.fmt.OID(tree.baseTree)) {
		t.Errorf("index %s", got)
	}
	gittest.Write(t, tree.Dir(), "a/f", "changed")
	if c := capture(t, tree); string(c.Tree) != wantTree(t, tree) {
		t.Errorf("tree %s, Git %s", c.Tree, wantTree(t, tree))
	}
}
