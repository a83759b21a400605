package repo

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"markmill/engine/worktree/object"
)

// A history with a merge, a branch that shares nothing with it, and a commit that is replaced.
func TestHistory(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git on this machine")
	}
	dir := t.TempDir()
	git := func(at string, args ...string) string {
		t.Helper()
		as := []string{"-C", at, "-c", "user.name=A", "-c", "user.email=a@localhost"}
		c := exec.Command("git", append(as, args...)...)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git(dir, "init", "-q", "-b", "main", ".")
	tree := git(dir, "hash-object", "-t", "tree", "-w", "--stdin") // the empty one
	commit := func(message string, parents ...string) string {
		args := []string{"commit-tree", "-m", message, tree}
		for _, p := range parents {
			args = append(args, "-p", p)
		}
		return git(dir, args...)
	}
	root, aside := commit("root"), commit("aside")
	left, right := commit("left", root), commit("right", root, aside)
	merged := commit("merged", left, right)
	newest, other := commit("newest", merged), commit("other")
	git(dir, "update-ref", "refs/heads/main", newest)
	git(dir, "replace", left, other)
	src, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}

	h, err := src.Between(object.OID(root), object.OID(newest))
	if err != nil || len(h.Commits) != 5 || h.Commits[4] != object.OID(newest) {
		t.Fatalf("%+v %v", h, err)
	}
	for i, parents := range h.Parents {
		want := map[string][]string{right: {aside}, merged: {left, right}, newest: {merged}}[string(h.Commits[i])]
		var got []string
		for _, p := range parents {
			if p >= i {
				t.Errorf("%s stands before its parent", h.Commits[i])
			}
			got = append(got, string(h.Commits[p]))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("the parents of %s are %v, want %v", h.Commits[i], got, want)
		}
	}
	if base, err := src.MergeBase(object.OID(left), object.OID(right)); err != nil || base != object.OID(root) {
		t.Errorf("the merge base is %s, %v; want %s", base, err, root)
	}
	_, err = src.MergeBase(object.OID(newest), object.OID(other))
	if err == nil || !strings.Contains(err.Error(), "have no common ancestor here; BASE..HEAD compares") {
		t.Error(err)
	}
	if _, err = src.MergeBase("--all", object.OID(root)); err == nil || !strings.Contains(err.Error(), "not the name") {
		t.Error(err)
	}

	// In a shallow clone the ancestor may be missing.
	git(dir, "update-ref", "refs/heads/left", left)
	git(dir, "update-ref", "refs/heads/right", right)
	shallow := t.TempDir()
	git(shallow, "clone", "-q", "--depth=1", "--no-single-branch", "file://"+dir, ".")
	if src, err = Open(shallow); err != nil {
		t.Fatal(err)
	}
	_, err = src.MergeBase(object.OID(left), object.OID(right))
	if err == nil || !strings.Contains(err.Error(), "the clone is shallow") {
		t.Error(err)
	}
}
