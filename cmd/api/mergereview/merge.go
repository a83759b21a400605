package mergereview

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
)

// merged is a merge in a clone of the repository.
type merged struct {
	*engine.Clone
	commit    worktree.OID
	conflicts []string // paths in which the tree has both sides, with marks
}

// merge merges two commits. Git reads the user's repository, with its settings and merge drivers, and writes objects
// into the clone.
func merge(ctx context.Context, clone *engine.Clone, src *worktree.Source, base, head Revision) (*merged, error) {
	objects := filepath.Join(clone.CommonDir(), "objects")
	env := []string{"GIT_OBJECT_DIRECTORY=" + objects,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(src.CommonDir(), "objects"),
		"GIT_AUTHOR_NAME=Markmill", "GIT_AUTHOR_EMAIL=markmill@localhost", "GIT_COMMITTER_NAME=Markmill",
		"GIT_COMMITTER_EMAIL=markmill@localhost"}
	out, err := worktree.RunGit(ctx, src.Root(), env, "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages",
		base.Commit, head.Commit)
	names := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	m := &merged{Clone: clone}
	var ended *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, &notebooks.Error{Kind: notebooks.KindProvider, Msg: "review --merge needs the git program, 2.38 or newer, " +
			"and none is on PATH", Err: err}
	case errors.As(err, &ended) && ended.ExitCode() == 1 && len(names) > 1:
		m.conflicts = names[1:]
	case errors.As(err, &ended) && ended.ExitCode() == 129: // git's exit code for an unknown option
		return nil, &notebooks.Error{Kind: notebooks.KindProvider, Msg: "review --merge needs Git 2.38 or newer: this one's " +
			"merge-tree writes no tree", Hint: "git version shows which it is", Err: err}
	case err != nil:
		return nil, &notebooks.Error{Kind: notebooks.KindInput, Msg: fmt.Sprintf("%s and %s cannot be merged: %v", base.Name,
			head.Name, err), Err: err}
	}
	out, err = worktree.RunGit(ctx, src.Root(), env, "commit-tree", names[0], "-p", base.Commit, "-p", head.Commit, "-m",
		fmt.Sprintf("Merge of %s and %s, in memory", base.Name, head.Name))
	m.commit = worktree.OID(strings.TrimSpace(string(out)))
	return m, err
}
