package apply

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/patch"
	"markmill/engine/worktree/quote"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// stage is the folder <root>/.markmill/apply, in which an Apply prepares its files, below new-<run>. Once the files and
// list.json are complete, that folder is renamed to run-<run>. From then on the run is being applied, and any later
// Apply can finish it. The stage is locked while it is in use.
type stage struct {
	root    string
	dir     string // <root>/.markmill/apply
	run     string
	making  string // new-<run>
	ready   string // run-<run>
	patch   runs.Digest
	release func()
	list    stageList
}

const (
	stageMaking = "new-"
	stageReady  = "run-"
	stageFile   = "list.json"
)

// stageList is list.json: what Apply does, in order.
type stageList struct {
	Run   string       `json:"run_id"`
	Patch runs.Digest  `json:"patch_digest"`
	Files []stagedFile `json:"files"`
}

// stagedFile is one path. Its new content is in the stage's folder under its number, its old one as <number>.old.
type stagedFile struct {
	Path string    `json:"path"` // as quote writes it
	Was  fileState `json:"was"`
	Now  fileState `json:"now"`
}

// fileState is what stands at a path: nothing when Mode is 0.
type fileState struct {
	Mode   uint32      `json:"mode"` // as Git has it
	Digest runs.Digest `json:"digest,omitzero"`
	data   []byte
}

func (a fileState) same(b fileState) bool { return a.Mode == b.Mode && a.Digest == b.Digest }

// openStage locks the stage of a checkout. It removes what an earlier Apply left there without changing any file.
func openStage(root, runID string, patch []byte) (_ *stage, err error) {
	store := filepath.Join(root, ".markmill")
	st := &stage{root: root, dir: filepath.Join(store, "apply"), run: runID, patch: runs.DigestOf(patch)}
	st.making, st.ready = filepath.Join(st.dir, stageMaking+runID), filepath.Join(st.dir, stageReady+runID)
	if err := os.MkdirAll(st.dir, 0o755); err != nil {
		return nil, err
	}
	ignore := filepath.Join(store, ".gitignore")
	if info, err := os.Lstat(ignore); err != nil || info.Size() == 0 {
		if err := os.WriteFile(ignore, []byte("*\n"), 0o644); err != nil {
			return nil, err
		}
	}
	if st.release, err = runs.Lock(st.dir); errors.Is(err, runs.ErrLive) {
		return nil, &notebooks.Error{Kind: notebooks.KindOption, File: root,
			Msg: "another command applies a run to this checkout", Hint: "wait for its end"}
	} else if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			st.close()
		}
	}()
	pending, err := sweepStage(st.dir)
	if err != nil {
		return nil, err
	}
	for _, other := range pending {
		if other != runID {
			run, back := strings.CutSuffix(other, RevertedSuffix)
			e := &notebooks.Error{Kind: notebooks.KindOption, File: root,
				Msg:  fmt.Sprintf("the change of run %s is half applied: that command was killed", run),
				Hint: fmt.Sprintf("markmill apply %s finishes it", run)}
			if back {
				e.Msg = fmt.Sprintf("the change of run %s is half taken back: that command was killed", run)
				e.Hint = fmt.Sprintf("markmill revert %s finishes it", run)
			}
			return nil, e
		}
	}
	return st, os.MkdirAll(st.making, 0o700)
}

// sweepStage removes leftovers that no Apply needs, and lists the runs that are half applied. The stage must be locked.
func sweepStage(dir string) (pending []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		run, ready := strings.CutPrefix(e.Name(), stageReady)
		if ready {
			if _, lerr := os.Lstat(filepath.Join(dir, e.Name(), stageFile)); lerr == nil {
				pending = append(pending, run)
				continue
			}
		}
		if ready || strings.HasPrefix(e.Name(), stageMaking) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return pending, err
}

// HalfApplied lists the runs whose Apply to a checkout was killed halfway, and removes leftovers of others.
func HalfApplied(root string) (ids []string, err error) {
	dir := filepath.Join(root, ".markmill", "apply")
	if _, err := os.Lstat(dir); err != nil {
		return nil, nil
	}
	release, err := runs.Lock(dir)
	if errors.Is(err, runs.ErrLive) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ids, err = sweepStage(dir)
	release()
	_ = os.Remove(dir) // where it is empty
	return ids, err
}

func (st *stage) close() {
	_ = os.RemoveAll(st.making)
	st.release()
	_ = os.Remove(st.dir) // where it is empty
}

// pending reports whether an earlier Apply of this run was interrupted.
func (st *stage) pending() bool {
	_, err := os.Lstat(filepath.Join(st.ready, stageFile))
	return err == nil
}

// prepare makes every new file, links the old ones, and writes the list.
func (st *stage) prepare(list []change) error {
	st.list = stageList{Run: st.run, Patch: st.patch}
	for i, c := range list {
		was, err := stateOf(st.root, c.path)
		if err != nil {
			return err
		}
		if was.Mode == disk.ModeDir && c.mode != 0 && c.mode != disk.ModeGitlink {
			was = fileState{} // a folder gives way once what goes has gone
		}
		f := stagedFile{Path: quote.Path(c.path), Was: was}
		if c.mode != 0 {
			f.Now = fileState{Mode: c.mode}
			if c.mode != disk.ModeGitlink {
				f.Now.Digest = runs.DigestOf(c.data)
			}
		}
		st.list.Files = append(st.list.Files, f)
		full := filepath.Join(st.root, filepath.FromSlash(c.path))
		if err := makeFile(filepath.Join(st.making, fmt.Sprint(i)), c, was, full); err != nil {
			return err
		}
		if was.Mode != 0 && was.Mode != disk.ModeDir {
			if err := st.keepOld(c.path, filepath.Join(st.making, fmt.Sprint(i)+".old"), was); err != nil {
				return err
			}
		}
	}
	text, err := codec.Marshal(st.list)
	if err != nil {
		return err
	}
	if err := disk.WriteSynced(filepath.Join(st.making, stageFile), text, 0o444); err != nil {
		return err
	}
	return os.Rename(st.making, st.ready)
}

// makeFile writes the new file of a path. A file that replaces another keeps its permissions, except for the executable
// bits.
func makeFile(name string, c change, was fileState, old string) error {
	switch c.mode {
	case 0, disk.ModeGitlink:
		return nil
	case disk.ModeLink:
		return os.Symlink(string(c.data), name)
	}
	if err := disk.WriteNew(name, c.data, os.FileMode(0o666|c.mode&0o111)); err != nil {
		return err
	}
	info, err := os.Lstat(old)
	if err != nil || was.Mode&disk.ModeType != disk.ModeFile {
		return nil
	}
	perm := info.Mode().Perm()
	if c.mode&0o111 != was.Mode&0o111 {
		perm &^= 0o111
		if c.mode&0o111 != 0 {
			perm |= (perm & 0o444) >> 2
		}
	}
	return os.Chmod(name, perm)
}

// keepOld keeps the old file so that undo can restore it: a hard link where possible, else a copy.
func (st *stage) keepOld(path, to string, was fileState) error {
	if was.Mode != disk.ModeLink && os.Link(filepath.Join(st.root, filepath.FromSlash(path)), to) == nil {
		return nil
	}
	return disk.Copy(st.root, path, to)
}

// perform moves the new files into place. If one cannot be moved, it moves the others back.
func (st *stage) perform() error {
	for i := range st.list.Files {
		f := &st.list.Files[i]
		is, err := stateOf(st.root, f.path())
		if err == nil && !is.same(f.Was) && !f.givesWay(is) {
			err = conflict(st.root, []string{f.path()}, disk.ErrChanged)
		}
		if err == nil {
			err = st.place(i, fmt.Sprint(i), f.Now)
		}
		if err != nil {
			return st.undo(i, err)
		}
	}
	return st.drop()
}

func (f *stagedFile) path() string { return quote.Plain(f.Path) }

// givesWay reports whether a folder is where a file is to be; place removes it if it is empty.
func (f *stagedFile) givesWay(is fileState) bool {
	return f.Was.Mode == 0 && f.Now.Mode != 0 && is.Mode == disk.ModeDir
}

// resume finishes an Apply that was interrupted.
func (st *stage) resume() error {
	text, err := os.ReadFile(filepath.Join(st.ready, stageFile))
	if err == nil {
		err = codec.Unmarshal(text, &st.list)
	}
	if err != nil {
		return err
	}
	if st.list.Run != st.run || st.list.Patch != st.patch {
		return &notebooks.Error{Kind: notebooks.KindRecord, File: filepath.Join(st.ready, stageFile),
			Msg: "is not of this run's patch", Hint: "see markmill verify"}
	}
	var bad []string
	var left []int
	for i := range st.list.Files {
		f := &st.list.Files[i]
		if !safePath(f.path()) {
			return &notebooks.Error{Kind: notebooks.KindRecord, File: filepath.Join(st.ready, stageFile),
				Msg: "names a path outside the checkout: " + f.Path}
		}
		switch is, err := stateOf(st.root, f.path()); {
		case err != nil:
			return err
		case is.same(f.Now):
		case is.same(f.Was), f.givesWay(is):
			left = append(left, i)
		default:
			bad = append(bad, f.path())
		}
	}
	if len(bad) > 0 {
		return &notebooks.Error{Kind: notebooks.KindInput, File: st.root,
			Msg: "the change is half applied, and these files were changed since: " + strings.Join(bad, ", "),
			Hint: "put them back as they were, and try again; or remove " + st.ready +
				" to leave the checkout as it is"}
	}
	for _, i := range left {
		if err := st.place(i, fmt.Sprint(i), st.list.Files[i].Now); err != nil {
			return err
		}
	}
	return st.drop()
}

// place moves a file of the stage into the checkout, or removes what is there.
func (st *stage) place(i int, name string, want fileState) error {
	path := st.list.Files[i].path()
	if want.Mode == 0 {
		return disk.RemoveUp(st.root, path)
	}
	if err := disk.MakeFolders(st.root, slashDir(path)); err != nil {
		return err
	}
	full := filepath.Join(st.root, filepath.FromSlash(path))
	if want.Mode == disk.ModeGitlink || want.Mode == disk.ModeDir {
		return os.MkdirAll(full, 0o777)
	}
	if info, err := os.Lstat(full); err == nil && info.IsDir() {
		if os.Remove(full) != nil { // only an empty one gives way
			return conflict(st.root, []string{path}, patch.ErrConflict)
		}
	}
	from := filepath.Join(st.ready, name)
	if os.Rename(from, full) == nil {
		return nil
	}
	// The folder is on another file system: a copy is made beside the place, which a second Apply makes anew.
	beside := filepath.Join(filepath.Dir(full), runs.TempPrefix+st.run+"-"+fmt.Sprint(i))
	_ = os.Remove(beside)
	if err := disk.Copy(st.ready, name, beside); err != nil {
		return errors.Join(err, os.Remove(beside))
	}
	return os.Rename(beside, full)
}

// undo restores the first n files and the one after them, and returns cause.
func (st *stage) undo(n int, cause error) error {
	var errs []error
	for i, f := range slices.Backward(st.list.Files[:n+1]) {
		is, err := stateOf(st.root, f.path())
		if err == nil && !is.same(f.Was) && is.same(f.Now) {
			err = st.place(i, fmt.Sprint(i)+".old", f.Was)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(cause,
			fmt.Errorf("the old files could not all be moved back; those that were not are in %s as N.old: %w",
				st.ready, err))
	}
	return errors.Join(cause, st.drop())
}

// drop removes the stage of the run, the list first: without a list nothing is pending.
func (st *stage) drop() error {
	if err := os.Remove(filepath.Join(st.ready, stageFile)); err != nil {
		return err
	}
	return os.RemoveAll(st.ready)
}

// stateOf reads what is at a path of the checkout. A path behind a symbolic link is an error.
func stateOf(root, path string) (fileState, error) {
	f, name, err := disk.Reach(root, path)
	if err != nil {
		return fileState{}, ignoreMissing(root, path, err)
	}
	defer f.Close()
	st, err := f.Lstat(name)
	if disk.Gone(err) {
		return fileState{}, nil
	}
	if err != nil {
		return fileState{}, err
	}
	s := fileState{Mode: st.GitMode()}
	switch st.Kind() {
	case disk.KindDir:
		s.Mode = disk.ModeDir
		return s, nil
	case disk.KindLink:
		target, err := f.Readlink(name)
		s.data = []byte(target)
		s.Digest = runs.DigestOf(s.data)
		return s, err
	case disk.KindFile:
		s.data, _, err = f.Content(name, st.Size)
		s.Digest = runs.DigestOf(s.data)
		return s, err
	}
	return s, &notebooks.Error{Kind: notebooks.KindInput, File: filepath.Join(root, path),
		Msg: "is no file, and is in the way of the patch"}
}
