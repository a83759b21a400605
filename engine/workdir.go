package engine

import (
	"fmt"
	"os"
	"path/filepath"

	"markmill/engine/sandbox"
	"markmill/runs"
)

// workdir is a run's private folder in the cache: its worktree, temporary folder, kernels' files.
// It is locked while the run lives and removed at its end.
type workdir struct {
	Root    string
	Tree    string // worktree.Options.Dir
	Tmp     string // TMPDIR of the steps
	Glue    string // on PATH: the commands glue and scrap
	Scraps  string // file that steps append scraps to
	Display string // rich results of steps, a folder a step
	Kernels string // a folder a session
	Sandbox string // the sandbox's helper and its orders, a file a session
	Home    string // of steps in a strict sandbox
	release func()
}

// makeWorkdir makes a run's folder, after it removed those of runs that were cut.
func (e *Engine) makeWorkdir(id runs.RunID) (*workdir, error) {
	all := filepath.Join(e.Cache, "work")
	sweep(all)
	root := filepath.Join(all, string(id))
	w := &workdir{
		Root:    root,
		Tree:    filepath.Join(root, "tree"),
		Tmp:     filepath.Join(root, "tmp"),
		Glue:    filepath.Join(root, "bin"),
		Scraps:  filepath.Join(root, "scraps.jsonl"),
		Display: filepath.Join(root, "display"),
		Kernels: filepath.Join(root, "kernels"),
		Sandbox: filepath.Join(root, "sandbox"),
		Home:    filepath.Join(root, "home"),
	}
	if err := os.MkdirAll(all, 0o700); err != nil {
		return nil, err
	}
	for _, dir := range []string{root, w.Tmp, w.Glue, w.Display, w.Kernels, w.Sandbox, w.Home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
	}
	var err error
	if w.release, err = runs.Lock(root); err != nil {
		return nil, err
	}
	if err := os.WriteFile(w.Scraps, nil, 0o600); err != nil {
		return nil, err
	}
	for _, link := range []string{filepath.Join(w.Glue, "glue"), filepath.Join(w.Glue, "scrap"), filepath.Join(w.Sandbox, sandbox.HelperName)} {
		if err := os.Symlink(e.Tools, link); err != nil {
			return nil, fmt.Errorf("the command %s for steps: %w", filepath.Base(link), err)
		}
	}
	return w, nil
}

// close removes the folder, or all of it but the worktree.
func (w *workdir) close(keepTree bool) error {
	defer w.release()
	if !keepTree {
		return removeAll(w.Root)
	}
	for _, path := range []string{w.Tmp, w.Glue, w.Scraps, w.Display, w.Kernels, w.Sandbox, w.Home} {
		if err := removeAll(path); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(w.Root, keepMark), nil, 0o600)
}

// keepMark stands in a folder that the user asked to keep.
const keepMark = "keep"

// sweep removes what runs that were cut left behind: folders that nobody locks.
func sweep(all string) {
	entries, err := os.ReadDir(all)
	if err != nil {
		return
	}
	for _, d := range entries {
		dir := filepath.Join(all, d.Name())
		if _, err := os.Stat(filepath.Join(dir, keepMark)); err == nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, runs.LockFile)); err != nil {
			continue // being made by another process at this moment, or not ours
		}
		release, err := runs.Lock(dir)
		if err != nil {
			continue // alive
		}
		_ = removeAll(dir) // a folder that resists is left for the next run; it harms nobody
		release()
	}
}

// removeAll is os.RemoveAll that also gets past folders which a step made unwritable (Go's module
// cache is such a one).
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(p, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}
