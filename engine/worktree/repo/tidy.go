package repo

import (
	"errors"
	"io"
	"io/fs"
	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"os"
	"path/filepath"
	"strings"
)

// Tidy removes what an interrupted Branch or Fetch left half done in .git: its temporary pack and its locks. If the
// index of the pack is in place already, it moves the pack there as well. It leaves complete packs and refs alone. The
// run must not be alive.
func (s *Repo) Tidy(runID string) error {
	if !object.ValidRef(RunRefPrefix + runID) {
		return nil // it names no file of this repository
	}
	errs := []error{s.finishPack(runID), s.unlockBranch(runID)}
	for _, path := range []string{s.tempPack(runID) + tempIndex, s.tempPack(runID), s.runLock(runID)} {
		if err := os.Remove(path); err != nil && !disk.Gone(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// finishPack moves a run's pack into place if its index is there already. The name of both is at the end of the pack.
func (s *Repo) finishPack(runID string) error {
	tmp := s.tempPack(runID)
	f, err := os.Open(tmp)
	if err != nil {
		return nil // none
	}
	defer f.Close()
	var name object.Digest
	if _, err := f.Seek(-int64(s.Format.Size), io.SeekEnd); err != nil {
		return nil // not whole, and then its index is not in its place
	}
	if _, err := io.ReadFull(f, name[:s.Format.Size]); err != nil {
		return err
	}
	base := s.packBase(name)
	if _, err := os.Lstat(base + ".idx"); err != nil {
		return nil
	}
	if _, err := os.Lstat(base + ".pack"); err == nil {
		return nil
	}
	return os.Rename(tmp, base+".pack")
}

// unlockBranch removes the lock of a branch that is the same file as the run's lock.
func (s *Repo) unlockBranch(runID string) error {
	own, err := os.Lstat(s.runLock(runID))
	if err != nil {
		return nil // it holds none
	}
	return filepath.WalkDir(s.refPath("refs/heads"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".lock") {
			if disk.Gone(err) {
				return nil
			}
			return err
		}
		if info, err := d.Info(); err == nil && os.SameFile(own, info) {
			return os.Remove(path)
		}
		return nil
	})
}
