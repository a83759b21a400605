package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"markmill/engine/sandbox"
	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/pool"
	"markmill/runs"
)

// workdir is a run's private folder in the cache: worktree, temporary folder, kernels' files. It is locked while the
// run lives and removed at its end.
type workdir struct {
	Root    string
	Tree    string // worktree.Options.Dir
	Tmp     string // TMPDIR of the steps
	Glue    string // on PATH: the commands glue, scrap and check
	Scraps  string // file that steps append scraps to
	Display string // rich results of steps, a folder a step
	Kernels string // a folder a session
	Sandbox string // the sandbox's helper and its orders, a file a session
	Home    string // of steps in a strict sandbox
	Agents  string // homes of agents, a folder a turn; made when it is needed
	Inner   string // where runs inside steps leave the paths of their records
	Objects string // the source's folders of objects, where the worktree covers them
	Deps    string // what steps write into folders of dependencies
	Tool    string // stands for the program of the commands if the worktree covers it; "" if not
	release func()

	innerMade time.Time // modification time of Inner when it was made
}

// makeWorkdir makes a run's folder. The folder gets its name when it is complete and locked, so that another process
// that sweeps at this moment leaves it alone.
// covered is the path that the worktree may be mounted at; "" is none.
// record is the run directory, which rescue looks for.
func (e *Engine) makeWorkdir(root, covered, record string) (*workdir, error) {
	making := unfinished(root)
	w := &workdir{Root: root}
	program := e.Tools
	places := map[*string]string{&w.Tmp: "tmp", &w.Glue: "bin", &w.Display: "display", &w.Kernels: "kernels",
		&w.Sandbox: "sandbox", &w.Home: "home", &w.Inner: "inner",
		&w.Objects: "objects", &w.Deps: "deps"}
	if err := os.MkdirAll(filepath.Dir(root), 0o700); err != nil {
		return nil, err
	}
	err := os.Mkdir(making, 0o700)
	if err != nil {
		return nil, err // it may be another run's
	}
	for place, name := range places {
		*place = filepath.Join(root, name)
		if err == nil {
			err = os.Mkdir(filepath.Join(making, name), 0o700)
		}
	}
	w.Tree, w.Scraps = filepath.Join(root, "tree"), filepath.Join(root, "scraps.jsonl")
	w.Agents = filepath.Join(root, "agents")
	if err == nil {
		err = os.WriteFile(filepath.Join(making, "scraps.jsonl"), nil, 0o600)
	}
	if err == nil {
		err = (&workdir{Root: making}).name(record)
	}
	if real := sandbox.Real([]string{program}); covered != "" && sandbox.Within(strings.Join(real, ""),
		[]string{covered}) {
		w.Tool = filepath.Join(root, "tool")
		program = w.Tool
		if err == nil {
			err = os.WriteFile(filepath.Join(making, "tool"), nil, 0o600)
		}
	}
	for _, link := range []string{filepath.Join("bin", "glue"), filepath.Join("bin", "scrap"),
		filepath.Join("bin", "check"),
		filepath.Join("sandbox", sandbox.HelperName)} {
		if err == nil && e.Tools != "" {
			err = os.Symlink(program, filepath.Join(making, link))
		}
	}
	if err == nil {
		w.release, err = runs.Lock(making)
	}
	if info, err := os.Stat(filepath.Join(making, "inner")); err == nil {
		w.innerMade = info.ModTime()
	}
	if err == nil {
		if err = os.Rename(making, root); err != nil {
			w.release()
		}
	}
	if err != nil {
		return nil, errors.Join(err, disk.RemoveAll(making))
	}
	return w, nil
}

// ofRecord is the file in a private folder that names the run directory.
const ofRecord = "record"

func (w *workdir) name(record string) error {
	return os.WriteFile(filepath.Join(w.Root, ofRecord), []byte(record), 0o600)
}

// close removes the folder, or everything in it but the worktree.
func (w *workdir) close(keepTree bool) error {
	if !keepTree {
		return removeRoot(w.Root, w.release)
	}
	defer w.release()
	for _, path := range []string{w.Tmp, w.Glue, w.Scraps, w.Display, w.Kernels, w.Sandbox, w.Home, w.Inner, w.Agents,
		w.Deps} {
		if err := disk.RemoveAll(path); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(w.Root, keepMark), nil, 0o600)
}

// Pool are the worktrees that are kept for later runs, beside the private folders: a rename moves one between them.
func (e *Engine) Pool() *pool.Pool { return pool.New(filepath.Join(e.Cache, "pool")) }

// keepMark is a file in a folder that the user asked to keep.
const keepMark = "keep"

// makingPrefix begins the names of unfinished folders.
const makingPrefix = ".new-"

// unfinished is where the folder root is while it is made.
func unfinished(root string) string {
	return filepath.Join(filepath.Dir(root), makingPrefix+filepath.Base(root))
}

// stale is the age at which a folder without a lock is a leftover: making or removing one takes milliseconds.
const stale = time.Hour

// sweep removes the folders that interrupted runs left: those without a lock.
func (e *Engine) sweep(all string) {
	entries, err := os.ReadDir(all)
	if err != nil {
		return
	}
	for _, d := range entries {
		dir := filepath.Join(all, d.Name())
		if all != filepath.Join(e.Cache, "work") && !apartName.MatchString(d.Name()) {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, keepMark)); err == nil {
			continue
		}
		_, err := runs.At(dir).Stat(runs.LockFile)
		if (err != nil || strings.HasPrefix(d.Name(), makingPrefix)) && readTurn(dir) == nil {
			if info, err := d.Info(); err == nil && e.Now().Sub(info.ModTime()) > stale {
				_ = removeRoot(dir, func() {})
			}
			continue
		}
		release, err := runs.Lock(dir)
		if err != nil {
			continue // alive
		}
		if e.keepsTurn(dir) {
			release()
			continue
		}
		if rescue(dir) != nil {
			release()
			continue
		}
		_ = removeRoot(dir, release) // what cannot be removed is left for the next run
	}
}
