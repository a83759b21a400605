package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v6/plumbing"

	"markmill/notebooks"
)

// Fetch writes the commits of a run's bundle into the repository: one pack, and refs/markmill/runs/<run-id>. It is all
// or nothing: objects without the ref are removed again. A ref that is there is left alone; one that holds something
// else is an error.
func (s *Source) Fetch(ctx context.Context, b *Bundle, runID string) (ref string, err error) {
	if ref = runRefs + runID; b.ref != ref {
		return "", &notebooks.Error{Kind: notebooks.KindRecord, File: b.path, Msg: fmt.Sprintf("holds %s, and not a commit of run %s", b.ref, runID)}
	}
	if b.fmt != s.fmt {
		return "", &notebooks.Error{Kind: notebooks.KindInput, File: s.root, Msg: fmt.Sprintf("the repository names objects by %s, and the run's by %s", s.fmt.name, b.fmt.name)}
	}
	held, err := s.ref(ref)
	if err != nil || held == string(b.tip) {
		return ref, err
	}
	if err := s.has(b); err != nil {
		return "", err
	}
	undo, err := s.addPack(b.order, b.get, runID)
	if err != nil {
		return "", fmt.Errorf("copying the run's objects into %s: %w", s.root, err)
	}
	if err = ctx.Err(); err == nil {
		err = s.setRef(runID, ref, "", b.tip)
	}
	if err != nil {
		undo()
		return "", err
	}
	return ref, nil
}

// has returns an error when the repository lacks the commit that a bundle stands on.
func (s *Source) has(b *Bundle) error {
	d, ok := s.fmt.parse(b.base)
	if b.base == "" {
		return nil
	}
	if ok {
		if _, err := s.read("commit", d); err == nil {
			return nil
		}
	}
	return &notebooks.Error{Kind: notebooks.KindInput, File: s.root, Msg: fmt.Sprintf("the run's base commit %s is not in the repository", b.base),
		Hint: "fetch the branch that has it first"}
}

// addPack writes objects into the source as one pack; undo removes them again. No two runs have a pack of the same
// name, of which the one that fails would take the other's away: the name is the content's, and a run's commits name
// the run. Until it is whole it is called by the run, for Tidy.
func (s *Source) addPack(list []digest, get func(digest) (kind string, data []byte, err error), runID string) (undo func(), err error) {
	dir := filepath.Join(s.common, "objects", "pack")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(s.tempPack(runID), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	var index []byte
	var name digest
	if err = writePack(f, s.fmt, list, get); err == nil {
		index, name, err = indexPack(f, s.fmt)
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	base := s.packBase(name)
	undo = func() {
		os.Remove(base + ".pack") // neither Git nor go-git looks at an index without its pack
		os.Remove(base + ".idx")
	}
	if _, err := os.Stat(base + ".pack"); err == nil {
		return func() {}, nil // the very same objects are there already
	}
	tmp := f.Name() + tempIndex
	defer os.Remove(tmp)
	if err := writeSynced(tmp, index); err != nil {
		return nil, err
	}
	if err := os.Chmod(f.Name(), 0o444); err != nil {
		return nil, err
	}
	// The index first: a pack without one, even for a moment, is an error for whoever reads with go-git.
	if err := os.Rename(tmp, base+".idx"); err != nil {
		return nil, err
	}
	if err := os.Rename(f.Name(), base+".pack"); err != nil {
		undo()
		return nil, err
	}
	return undo, nil
}

// packBase is the path of a pack without its extension.
func (s *Source) packBase(name digest) string {
	return filepath.Join(s.common, "objects", "pack", "pack-"+string(s.fmt.oid(name)))
}

// tempPack is where a run's pack is written, a name that `git gc` clears away as well.
func (s *Source) tempPack(runID string) string {
	return filepath.Join(s.common, "objects", "pack", "tmp_pack_"+runID)
}

// tempIndex ends the name of the pack's index, beside it.
const tempIndex = "_idx"

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

// setRef makes a ref hold new, if it holds old ("": if it does not exist), under Git's own lock. The lock is
// written under the run's name and then linked to its place, so that one that a crash left can be told to be
// the run's (Tidy).
func (s *Source) setRef(runID, name string, old, new OID) error {
	path, own := s.refPath(name), s.runLock(runID)
	lock := path + ".lock"
	for _, at := range []string{own, path} {
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil && !gone(err) {
			return err
		}
	}
	value := []byte(new + "\n")
	if err := patiently(own, func() error { return writeLock(own, value) }); err != nil {
		return err
	}
	defer os.Remove(own) // gone after the rename, when it is the lock itself
	if lock != own {
		err := patiently(lock, func() error {
			err := os.Link(own, lock)
			if err == nil || errors.Is(err, fs.ErrExist) || gone(err) {
				return err
			}
			return writeLock(lock, value) // a file system without hard links
		})
		if err != nil {
			return err
		}
		defer os.Remove(lock)
	}
	now, err := s.ref(name)
	if err != nil {
		return err
	}
	if now != string(old) {
		return &notebooks.Error{Kind: notebooks.KindArtifact, File: s.root, Msg: fmt.Sprintf("%s holds %s, where %s was expected", name, orNothing(now), orNothing(string(old)))}
	}
	return os.Rename(lock, path)
}

func (s *Source) refPath(name string) string {
	return filepath.Join(s.common, filepath.FromSlash(name))
}

// runLock is the lock of a run's own ref.
func (s *Source) runLock(runID string) string { return s.refPath(runRefs+runID) + ".lock" }

// writeLock makes a lock that does not exist, and nothing when that fails.
func writeLock(path string, value []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(value)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		os.Remove(path)
	}
	return err
}

// patiently takes a lock that somebody else may hold for a moment. Git removes folders of refs that are empty:
// one that retention has just taken the last run's ref from may go between our making it and our using it.
func patiently(lock string, take func() error) error {
	for deadline := time.Now().Add(lockPatience); ; {
		err := take()
		late := time.Now().After(deadline)
		switch {
		case err == nil:
			return nil
		case gone(err) && !late:
			if err := os.MkdirAll(filepath.Dir(lock), 0o777); err != nil && !gone(err) {
				return err
			}
			continue // at once, before it goes again
		case !errors.Is(err, fs.ErrExist):
			return &notebooks.Error{Kind: notebooks.KindArtifact, File: lock, Msg: "the ref cannot be locked: " + err.Error(), Err: err,
				Hint: "see whether the disk is full and the repository can be written"}
		case late:
			return &notebooks.Error{Kind: notebooks.KindArtifact, File: lock, Msg: "the ref cannot be locked: " + err.Error(), Err: err,
				Hint: "if no Git command runs any more, remove the lock"}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func orNothing(oid string) string {
	if oid == "" {
		return "nothing"
	}
	return oid
}

// NewBranch says which branch Branch makes.
type NewBranch struct {
	Name    string
	RunID   string // of the run that it is made for
	Base    OID    // the parent of its one commit; "" is none
	Tree    OID    // the last tree of the run
	Message string
	Program Identity // the committer, and the author where Git has no name for the user (see User)
	Now     time.Time
}

// Branch makes a branch with one commit on top of a base and returns that commit. Objects that the repository lacks come
// from the run's bundle, nil for a run that changed nothing; only those that the branch needs are written. A branch of
// that name that has such a commit already is left as it is; any other is an error. Nothing is checked out.
func Branch(s *Source, b *Bundle, n NewBranch) (OID, error) {
	ref := "refs/heads/" + n.Name
	if !validRef(ref) {
		return "", &notebooks.Error{Kind: notebooks.KindOption, Msg: fmt.Sprintf("%q cannot name a branch", n.Name), Hint: "see `git help check-ref-format`"}
	}
	top, ok := s.fmt.parse(n.Tree)
	if !ok {
		return "", fmt.Errorf("%q is no tree", n.Tree)
	}
	parent, _ := s.fmt.parse(n.Base)
	held, err := s.ref(ref)
	if err != nil {
		return "", err
	}
	if held != "" {
		if d, ok := s.fmt.parse(OID(held)); ok && s.isChild(d, top, parent) {
			return OID(held), nil
		}
		return "", branchTaken(s, n.Name)
	}
	author, known := s.User()
	if !known {
		author = n.Program
	}
	t := Tree{fmt: s.fmt, opt: Options{Author: author, Committer: n.Program, Now: func() time.Time { return n.Now }}}
	data := t.commit(top, parent, n.Message)
	made := s.fmt.sum("commit", data)
	list := []digest{made}
	if b != nil {
		more, err := b.reach(top, parent)
		if err != nil {
			return "", err
		}
		list = append(list, more...)
	}
	undo, err := s.addPack(list, func(d digest) (string, []byte, error) {
		if d == made {
			return "commit", data, nil
		}
		return b.get(d)
	}, n.RunID)
	if err != nil {
		return "", err
	}
	if err := s.setRef(n.RunID, ref, "", s.fmt.oid(made)); err != nil {
		undo()
		return "", err
	}
	return s.fmt.oid(made), nil
}

// RunOfBranch is the run that the last commit of a branch names, as Branch made it, and the tree of that commit. "" is
// any other branch.
func RunOfBranch(s *Source, name string) (run string, tree OID) {
	held, err := s.ref("refs/heads/" + name)
	d, ok := s.fmt.parse(OID(held))
	if err != nil || !ok {
		return "", ""
	}
	data, err := s.read("commit", d)
	if err != nil {
		return "", ""
	}
	commit := parseCommit(s.fmt, data)
	_, run, _ = strings.Cut(commit.message, "\n"+RunTrailer+": ")
	return strings.TrimSpace(run), s.fmt.oid(commit.tree)
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
	c := parseCommit(s.fmt, data)
	return c.tree == tree && (parent.zero() && len(c.parents) == 0 || slices.Equal(c.parents, []digest{parent}))
}

// RunRefs lists the runs that have a ref in the repository: earlier versions made one for every run, and Fetch makes
// one.
func RunRefs(s *Source) (ids []string, err error) {
	list, err := s.refs()
	for _, r := range list {
		if id, ok := strings.CutPrefix(r.name, runRefs); ok {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// DeleteRefs removes the refs of runs; their objects go with the next `git gc`. A ref that is not there is no error.
func DeleteRefs(ctx context.Context, s *Source, ids []string) error {
	if haveGit() {
		var orders strings.Builder
		for _, id := range ids {
			if !validRef(runRefs + id) {
				return fmt.Errorf("the run id %q cannot name a ref", id)
			}
			orders.WriteString("delete " + runRefs + id + "\n")
		}
		// The program waits a second for the lock of packed-refs by itself.
		_, err := runGit(ctx, s.root, nil, []byte(orders.String()), "-c", "core.packedRefsTimeout=30000", "-c", "core.filesRefLockTimeout=30000", "update-ref", "--stdin")
		return err
	}
	repo, err := s.git()
	for _, id := range ids {
		if err == nil {
			err = repo.Storer.RemoveReference(plumbing.ReferenceName(runRefs + id))
		}
	}
	return err
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
