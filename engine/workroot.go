package engine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"markmill/engine/worktree/disk"
	"markmill/notebooks/lazyregexp"
	"markmill/runs"
)

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
