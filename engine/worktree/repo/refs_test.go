package repo

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"markmill/engine/worktree/gittest"
	"markmill/engine/worktree/object"
)

// TestRefsComeAndGo: the last ref goes while another comes. Git removes the folders that this leaves empty, under the
// feet of who makes a ref in them.
func TestRefsComeAndGo(t *testing.T) {
	g := gittest.New(t)
	g.Write("a", "a\n")
	g.Commit("base")
	head := object.OID(g.Git("rev-parse", "HEAD"))
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() { // as `git update-ref -d` does after it has removed a ref
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
				os.Remove(filepath.Join(g.Dir, ".git", "refs", "markmill", "runs"))
				os.Remove(filepath.Join(g.Dir, ".git", "refs", "markmill"))
			}
		}
	}()
	s, err := Open(g.Dir)
	gittest.Must(t, err)
	for i := range gittest.Rounds(50) {
		name := fmt.Sprintf("%sr%d", RunRefPrefix, i)
		if err := s.setRef(fmt.Sprint("r", i), name, "", head); err != nil {
			t.Fatal(i, err)
		}
		gittest.Must(t, os.Remove(filepath.Join(g.Dir, ".git", filepath.FromSlash(name))))
	}
	close(stop)
	gittest.Must(t, <-done)
}

func TestMain(m *testing.M) { gittest.Main(m) }
