package engine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"markmill/engine/worktree"
	"markmill/engine/worktree/apply"
	"markmill/engine/worktree/disk"
	"markmill/runs"
	"markmill/runs/outfile"
)

// Tidy removes what interrupted runs left outside their records and half-written inside them: private folders, staged
// output notebooks, temporary packs and locks of --branch in the repositories. Records stay (runs.Reconcile completes
// them), and so does everything of live runs. root is the repository whose runs are examined; "" outside one.
func (e *Engine) Tidy(root string) error {
	e.sweep(filepath.Join(e.Cache, "work"))
	if dir := e.apartFolder(); filepath.Base(dir) == homeFolder {
		e.sweep(dir)
	}
	store := e.Store(root)
	cut, err := store.Unfinished()
	errs := []error{err}
	if root != "" {
		_, err := apply.HalfApplied(root) // `runs maintain reconcile` reports those that are to be finished
		errs = append(errs, err)
	}
	for _, id := range cut {
		gone, err := store.Discard(id) // there was only its directory
		if err != nil {
			errs = append(errs, err)
		}
		if gone || err != nil {
			continue
		}
		dir := store.Path(id)
		release, err := runs.Lock(dir)
		if errors.Is(err, runs.ErrLive) || errors.Is(err, fs.ErrNotExist) {
			continue // another command is working on it
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, tidy(id, dir, e.workRoot(id)))
		release()
	}
	return errors.Join(errs...)
}

// tidy cleans up after one run, whose lock is held. private is its folder in the cache.
func tidy(id runs.RunID, dir, private string) error {
	errs := []error{disk.RemoveAll(unfinished(private)), runs.At(dir).RemoveTemporary()}
	if _, err := os.Lstat(filepath.Join(private, keepMark)); err != nil && readTurn(private) == nil { // see keepsTurn
		if err = rescue(private); err == nil {
			err = disk.RemoveAll(private)
		}
		errs = append(errs, err)
	}
	errs = append(errs, runs.At(dir).SettleData())
	run, _, err := runs.At(dir).Load()
	if err != nil {
		return errors.Join(errs...) // `verify` reports what is wrong with it
	}
	if run.Started.LocalOutput() != "" {
		errs = append(errs, outfile.Tidy(run.Started.Output, run.Started.Assets, run.ID, run.Completed != nil))
	}
	if run.Started.Repository != "" {
		if src, err := worktree.Open(run.Started.Repository); err == nil { // else it was removed, and everything in it
			errs = append(errs, src.Tidy(string(id)))
		}
	}
	return errors.Join(errs...)
}

// rescue moves what an interrupted run wrote and Git ignores from its private folder beside its record.
func rescue(private string) error {
	dir, err := os.ReadFile(filepath.Join(private, ofRecord))
	if err != nil || len(dir) == 0 {
		return nil // a folder of an earlier version, or that of a run that had just begun
	}
	record := runs.At(string(dir))
	run, _, err := record.Load()
	if err != nil || run.Completed != nil || run.Started.Repository == "" {
		return nil // there is no record, or it lists what was written
	}
	src, err := worktree.Open(run.Started.Repository)
	if err != nil {
		return nil
	}
	tree := worktree.Path(src, filepath.Join(private, "tree"))
	if _, err := os.Lstat(tree); err != nil {
		return nil
	}
	names, err := src.IgnoredIn(tree)
	for _, name := range names {
		at := filepath.Join(tree, filepath.FromSlash(name))
		was, none := os.Lstat(filepath.Join(src.Root(), filepath.FromSlash(name)))
		is, gone := os.Lstat(at)
		copied := none == nil && gone == nil && was.Size() == is.Size() && was.ModTime().Equal(is.ModTime())
		if gone == nil && !copied && !isByproduct(name) {
			err = errors.Join(err, record.KeepData(at, worktree.ShownPath(name)))
		}
	}
	return err
}
