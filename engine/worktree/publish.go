package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-git/go-git/v6/plumbing"

	"markmill/notebooks"
)

// runRefs is where the runs' commits are kept.
const runRefs = "refs/markmill/runs/"

// Publish copies the run's objects into the source as one pack and points refs/markmill/runs/<run-id>
// at the run's last commit. It is all or nothing: objects without the ref are removed again. A run
// that changed nothing writes nothing, and ref is "". A second call carries the ref on.
func (t *Tree) Publish(ctx context.Context) (ref string, err error) {
	if t.src == nil || !t.changed {
		return "", nil
	}
	ref = runRefs + t.opt.RunID
	if !validRef(ref) {
		return "", fmt.Errorf("the run id %q cannot name a ref", t.opt.RunID)
	}
	last := t.fmt.oid(t.last)
	if t.published == last {
		return ref, nil
	}
	undo, err := t.src.addPack(t.store)
	if err != nil {
		return "", fmt.Errorf("copying the run's objects into %s: %w", t.src.root, err)
	}
	if err = ctx.Err(); err == nil {
		err = t.src.setRef(ref, t.published, last)
	}
	if err != nil {
		undo()
		return "", err
	}
	t.published = last
	return ref, nil
}

// addPack writes the store's objects into the source; undo removes them again.
func (s *Source) addPack(from *store) (undo func(), err error) {
	dir := filepath.Join(s.common, "objects", "pack")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "tmp_pack_") // a name that `git gc` clears away after a crash
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	name, index, err := from.writePack(f)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	base := filepath.Join(dir, "pack-"+string(s.fmt.oid(name)))
	undo = func() {
		os.Remove(base + ".idx") // the index first: without it Git does not see the pack
		os.Remove(base + ".pack")
	}
	if _, err := os.Stat(base + ".idx"); err == nil {
		return func() {}, nil // the very same objects are there already
	}
	tmp := f.Name() + "_idx"
	defer os.Remove(tmp)
	if err := writeSynced(tmp, index); err != nil {
		return nil, err
	}
	if err := os.Chmod(f.Name(), 0o444); err != nil {
		return nil, err
	}
	if err := os.Rename(f.Name(), base+".pack"); err != nil {
		return nil, err
	}
	if err := os.Rename(tmp, base+".idx"); err != nil {
		undo()
		return nil, err
	}
	return undo, nil
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o444)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// lockPatience is how long a ref's lock, held by somebody else, is waited for.
const lockPatience = time.Second

// setRef makes a ref hold new, if it holds old ("": if it does not exist), under Git's own lock.
func (s *Source) setRef(name string, old, new OID) error {
	path := filepath.Join(s.common, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	lock := path + ".lock"
	var f *os.File
	for deadline := time.Now().Add(lockPatience); ; {
		var err error
		f, err = os.OpenFile(lock, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) || time.Now().After(deadline) {
			return &notebooks.Error{Kind: notebooks.KindArtifact, File: lock, Msg: "the ref cannot be locked: " + err.Error(), Err: err,
				Hint: "if no Git command runs any more, remove the lock"}
		}
		time.Sleep(10 * time.Millisecond)
	}
	defer os.Remove(lock) // gone after the rename
	now, err := s.ref(name)
	if err == nil && now != string(old) {
		err = &notebooks.Error{Kind: notebooks.KindArtifact, File: s.root, Msg: fmt.Sprintf("%s holds %s, where %s was expected", name, orNothing(now), orNothing(string(old)))}
	}
	if err == nil {
		_, err = f.WriteString(string(new) + "\n")
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return os.Rename(lock, path)
}

func orNothing(oid string) string {
	if oid == "" {
		return "nothing"
	}
	return oid
}

// Branch makes a branch whose one commit on top of base holds the tree of commit (a run's last one,
// published), and gives that commit. A branch of that name that has such a commit already is left as it is;
// any other is refused. Nothing is checked out.
func Branch(ctx context.Context, s *Source, name string, base, commit OID, message string, author Identity, now time.Time) (OID, error) {
	ref := "refs/heads/" + name
	if !validRef(ref) {
		return "", &notebooks.Error{Kind: notebooks.KindOption, Msg: fmt.Sprintf("%q cannot name a branch", name), Hint: "see `git help check-ref-format`"}
	}
	c, ok := s.fmt.parse(commit)
	if !ok {
		return "", fmt.Errorf("%q is no commit", commit)
	}
	tree, err := s.treeOf(c)
	if err != nil {
		return "", err
	}
	parent, _ := s.fmt.parse(base)
	held, err := s.ref(ref)
	if err != nil {
		return "", err
	}
	if held != "" {
		if d, ok := s.fmt.parse(OID(held)); ok && s.isChild(d, tree, parent) {
			return OID(held), nil
		}
		return "", branchTaken(s, name)
	}
	tmp, err := os.MkdirTemp("", "markmill-branch-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	st, err := newStore(filepath.Join(tmp, "objects"), s.fmt)
	if err != nil {
		return "", err
	}
	t := Tree{fmt: s.fmt, opt: Options{Author: author, Now: func() time.Time { return now }}}
	d, err := st.put("commit", t.commit(tree, parent, message))
	if err != nil {
		return "", err
	}
	undo, err := s.addPack(st)
	if err != nil {
		return "", err
	}
	if err := s.setRef(ref, "", s.fmt.oid(d)); err != nil {
		undo()
		return "", err
	}
	return s.fmt.oid(d), nil
}

// CheckBranch says before a run whether Branch could make its branch: the name is one, and it is free
// or holds what an earlier run on the same base may have put there.
func CheckBranch(s *Source, name string, base OID) error {
	ref := "refs/heads/" + name
	if !validRef(ref) {
		return &notebooks.Error{Kind: notebooks.KindOption, Msg: fmt.Sprintf("%q cannot name a branch", name), Hint: "see `git help check-ref-format`"}
	}
	held, err := s.ref(ref)
	if held == "" || err != nil {
		return err
	}
	parent, _ := s.fmt.parse(base)
	if d, ok := s.fmt.parse(OID(held)); ok && OID(held) != base {
		if tree, err := s.treeOf(d); err == nil && s.isChild(d, tree, parent) {
			return nil
		}
	}
	return branchTaken(s, name)
}

func branchTaken(s *Source, name string) error {
	return &notebooks.Error{Kind: notebooks.KindOption, File: s.root, Msg: fmt.Sprintf("the branch %q exists and holds something else", name),
		Hint: "choose another name, or delete it with `git branch -D " + name + "`"}
}

// isChild tells whether a commit holds a tree and has the one parent (none, when it is zero).
func (s *Source) isChild(commit, tree, parent digest) bool {
	data, err := s.read("commit", commit)
	if err != nil {
		return false
	}
	head := "tree " + string(s.fmt.oid(tree)) + "\n"
	if !parent.zero() {
		head += "parent " + string(s.fmt.oid(parent)) + "\n"
	}
	rest, ok := strings.CutPrefix(string(data), head)
	return ok && strings.HasPrefix(rest, "author ")
}

// DeleteRef removes the ref of a run, for retention; its objects go with the next `git gc`. A ref
// that is not there is no error.
func DeleteRef(s *Source, runID string) error {
	name := runRefs + runID
	if !validRef(name) {
		return fmt.Errorf("the run id %q cannot name a ref", runID)
	}
	if held, err := s.ref(name); held == "" || err != nil {
		return err
	}
	if haveGit() {
		_, err := runGit(context.Background(), s.root, nil, nil, "update-ref", "-d", name)
		return err
	}
	repo, err := s.git()
	if err != nil {
		return err
	}
	return repo.Storer.RemoveReference(plumbing.ReferenceName(name))
}

// validRef follows `git check-ref-format`.
func validRef(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c == 0x7f || strings.IndexByte("~^:?*[\\", c) >= 0 {
			return false
		}
	}
	return !strings.Contains(name, "..") && !strings.Contains(name, "@{") && !strings.HasSuffix(name, ".") && name[0] != '-' &&
		!strings.HasPrefix(strings.TrimPrefix(name, "refs/heads/"), "-")
}
