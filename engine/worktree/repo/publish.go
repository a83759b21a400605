package repo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v6/plumbing"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/notebooks"
)

// Fetch writes the commits of a run's bundle into the repository: one pack, and refs/markmill/runs/<run-id>. If the ref
// cannot be written, it removes the objects again. It leaves an existing ref alone; one with another value is an error.
func (s *Repo) Fetch(ctx context.Context, b *object.Bundle, runID string) (ref string, err error) {
	if ref = RunRefPrefix + runID; b.Ref != ref {
		return "", &notebooks.Error{Kind: notebooks.KindRecord, File: b.Path,
			Msg: fmt.Sprintf("holds %s, and not a commit of run %s", b.Ref, runID)}
	}
	if b.Format != s.Format {
		return "", &notebooks.Error{Kind: notebooks.KindInput, File: s.root,
			Msg: fmt.Sprintf("the repository names objects by %s, and the run's by %s", s.Format.Name, b.Format.Name)}
	}
	held, err := s.Ref(ref)
	if err != nil || held == string(b.Tip) {
		return ref, err
	}
	if err := s.has(b); err != nil {
		return "", err
	}
	undo, err := s.addPack(b.Order, b.Get, runID)
	if err != nil {
		return "", fmt.Errorf("copying the run's objects into %s: %w", s.root, err)
	}
	if err = ctx.Err(); err == nil {
		err = s.setRef(runID, ref, "", b.Tip)
	}
	if err != nil {
		undo()
		return "", err
	}
	return ref, nil
}

// has returns an error if the repository lacks the base commit of a bundle.
func (s *Repo) has(b *object.Bundle) error {
	d, ok := s.Format.Parse(b.Base)
	if b.Base == "" {
		return nil
	}
	if ok {
		if _, err := s.Read("commit", d); err == nil {
			return nil
		}
	}
	return &notebooks.Error{Kind: notebooks.KindInput, File: s.root,
		Msg:  fmt.Sprintf("the run's base commit %s is not in the repository", b.Base),
		Hint: "fetch the branch that has it first"}
}

// addPack writes objects into the repository as one pack; undo removes it again. Packs of two runs never have the same
// name, which one's undo could take from the other: the name depends on the content, and a run's commits name the run.
// Until it is complete, the pack has a name made of the run's id, for Tidy.
func (s *Repo) addPack(list []object.Digest, get func(object.Digest) (kind string, data []byte, err error),
	runID string) (undo func(), err error) {
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
	var name object.Digest
	if err = object.WritePack(f, s.Format, list, object.InMemory(get)); err == nil {
		index, name, err = object.IndexPack(f, s.Format)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
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
	if err := disk.WriteSynced(tmp, index, 0o444); err != nil {
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
func (s *Repo) packBase(name object.Digest) string {
	return filepath.Join(s.common, "objects", "pack", "pack-"+string(s.Format.OID(name)))
}

// tempPack is where a run's pack is written, a name that `git gc` clears away as well.
func (s *Repo) tempPack(runID string) string {
	return filepath.Join(s.common, "objects", "pack", "tmp_pack_"+runID)
}

// tempIndex ends the name of the pack's index, beside it.
const tempIndex = "_idx"

// lockPatience is how long setRef waits for a lock that somebody else holds.
const lockPatience = time.Second

// setRef changes a ref from old to new ("": it must not exist), under Git's own lock. It writes the lock under the
// run's name and then links it into place, so that Tidy can tell whether a lock left by a crash was the run's.
func (s *Repo) setRef(runID, name string, old, new object.OID) error {
	path, own := s.refPath(name), s.runLock(runID)
	lock := path + ".lock"
	for _, at := range []string{own, path} {
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil && !disk.Gone(err) {
			return err
		}
	}
	value := []byte(new + "\n")
	if err := retryLock(own, func() error { return disk.WriteSynced(own, value, 0o666) }); err != nil {
		return err
	}
	defer os.Remove(own) // gone after the rename, when it is the lock itself
	if lock != own {
		err := retryLock(lock, func() error {
			err := os.Link(own, lock)
			if err == nil || errors.Is(err, fs.ErrExist) || disk.Gone(err) {
				return err
			}
			return disk.WriteSynced(lock, value, 0o666) // a file system without hard links
		})
		if err != nil {
			return err
		}
		defer os.Remove(lock)
	}
	now, err := s.Ref(name)
	if err != nil {
		return err
	}
	if now != string(old) {
		return &notebooks.Error{Kind: notebooks.KindArtifact, File: s.root,
			Msg: fmt.Sprintf("%s holds %s, where %s was expected", name, cmp.Or(now, "nothing"), cmp.Or(string(old),
				"nothing"))}
	}
	return os.Rename(lock, path)
}

func (s *Repo) refPath(name string) string {
	return filepath.Join(s.common, filepath.FromSlash(name))
}

// runLock is the lock of a run's own ref.
func (s *Repo) runLock(runID string) string { return s.refPath(RunRefPrefix+runID) + ".lock" }

// retryLock takes a lock that somebody else may hold for a moment. It also creates the folder again: Git removes
// folders of refs that become empty, even between our creating and our using them.
func retryLock(lock string, take func() error) error {
	for deadline := time.Now().Add(lockPatience); ; {
		err := take()
		late := time.Now().After(deadline)
		switch {
		case err == nil:
			return nil
		case disk.Gone(err) && !late:
			if err := os.MkdirAll(filepath.Dir(lock), 0o777); err != nil && !disk.Gone(err) {
				return err
			}
			continue // at once, before it goes again
		case late || !errors.Is(err, fs.ErrExist):
			e := &notebooks.Error{Kind: notebooks.KindArtifact, File: lock, Err: err,
				Msg:  "the ref cannot be locked: " + err.Error(),
				Hint: "if no Git command runs any more, remove the lock"}
			if !errors.Is(err, fs.ErrExist) {
				e.Hint = "see whether the disk is full and the repository can be written"
			}
			return e
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// NewBranch says which branch Branch makes.
type NewBranch struct {
	Name    string
	RunID   string     // of the run that it is made for
	Base    object.OID // the parent of its one commit; "" is none
	Tree    object.OID // the last tree of the run
	Message string
	Program object.Identity // the committer, and the author where Git has no name for the user (see User)
	Now     time.Time
}

// Branch makes a branch with one commit on top of a base and returns that commit. Objects that the repository lacks
// come from the run's bundle, nil for a run that changed nothing; only those that the branch needs are written. A
// branch of that name that has such a commit already is left as it is; any other is an error. Nothing is checked out.
func (s *Repo) Branch(b *object.Bundle, n NewBranch) (object.OID, error) {
	top, ok := s.Format.Parse(n.Tree)
	if !ok {
		return "", fmt.Errorf("%q is no tree", n.Tree)
	}
	parent, _ := s.Format.Parse(n.Base)
	held, err := s.heldBranch(n.Name, parent, top)
	if err != nil || held != "" {
		return held, err
	}
	author, known := s.User()
	if !known {
		author = n.Program
	}
	data := object.NewCommit{Tree: top, Parent: parent, Author: author, Committer: n.Program, At: n.Now,
		Message: n.Message}.Encode(s.Format)
	made := s.Format.Sum("commit", data)
	list := []object.Digest{made}
	if b != nil {
		more, err := b.Reach(top, parent)
		if err != nil {
			return "", err
		}
		list = append(list, more...)
	}
	undo, err := s.addPack(list, func(d object.Digest) (string, []byte, error) {
		if d == made {
			return "commit", data, nil
		}
		return b.Get(d)
	}, n.RunID)
	if err != nil {
		return "", err
	}
	if err := s.setRef(n.RunID, "refs/heads/"+n.Name, "", s.Format.OID(made)); err != nil {
		undo()
		return "", err
	}
	return s.Format.OID(made), nil
}

// RunOfBranch returns the run that the last commit of a branch names, and the tree of that commit, without the commits
// of outputs on top of it. The run is "" for a branch that no run made.
func (s *Repo) RunOfBranch(name string) (run string, tree object.OID) {
	held, err := s.Ref("refs/heads/" + name)
	if err != nil {
		return "", ""
	}
	_, c, err := s.changeCommit(object.OID(held))
	if err != nil {
		return "", ""
	}
	return c.Trailer(object.RunTrailer), s.Format.OID(c.Tree)
}

// commit reads a commit.
func (s *Repo) commit(id object.OID) (c object.Commit, err error) {
	d, ok := s.Format.Parse(id)
	if !ok {
		return c, fmt.Errorf("%q is no commit", id)
	}
	data, err := s.Read("commit", d)
	return object.ParseCommit(s.Format, data), err
}

// changeCommit is the newest commit of a branch that has more than the output notebook of a run.
func (s *Repo) changeCommit(tip object.OID) (object.OID, object.Commit, error) {
	for {
		c, err := s.commit(tip)
		output := c.Trailer(object.OutputTrailer)
		if err != nil || output == "" || len(c.Parents) != 1 {
			return tip, c, err
		}
		below := s.Format.OID(c.Parents[0])
		only, err := s.addsOnly(below, tip, output)
		if err != nil || !only {
			return tip, c, err
		}
		tip = below
	}
}

// addsOnly reports whether a commit changes nothing but an output notebook and its pictures.
func (s *Repo) addsOnly(old, now object.OID, output string) (bool, error) {
	was, err := s.CommitFiles(old)
	if err != nil {
		return false, err
	}
	is, err := s.CommitFiles(now)
	if err != nil {
		return false, err
	}
	changed, err := Differing(was, is)
	return err == nil && !slices.ContainsFunc(changed, func(name string) bool {
		return name != output && (path.Dir(path.Dir(name)) != path.Dir(output) ||
			!strings.HasSuffix(path.Dir(name), "_files"))
	}), err
}

// RunCommits lists the commits of a branch that name a run, the newest first: along the first parents from its end back
// to a base, 100 at most. Those of outputs are left out. A shallow clone ends where it is cut.
func (s *Repo) RunCommits(base, head object.OID) (list []RunCommit) {
	for range 100 {
		if head == base {
			break
		}
		c, err := s.commit(head)
		if err != nil {
			break
		}
		if run := c.Trailer(object.RunTrailer); run != "" && c.Trailer(object.OutputTrailer) == "" {
			list = append(list, RunCommit{head, s.Format.OID(c.Tree), run})
		}
		if len(c.Parents) == 0 {
			break
		}
		head = s.Format.OID(c.Parents[0])
	}
	return list
}

// RunCommit is a commit that names a run.
type RunCommit struct {
	ID, Tree object.OID
	Run      string
}

// CheckBranch checks before a run whether Branch could create its branch: the name is valid, and the branch does not
// exist or was made by an earlier run on the same base.
func (s *Repo) CheckBranch(name string, base object.OID) error {
	parent, _ := s.Format.Parse(base)
	_, err := s.heldBranch(name, parent, object.Digest{})
	return err
}

// heldBranch returns the commit of a branch, "" if there is no such branch. A commit other than one with this parent
// alone (none, if it is zero) and this tree (any, if it is zero) is an error, and so is a name that no branch can have.
func (s *Repo) heldBranch(name string, parent, tree object.Digest) (object.OID, error) {
	ref, err := s.branchRef(name)
	if err != nil {
		return "", err
	}
	held, err := s.Ref(ref)
	if held == "" || err != nil {
		return "", err
	}
	var parents []object.Digest
	if !parent.IsZero() {
		parents = []object.Digest{parent}
	}
	at, c, err := s.changeCommit(object.OID(held))
	if err == nil && slices.Equal(c.Parents, parents) && (tree.IsZero() || c.Tree == tree) {
		return at, nil
	}
	return "", &notebooks.Error{Kind: notebooks.KindOption, File: s.root,
		Msg:  fmt.Sprintf("the branch %q exists and holds something else", name),
		Hint: "choose another name"}
}

// branchRef returns the ref of a branch. It returns an error for a name that no branch can have, and for one that none
// can have beside the branches that there are: a ref is a file, or a folder of others.
func (s *Repo) branchRef(name string) (string, error) {
	ref := "refs/heads/" + name
	if !object.ValidBranch(name) {
		return "", &notebooks.Error{Kind: notebooks.KindOption, Msg: fmt.Sprintf("%q cannot name a branch", name),
			Hint: "see `git help check-ref-format`"}
	}
	list, err := s.Refs()
	for _, r := range list {
		if strings.HasPrefix(r.Name, ref+"/") || strings.HasPrefix(ref, r.Name+"/") {
			return "", &notebooks.Error{Kind: notebooks.KindOption, File: s.root,
				Msg: fmt.Sprintf("no branch can be named %q beside the branch %q", name,
					strings.TrimPrefix(r.Name, "refs/heads/")),
				Hint: "choose another name: Git keeps a branch as a file, or as a folder of others"}
		}
	}
	return ref, err
}

// RunRefs lists the runs that have a ref in the repository, which Fetch makes.
func (s *Repo) RunRefs() (ids []string, err error) {
	list, err := s.Refs()
	for _, r := range list {
		if id, ok := strings.CutPrefix(r.Name, RunRefPrefix); ok {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// DeleteRefs removes the refs of runs; their objects go with the next `git gc`. A missing ref is no error.
func (s *Repo) DeleteRefs(ctx context.Context, ids []string) error {
	if HaveGit() {
		var orders strings.Builder
		for _, id := range ids {
			if !object.ValidRef(RunRefPrefix + id) {
				return fmt.Errorf("the run id %q cannot name a ref", id)
			}
			orders.WriteString("delete " + RunRefPrefix + id + "\n")
		}
		// The program waits a second for the lock of packed-refs by itself.
		_, err := RunGit(ctx, s.root, nil, []byte(orders.String()), "-c", "core.packedRefsTimeout=30000", "-c",
			"core.filesRefLockTimeout=30000", "update-ref", "--stdin")
		return err
	}
	repo, err := s.git()
	for _, id := range ids {
		if err == nil {
			err = repo.Storer.RemoveReference(plumbing.ReferenceName(RunRefPrefix + id))
		}
	}
	return err
}
