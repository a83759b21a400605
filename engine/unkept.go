package engine

import (
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"markmill/runs"
)

// unkept tells whether a step left something to later ones that no record keeps: in TMPDIR, in a HOME of the run's own,
// or in the worktree's Git directory, but for objects.
type unkept struct {
	known  bool
	times  [5]time.Time // of the folders that places returns
	digest uint64       // of what is in them
	deep   bool         // times do not tell all changes
}

// mostUnkept is how many files are looked at.
const mostUnkept = 10_000

// coarsest is how far apart two changes of a folder may be that have the same time.
const coarsest = 20 * time.Millisecond

// places are the folders that steps leave files in. Git makes each file anew, and so changes the folder.
func (w *workspace) places() [5]string {
	dot := w.tree.GitDir()
	return [...]string{w.work.Tmp, w.work.Home, dot, filepath.Join(dot, "refs", "heads"),
		filepath.Join(dot, "refs", "tags")}
}

// leavesUnkept notes in done, at the end of a step, that it left such things. At the beginning of the first step it
// looks at what is there. Nothing is taken over from a run that works in the folder itself, so nothing is looked at
// there.
func (w *workspace) leavesUnkept(done *runs.StepFinishedData) {
	if w.plan.source == nil || w.plan.mode() == runs.MutationInPlace {
		return
	}
	now := unkept{known: true}
	for i, dir := range w.places() {
		if info, err := os.Lstat(dir); err == nil {
			now.times[i] = info.ModTime()
			now.deep = now.deep || time.Since(info.ModTime()) < coarsest
		}
	}
	if w.left.known && !w.left.deep && now.times == w.left.times {
		return
	}
	whole := now.look(w.places())
	done.Unkept = w.left.known && (!whole || now.digest != w.left.digest)
	w.left = now
}

// look reads all that is there. It reports whether that was not too much.
func (u *unkept) look(places [5]string) bool {
	sum, files := fnv.New64a(), 0
	for i, root := range places {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch files++; {
			case files > mostUnkept:
				return fs.SkipAll
			case path == root:
				return nil
			case err == nil && d.IsDir() && i == 2: // those of Git that count are places of their own
				return fs.SkipDir
			}
			u.deep = u.deep || i < 2 || d.IsDir()
			var info fs.FileInfo
			if err == nil {
				info, err = d.Info()
			}
			if err == nil && !d.IsDir() {
				fmt.Fprintln(sum, info.Size(), info.ModTime().UnixNano())
			}
			fmt.Fprintf(sum, "%q %v\n", path, err) // one that is gone or closed is another
			return nil
		})
	}
	u.digest = sum.Sum64()
	return files <= mostUnkept
}
