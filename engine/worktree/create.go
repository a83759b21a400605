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

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/rules"
	"markmill/engine/worktree/snapshot"
	"markmill/notebooks"
)

// Create makes an isolated worktree of o.Base, with a repository of its own over the same objects. Without a source it
// makes an empty folder in a repository without commits. If it fails, it removes what it made.
func Create(ctx context.Context, s *Source, o Options) (*Tree, error) {
	t, err := prepare(s, o, true)
	if err != nil {
		return nil, err
	}
	pooled := t.past != nil
	err = t.make(ctx)
	if err != nil && ctx.Err() == nil && (pooled || o.Pool.Free(err)) {
		if err := disk.RemoveAll(o.Dir); err != nil {
			return nil, err
		}
		if t, err = prepare(s, o, false); err != nil {
			return nil, err
		}
		err = t.make(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, disk.RemoveAll(o.Dir))
	}
	return t, nil
}

// Path is where Create puts the worktree inside Options.Dir: in a folder with the name of the source's, for programs
// that use the name of their folder.
func Path(s *Source, dir string) string {
	name := "worktree"
	if s != nil {
		name = filepath.Base(s.Root())
	}
	if strings.ContainsRune(name, filepath.Separator) || name == "run" {
		name = "worktree"
	}
	return filepath.Join(dir, name)
}

// prepare makes the folder, or takes it from the pool, makes the run's store, and reads the source's settings.
func prepare(s *Source, o Options, take bool) (*Tree, error) {
	if !filepath.IsAbs(o.Dir) {
		return nil, fmt.Errorf("the worktree's folder must be absolute: %q", o.Dir)
	}
	t := &Tree{src: s, opt: o, top: o.Dir, root: &snapshot.Node{}, fmt: object.SHA1, recheck: true,
		step: map[string]snapshot.Entry{}, total: map[string]snapshot.Entry{}, ignored: map[string]bool{},
		stepIgnored: map[string]bool{}}
	conf, common := rules.Settings(nil), ""
	var err error
	if s != nil {
		t.fmt, conf, common = s.Format, s.Config, s.CommonDir()
	} else if conf, err = rules.ReadSettings("", ""); err != nil {
		return nil, err
	}
	t.dir = Path(s, o.Dir)
	if o.Now == nil {
		t.opt.Now = time.Now
	}
	if o.Base != "" {
		var ok bool
		if t.base, ok = t.fmt.Parse(o.Base); !ok || s == nil {
			return nil, fmt.Errorf("the base %q is no commit of the source", o.Base)
		}
	}
	t.ign, t.conv, t.mode = rules.NewIgnores(conf, common), rules.NewConverter(conf, common), newModeRules(conf)
	if err := os.MkdirAll(filepath.Dir(o.Dir), 0o777); err != nil {
		return nil, err
	}
	if take {
		t.take()
	}
	if t.past != nil {
	} else if err := os.Mkdir(o.Dir, 0o777); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil, &notebooks.Error{Kind: notebooks.KindArtifact, File: o.Dir,
				Msg: "a worktree's folder must not exist yet", Err: err}
		}
		return nil, err
	}
	t.fine = disk.FineClock(o.Dir)
	t.reportsMmap = snapshot.ReportsMmapWrites(o.Dir)
	t.store, err = object.NewStore(filepath.Join(o.Dir, "run", "objects"), t.fmt)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(o.Dir))
	}
	return t, nil
}

// make fills the worktree, and then its Git directory, the index last.
func (t *Tree) make(ctx context.Context) error {
	if t.past == nil {
		if err := os.Mkdir(t.dir, 0o777); err != nil {
			return err
		}
	}
	if err := t.loadBase(); err != nil {
		return err
	}
	external, err := t.checkout(ctx)
	if err != nil {
		return err
	}
	if err := t.writeGitDir(); err != nil {
		return err
	}
	index := filepath.Join(t.dir, ".git", "index")
	if len(external) > 0 {
		if err := snapshot.WriteIndex(index, t.fmt, t.root); err != nil {
			return err
		}
		if err := t.gitCheckout(ctx, external); err != nil {
			return err
		}
		if err := os.Remove(index); err != nil {
			return err
		}
	}
	if err := t.checkoutSubmodules(ctx); err != nil {
		return err
	}
	if err := t.copyDirty(ctx); err != nil {
		return err
	}
	if len(external) > 0 || t.opt.IncludeDirty || len(t.opt.Reverse)+len(t.opt.Copy) > 0 {
		if err := t.markAll(); err != nil {
			return err
		}
		if err := t.commitBase(ctx); err != nil {
			return err
		}
	}
	if err := disk.WriteNew(filepath.Join(t.dir, ".git", "HEAD"), t.headFile(), 0o666); err != nil {
		return err
	}
	t.keepIgnoreFiles()
	if err := snapshot.WriteIndex(index, t.fmt, t.root); err != nil {
		return err
	}
	if err := os.Chtimes(index, t.made, t.made); err != nil {
		return err
	}
	// what stands in it is captured: there is no need to read it
	if t.indexSt, err = disk.StatAt(filepath.Dir(index), "index"); err != nil {
		return err
	}
	t.watchReads()
	return nil
}

func (t *Tree) headFile() []byte {
	if t.base.IsZero() {
		return []byte("ref: refs/heads/main\n")
	}
	return []byte(t.fmt.OID(t.base) + "\n")
}

// loadBase reads the base commit's trees into the snapshot, once.
func (t *Tree) loadBase() error {
	if t.loaded {
		return t.loadErr
	}
	if !t.base.IsZero() {
		tree, err := t.src.TreeOf(t.base)
		if err != nil {
			return err
		}
		t.baseTree = tree
		if err := t.loadTree(t.root, tree); err != nil {
			return err
		}
	} else {
		t.root.TreeOK = true
		var err error
		if t.baseTree, err = t.writeTree(); err != nil {
			return err
		}
	}
	t.start, t.last, t.lastTree = t.base, t.base, t.baseTree
	t.ignoreArtifacts()
	return nil
}

func (t *Tree) loadTree(n *snapshot.Node, tree object.Digest) error {
	n.Tree, n.TreeOK = tree, true
	if tree == t.fmt.Sum("tree", nil) {
		n.Tree = object.Digest{}
		return nil
	}
	data, err := t.src.Read("tree", tree)
	if err != nil {
		return err
	}
	list, err := object.ParseTree(t.fmt, data)
	if err != nil {
		return err
	}
	n.Files = make([]snapshot.Entry, 0, len(list))
	for _, x := range list {
		if x.Mode&disk.ModeType == disk.ModeDir {
			d := &snapshot.Node{Name: x.Name}
			if err := t.loadTree(d, x.OID); err != nil {
				return err
			}
			n.Dirs = append(n.Dirs, d)
			continue
		}
		if x.Mode&disk.ModeType == disk.ModeFile && x.Mode&0o100 == 0 {
			x.Mode = disk.ModeFile | 0o644 // older Git also wrote 100664
		}
		n.Files = append(n.Files, snapshot.Entry{Name: x.Name, Mode: x.Mode, OID: x.OID})
	}
	// A tree sorts a folder as if its name ended in a slash; here both lists go by name.
	snapshot.SortNode(n)
	return nil
}

// commitBase commits what was copied as a base of the run's own, a child of the requested one.
func (t *Tree) commitBase(ctx context.Context) error {
	if _, err := t.refresh(ctx); err != nil {
		return err
	}
	tree, err := t.writeTree()
	if err != nil {
		return err
	}
	if tree != t.baseTree {
		commit, err := t.store.Put("commit", t.commit(tree, t.base, t.baseMessage()))
		if err != nil {
			return err
		}
		t.base, t.baseTree, t.last, t.lastTree = commit, tree, commit, tree
		if err := t.settleObjects(); err != nil {
			return err
		}
	}
	clear(t.step)
	clear(t.total)
	clear(t.ignored)
	clear(t.stepIgnored)
	return nil
}

// baseMessage describes the commit that a run begins with when that is not the requested base.
func (t *Tree) baseMessage() string {
	if len(t.opt.Reverse) > 0 {
		return "The tree that the run began with: its change, which the base has, is taken back"
	}
	return "Uncommitted changes that the run began with"
}

// InPlace uses the user's checkout itself as the worktree. Uncommitted changes become a base of their own. The engine's
// objects lie under o.Dir; it does not write the user's index and .git. Git commands of steps do write the user's .git;
// Fingerprint shows that.
func InPlace(ctx context.Context, s *Source, o Options) (*Tree, error) {
	t, err := prepare(s, o, false)
	if err != nil {
		return nil, err
	}
	t.dir, t.inUse = s.Root(), true
	t.reportsMmap = snapshot.ReportsMmapWrites(t.dir)
	err = t.loadBase()
	if err == nil {
		if index, e := snapshot.ReadIndex(filepath.Join(s.GitDir(), "index"), t.fmt); e == nil {
			t.known = func(path string, st disk.Stat) (object.Digest, bool) {
				e, ok := index[path]
				if !ok || !e.Same(st) {
					return object.Digest{}, false
				}
				return object.RawDigest(e.Hash.Bytes()), true
			}
		}
		err = t.commitBase(ctx)
		t.known = nil
		t.opaque = append(slices.Clone(t.nested), t.submodules()...)
		t.keepIgnoreFiles()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(o.Dir))
	}
	return t, nil
}

// Close removes the worktree and the run's store, unless keep is set. What is in no bundle is lost.
func (t *Tree) Close(keep bool) error {
	t.closeReads()
	if keep || t.pristine != nil && t.release() == nil {
		return nil
	}
	return disk.RemoveAll(t.top)
}
