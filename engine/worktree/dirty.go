package worktree

import (
	"cmp"
	"context"
	"markmill/engine/worktree/repo"
	"markmill/engine/worktree/rules"
	"markmill/engine/worktree/snapshot"
	"markmill/runs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Dirty lists the user's uncommitted changes by path: staged, unstaged, and untracked files that are not ignored. Files
// that runs stage beside their OUTPUT (outfile.File), and those in folders of dependencies that HEAD does not have, are
// left out: nobody commits them. It asks the Git program where that is installed, since it knows all its own settings;
// that takes no lock and writes nothing. Otherwise it compares the checkout with HEAD, also where Git gives up, as at a
// .gitmodules that it refuses: a branch must not keep itself from being judged.
func (s *Source) Dirty(ctx context.Context) ([]string, error) {
	paths, err := s.uncommitted(ctx)
	if err != nil || len(paths) == 0 {
		return nil, err
	}
	head, err := s.Head()
	files, none := s.CommitFiles(head)
	if err != nil || none != nil { // none is of a repository without a commit
		return paths, err
	}
	installed := map[string]bool{} // by folder
	return slices.DeleteFunc(paths, func(name string) bool {
		dir := path.Dir(name)
		if _, known := installed[dir]; !known {
			below := s.Dependencies(name)
			tree, _, err := files.View().Folder(below)
			installed[dir] = below != "" && err == nil && tree == ""
		}
		return installed[dir]
	}), nil
}

// uncommitted is Dirty with the files in folders of dependencies.
func (s *Source) uncommitted(ctx context.Context) ([]string, error) {
	if !repo.HaveGit() {
		return s.dirtyWalk(ctx, s.CommonDir())
	}
	out, err := repo.RunGit(ctx, s.Root(), nil, nil, "status", "--porcelain", "-z", "--untracked-files=all",
		"--no-renames")
	if err != nil && ctx.Err() == nil {
		return s.dirtyWalk(ctx, s.CommonDir())
	}
	if err != nil {
		return nil, err
	}
	var paths []string
	for item := range strings.SplitSeq(string(out), "\x00") {
		if len(item) > 3 && !strings.HasPrefix(item[3:], ".markmill/") && runs.StagedBy(path.Base(item[3:])) == "" {
			paths = append(paths, item[3:])
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// Look is Dirty for a run that is about to begin: the next Fingerprint takes over what it saw of the checkout. It asks
// the Git program only if that and the index do not prove that there is no change.
func (s *Source) Look(ctx context.Context) ([]string, error) {
	if s.clean(ctx) {
		return nil, nil
	}
	return s.Dirty(ctx)
}

// clean reports whether the checkout is proven to have no uncommitted change and no untracked file, ignored or not.
func (s *Source) clean(ctx context.Context) bool {
	head, err := s.Head()
	commit, ok := s.Format.Parse(head)
	if err != nil || !ok {
		return false
	}
	tree, err := s.TreeOf(commit)
	if err != nil {
		return false
	}
	index, err := snapshot.OpenIndex(filepath.Join(s.GitDir(), "index"), s.Format)
	if err != nil || index.Tree != tree {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.walk(nil) != nil || ctx.Err() != nil {
		return false
	}
	s.seen = true
	return index.Holds(s.print)
}

// dirtyWalk is uncommitted without the Git program. It misses what is staged and undone in the checkout. exclude is the
// Git directory whose info/exclude applies, "" for none.
func (s *Source) dirtyWalk(ctx context.Context, exclude string) ([]string, error) {
	head, err := s.Head()
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "markmill-dirty-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	t, err := prepare(s, Options{Dir: filepath.Join(tmp, "w"), Base: head}, false)
	if err != nil {
		return nil, err
	}
	t.dir, t.inUse, t.ign = s.Root(), true, rules.NewIgnores(s.Config, exclude)
	if err := t.loadBase(); err != nil {
		return nil, err
	}
	if _, err := t.refresh(ctx); err != nil {
		return nil, err
	}
	var paths []string
	for _, d := range t.deltas(t.step) {
		if runs.StagedBy(path.Base(d.Path)) == "" {
			paths = append(paths, d.Path, cmp.Or(d.From, d.Path))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}
