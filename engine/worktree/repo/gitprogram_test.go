package repo

import (
	"context"
	"fmt"
	"testing"

	"markmill/engine/worktree/gittest"
)

// TestMissingFilters: a filter counts that is required, that a tracked file has, and whose program is not there.
func TestMissingFilters(t *testing.T) {
	g := gittest.New(t)
	g.Write(".gitattributes", "*.bin filter=lfs\n*.here filter=here\n*.may filter=may\n*.none filter=none\n")
	for _, name := range []string{"sub/a.bin", "a.here", "a.may"} {
		g.Write(name, "x\n")
	}
	g.Commit("base")
	g.Configure("[filter \"lfs\"]\n\tprocess = no-such-lfs filter-process\n\trequired = true\n" +
		"[filter \"here\"]\n\tclean = git hash-object --stdin\n\trequired\n" +
		"[filter \"may\"]\n\tclean = no-such-lfs\n[filter \"none\"]\n\tclean = no-such-lfs\n\trequired = true\n")
	s, err := Open(g.Dir)
	gittest.Must(t, err)
	got, err := s.MissingFilters(context.Background())
	if fmt.Sprint(got) != "[{lfs no-such-lfs sub/a.bin}]" || err != nil {
		t.Errorf("%v %v", got, err)
	}
}
