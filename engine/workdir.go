package engine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"markmill/engine/sandbox"
	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/pool"
	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
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

// workRoot is where the folder of a run is: named by the random part of its id. A program that makes a socket in
// TMPDIR, as Python's multiprocessing does, has 107 bytes for its whole path (sockaddr_un, unix(7)).
func (e *Engine) workRoot(id runs.RunID) string {
	return filepath.Join(e.Cache, "work", string(id)[strings.LastIndexByte(string(id), '-')+1:])
}

// ApartFolder is where the private folders of runs are whose steps find the worktree where it is. Programs treat files
// below a folder with a dot as hidden (web servers do not serve them, test runners do not collect them), so that it is
// the cache only where no such folder is in its path, but for those above the home.
func ApartFolder(cache string, getenv func(string) (string, bool)) string {
	home, _ := getenv("HOME")
	rel, err := filepath.Rel(home, cache)
	if err != nil || !filepath.IsLocal(rel) {
		rel = cache
	}
	depth, _ := getenv("MARKMILL_DEPTH")
	switch {
	case !strings.Contains(string(filepath.Separator)+rel, string(filepath.Separator)+"."), !filepath.IsAbs(home),
		depth != "": // a step writes no home
	case runtime.GOOS == "darwin":
		return filepath.Join(home, "Library", "Caches", "markmill", "work")
	default:
		return filepath.Join(home, homeFolder)
	}
	return filepath.Join(cache, "work")
}

// homeFolder is ApartFolder in a home. It is there while runs use it.
const homeFolder = "markmill-work"

func (e *Engine) apartFolder() string { return ApartFolder(e.Cache, e.Getenv) }

// apartName is the name of a private folder below ApartFolder, where a user may have others: the repository and the
// slot.
var apartName = lazyregexp.New(`^(\.new-|turn-)?[0-9a-f]{8}-[0-9]+$|^\.old-[0-9]+$`)

// makeApart makes a private folder whose path is the same for each run of a repository: of those that run at once, the
// first that is free. What tools keep by path is then found again by the next run.
func (e *Engine) makeApart(repository, record string) (*workdir, error) {
	key := string(runs.DigestOf([]byte(repository)))[len("sha256:"):][:8] + "-"
	dir, own := e.apartFolder(), filepath.Join(e.Cache, "work")
	for slot, again := 0, 100; ; slot++ {
		w, err := e.makeWorkdir(filepath.Join(dir, key+strconv.Itoa(slot)), "", record)
		switch {
		case err == nil:
			return w, nil
		case errors.Is(err, fs.ErrExist):
		case errors.Is(err, fs.ErrNotExist) && again > 0: // a run that ended removed the folder of all
			slot, again = slot-1, again-1
		case dir != own: // a home that cannot be written
			dir, slot = own, -1
		default:
			return nil, err
		}
	}
}

// removeRoot removes a private folder and releases its lock. One whose path another run may take at any moment gets
// another name before.
func removeRoot(root string, release func()) error {
	dir, old := filepath.Dir(root), root
	var err error
	if apartName.MatchString(filepath.Base(root)) {
		if old, err = os.MkdirTemp(dir, ".old-"); err == nil {
			err = os.Rename(root, filepath.Join(old, filepath.Base(root)))
		}
	}
	gone := disk.RemoveAll(old)
	release()
	if gone != nil { // a network file system keeps a file that is open, as the lock was, under another name
		gone = disk.RemoveAll(old)
	}
	if filepath.Base(dir) == homeFolder {
		_ = os.Remove(dir) // unless it has more
	}
	return errors.Join(err, gone)
}

// inFolder reports whether the run works in a folder of the user's, outside any repository.
func (p *Plan) inFolder() bool {
	return p.source == nil && p.request.Repository == "" && p.request.Folder != ""
}

// folder is where a run outside a repository works; "" for any other run.
func (p *Plan) folder() string {
	if !p.inFolder() {
		return ""
	}
	return p.request.Folder
}

// homes are the folders that a run works in only with --in-place: the sandbox would let its steps write all of them.
func (e *Engine) homes() []string {
	out := []string{string(filepath.Separator)}
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if home, ok := e.Getenv(name); ok && home != "" {
			out = append(out, home)
		}
	}
	return out
}

// checkFolder returns an error for a home folder, and for the root of the file system.
func (p *Plan) checkFolder(homes []string) error {
	if !p.inFolder() {
		if p.request.InPlace {
			return &notebooks.Error{Kind: notebooks.KindOption, Msg: "--in-place needs a Git repository or a folder " +
				"to work in"}
		}
		return nil
	}
	info, err := os.Stat(p.request.Folder)
	if err != nil {
		return &notebooks.Error{Kind: notebooks.KindOption, Msg: "the folder that the run works in: " + err.Error(),
			Err: err}
	}
	same := func(home string) bool {
		other, err := os.Stat(home)
		return err == nil && os.SameFile(info, other)
	}
	if p.request.InPlace || !slices.ContainsFunc(homes, same) {
		return nil
	}
	return &notebooks.Error{Kind: notebooks.KindOption,
		Msg: "outside a Git repository a run works in the current folder, and " + p.request.Folder +
			" is not one to let steps write in",
		Hint: "run it in the folder of the job, or say --in-place"}
}
