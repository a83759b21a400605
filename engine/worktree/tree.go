package worktree

import (
	"fmt"
	"path"
	"path/filepath"
	"time"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/listing"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/pool"
	"markmill/engine/worktree/repo"
	"markmill/engine/worktree/rules"
	"markmill/engine/worktree/snapshot"
	"markmill/notebooks"
)

// Options say which worktree to make.
type Options struct {
	RunID string
	// absolute path that does not exist yet: the worktree and the run's own store are made inside
	Dir          string
	Base         object.OID      // "" is an empty base
	IncludeDirty bool            // take the user's uncommitted changes along, as a base of their own
	Reverse      []Restored      // files that begin with an earlier content: the base is a commit of its own then
	Copy         []string        // patterns, as in .gitignore, of ignored files to take along
	Artifacts    []string        // patterns as in allow: of results that belong to no change, where the base has none
	Author       object.Identity // of the commits, which it also commits
	Now          func() time.Time
	MaxBytes     int64 // most bytes of new files, by their size; 0 is any
	// Exclude says which paths of a folder that is worked in are no part of the worktree; nil is none.
	Exclude func(path string) bool
	// Pool, if not nil, is where Create takes a worktree from and Close puts it. It lies on the file system of Dir.
	Pool *pool.Pool
	// Processes lists the processes of the run that live: what they do while a capture looks, and what they map into
	// their memory, may change the worktree without changing times. nil says that there are none.
	Processes func() []int
	// IndexTimes gives files that are the same in the checkout's index the time that it has. Tools that compare times
	// then open no source of what is built already, so all of the tree counts as read.
	IndexTimes bool
	// Lister says what lists folders in a step.
	Lister func(step notebooks.StepID) listing.Lister
	// Judges says whether a step is a test or a review. Everything counts as read by one that reads Git's objects.
	Judges func(step notebooks.StepID) bool
	// ReadsOff says why what steps read is not to be watched; "" watches.
	ReadsOff string
	// Objects are more folders of objects, which programs in the worktree find the source's in.
	Objects []string
	// Own are paths that count as absent when what was read is told: the output notebook, and its pictures.
	Own []string
}

// Tree is a run's worktree. It is used by one goroutine at a time.
type Tree struct {
	src   *Source // nil outside a repository: an empty worktree, or InFolder
	opt   Options
	dir   string // where steps run
	top   string // Options.Dir: what Close removes
	inUse bool   // the user's own checkout

	fmt         *object.Format
	store       *object.Store
	root        *snapshot.Node
	ign         *rules.Ignores
	conv        *rules.Converter
	mode        modeRules
	fine        bool // see disk.FineClock
	reportsMmap bool // see snapshot.ReportsMmapWrites
	fault       func(op, path string) error

	start          object.Digest // the commit that was asked for; zero without
	base, baseTree object.Digest // start, or a child of it that holds the user's uncommitted changes
	last, lastTree object.Digest // of the last capture
	loaded         bool          // loadBase was called
	loadErr        error         // what it returned
	changed        bool          // some capture found something
	over           []TooLarge    // of the last capture
	room           int64         // what is left of Options.MaxBytes in a capture
	settled        int           // so many objects of the store are of the base, where that is the run's own
	recheck        bool          // the next walk decides anew what is ignored
	made           time.Time     // when its files were checked out
	indexSt        disk.Stat     // of the worktree's index when forced was read from it
	forced         map[string]bool
	nested         []string // repositories inside, as the last walk found them
	// repositories and submodules inside that a run in place began with
	opaque      []string
	ignored     map[string]bool                   // ignored files that steps wrote
	stepIgnored map[string]bool                   // those that were written since the last capture
	modules     []module                          // the submodules that are checked out
	artifacts   rules.IgnoreFile                  // what Options.Artifacts names
	ignoreFiles map[string]func() ([]byte, error) // the .gitignore of the beginning, by folder

	// What each path that changed was: since the last capture, and since the base.
	step, total map[string]snapshot.Entry
	// content known by its stat, from the user's index
	known func(path string, st disk.Stat) (object.Digest, bool)

	past     *pool.Tree  // the worktree from the pool, until it is filled
	pristine *pool.Table // what the pool is told of the worktree as it was filled; nil: it does not go there
	looked   bool        // the snapshot is that of a whole capture, the last one

	reading *reading
	baseOf  *repo.View // see BaseView

	// Of a folder outside a repository (InFolder).
	unread string                 // why content is not read
	large  map[object.Digest]bool // content that was named and not kept; nil elsewhere
	closed map[string]bool        // folders that could not be read at the beginning
}

// modeRules are the core.* settings that say what a file system can hold.
type modeRules struct {
	fileMode bool // executable bits mean something
	symlinks bool // links are links; else they are files that hold their target
}

func newModeRules(c rules.Settings) modeRules {
	return modeRules{c.Flag("core", "filemode", true), c.Flag("core", "symlinks", true)}
}

// Dir is the folder in which steps run: a folder inside Options.Dir, the user's checkout, or the user's folder.
func (t *Tree) Dir() string { return t.dir }

// GitDir is the Git directory that programs in Dir find.
func (t *Tree) GitDir() string {
	if t.inUse && t.src != nil {
		return t.src.GitDir()
	}
	return filepath.Join(t.dir, ".git")
}

// FoldersWith lists the folders of the worktree that have a file of that name, slash-separated; "." is the root.
func (t *Tree) FoldersWith(name string) []string {
	var found []string
	var look func(n *snapshot.Node, dir string)
	look = func(n *snapshot.Node, dir string) {
		if _, ok := snapshot.FindEntry(n.Files, name); ok {
			found = append(found, dir)
		}
		for _, d := range n.Dirs {
			look(d, path.Join(dir, d.Name))
		}
	}
	look(t.root, ".")
	return found
}

// Base is the commit that the run's change is measured from: Options.Base, or a child of it that holds the user's
// uncommitted changes; "" if there is none.
func (t *Tree) Base() object.OID { return t.fmt.OID(t.base) }

// Blob is the content of a captured file, or the target of a link, as Git has it.
func (t *Tree) Blob(oid object.OID) ([]byte, error) {
	d, ok := t.fmt.Parse(oid)
	if !ok {
		return nil, fmt.Errorf("no object name: %q", oid)
	}
	return t.blob(d)
}

// sizeOf is the size of content, of the run or of the source; 0 if it cannot be read.
func (t *Tree) sizeOf(d object.Digest) int64 {
	if t.store.Known[d] {
		_, size, content, err := t.store.Open(d)
		if err == nil {
			content.Close()
		}
		return size
	}
	data, _ := t.blob(d)
	return int64(len(data))
}

// blob reads content, of the run or of the source.
func (t *Tree) blob(d object.Digest) ([]byte, error) { return t.object("blob", d) }

func (t *Tree) object(kind string, d object.Digest) ([]byte, error) {
	if data, ok := t.store.Recent[d]; ok {
		return data, nil
	}
	_, data, ok, err := t.store.Read(d)
	if ok || err != nil {
		return data, err
	}
	if t.src == nil {
		return nil, errNoObject(t.fmt, kind, d)
	}
	return t.src.Read(kind, d)
}

// note records what a path was before its first change.
func (t *Tree) note(path string, was snapshot.Entry) {
	if _, ok := t.step[path]; !ok {
		t.step[path] = was
	}
	if _, ok := t.total[path]; !ok {
		t.total[path] = was
	}
}

// live lists the processes of the run that are alive while the tree is captured.
func (t *Tree) live() []int {
	if t.opt.Processes == nil {
		return nil
	}
	return t.opt.Processes()
}

// mappings looks at what live processes map now.
func (t *Tree) mappings() *snapshot.Mappings {
	return snapshot.MappingsOf(t.live())
}

// Rename gives a worktree that nobody has worked in yet to another run.
func (t *Tree) Rename(runID string, own []string, processes func() []int) {
	t.opt.RunID, t.opt.Own, t.opt.Processes = runID, own, processes
}
