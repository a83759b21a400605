package worktree

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/repo"
	"markmill/runs"
)

// Bundle writes the run's commits into dir as runs.BundleFile, a Git bundle whose prerequisite is the base commit. It
// does not write to the source's repository, and it renames the file into place when it is complete. It returns nil for
// a run that has no source, and for one that changed nothing, unless it began with uncommitted changes, which only its
// commits have.
func (t *Tree) Bundle(ctx context.Context, dir string) (*runs.BundleData, error) {
	if t.src == nil || !t.changed && !t.opt.IncludeDirty || t.last == t.start {
		return nil, nil
	}
	ref := repo.RunRefPrefix + t.opt.RunID
	if !object.ValidRef(ref) {
		return nil, fmt.Errorf("the run id %q cannot name a ref", t.opt.RunID)
	}
	f, err := os.CreateTemp(dir, runs.TempPrefix+"*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name()) // gone after the rename
	sum := sha256.New()
	buffered := bufio.NewWriterSize(io.MultiWriter(f, sum), 64<<10)
	buffered.WriteString(object.BundleHead(t.fmt, t.fmt.OID(t.start), t.fmt.OID(t.last), ref))
	if err = object.WritePack(buffered, t.fmt, t.ofRun(), t.openUntil(ctx)); err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	var size int64
	if err == nil {
		size, err = f.Seek(0, io.SeekCurrent)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), runs.At(dir).File(runs.BundleFile))
	}
	if err != nil {
		return nil, err
	}
	return &runs.BundleData{File: runs.BundleFile, Digest: runs.Digest("sha256:" + hex.EncodeToString(sum.Sum(nil))),
		Bytes: size, Ref: ref}, nil
}

// openUntil opens objects of the run, whose content is read until a context ends.
func (t *Tree) openUntil(ctx context.Context) object.Opener {
	return func(d object.Digest) (string, int64, io.ReadCloser, error) {
		kind, size, content, err := t.store.Open(d)
		return kind, size, struct {
			io.Reader
			io.Closer
		}{object.Until(ctx, content), content}, err
	}
}

// ofRun lists the objects of the run that the base commit lacks.
func (t *Tree) ofRun() []object.Digest {
	base := t.baseBlobs()
	list := t.store.Order[:t.settled:t.settled]
	for _, d := range t.store.Order[t.settled:] {
		if !base[d] && !t.store.Based[d] {
			list = append(list, d)
		}
	}
	return list
}

// baseBlobs returns those of the run's stored blobs that the base has too: a step may have touched a file, or restored
// earlier content.
func (t *Tree) baseBlobs() map[object.Digest]bool {
	base := map[object.Digest]bool{}
	for _, was := range t.total {
		if was.Mode != 0 && t.store.Known[was.OID] {
			base[was.OID] = true
		}
	}
	for prefix, e := range t.root.Entries() { // of a great many files, few have content that the run stored
		if e.Mode != 0 && t.store.Known[e.OID] {
			if _, changed := t.total[prefix+e.Name]; !changed {
				base[e.OID] = true
			}
		}
	}
	return base
}

// settleObjects prepares the store when the run begins with a commit of its own: it keeps only objects that the
// requested base lacks, and adds content that only the user's index has.
func (t *Tree) settleObjects() error {
	if t.src == nil {
		return nil // in a folder outside a repository nothing is bundled
	}
	for path, was := range t.total {
		t.store.Based[was.OID] = true
		e := t.root.Find(path)
		if e == nil || e.Mode == 0 || e.Mode == disk.ModeGitlink || t.store.Known[e.OID] {
			continue
		}
		data, err := t.src.Read("blob", e.OID)
		if err != nil {
			return err
		}
		if _, err := t.store.Put("blob", data); err != nil {
			return err
		}
	}
	t.store.Order = t.ofRun()
	t.settled = len(t.store.Order)
	return nil
}
