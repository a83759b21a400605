package engine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/sandbox"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/runs"
)

// A step may run Markmill. The record of such an inner run is usually in the worktree of the outer one, and would be
// removed with it. So the inner run writes the path of its directory to a file, named by its id, in a folder that steps
// can write (innerVariable), and the outer run copies the record into its own store after the step. Steps cannot write
// that store, and what they leave in the folder is not trusted: only records in the outer run's private folder are
// copied, if they verify and name the outer run and the step.

// innerVariable is where a run inside a step leaves the path of its directory.
const innerVariable = "MARKMILL_INNER_RUNS"

// innerStore is where inner runs keep their records when the outer one works in place, in the folder of innerVariable.
const innerStore = ".store"

// pathMax limits the size of such a file.
const pathMax = 4096

// innerRuns takes over the records of runs that steps made.
type innerRuns struct {
	eng   *Engine
	plan  *Plan
	rec   *recorder
	ws    *workspace
	taken []runs.RunID
}

// parent is the run and step around this one, from the environment; nil without one.
func (e *Engine) parent() *runs.ParentData {
	if folder, ok := e.Getenv(innerVariable); !ok || folder == "" {
		return nil
	}
	run, _ := e.Getenv("MARKMILL_RUN_ID")
	step, _ := e.Getenv("MARKMILL_STEP")
	return &runs.ParentData{Run: runs.RunID(run), Step: notebooks.StepID(step)}
}

// announce leaves the path of a run directory for the run around this one. If the folder is gone, that run has ended.
func (n *innerRuns) announce(id runs.RunID) error {
	folder, ok := n.eng.Getenv(innerVariable)
	if !ok || folder == "" {
		return nil
	}
	err := runs.WriteFile(filepath.Join(folder, string(id)),
		[]byte(filepath.Join(filepath.Dir(n.rec.record.Path()), string(id))+"\n"))
	if _, gone := os.Stat(folder); errors.Is(gone, fs.ErrNotExist) {
		return nil
	}
	return err
}

// forget drops the inner runs of a step that ran again for its state: the record has those of the first time.
func (n *innerRuns) forget() error {
	entries, err := os.ReadDir(n.ws.work.Inner)
	if err != nil {
		return nil // a step has removed it
	}
	for _, entry := range entries {
		if entry.Name() == innerStore {
			continue
		}
		if err := os.RemoveAll(filepath.Join(n.ws.work.Inner, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// take copies the records of runs that a step made into the store. At the end of the run, with step "", it takes those
// that outlived their step.
func (n *innerRuns) take(step notebooks.StepID) ([]runs.InnerRun, error) {
	if n.ws.work.noInner() {
		return nil, nil
	}
	entries, err := os.ReadDir(n.ws.work.Inner)
	if err != nil {
		return nil, nil // a step has removed it
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return e.Name() == innerStore || strings.HasPrefix(e.Name(), runs.TempPrefix)
	})
	var taken []runs.InnerRun
	for progress := true; progress; { // a run in an inner run is taken after that
		progress = false
		for i := 0; i < len(entries); i++ {
			inner, err := n.takeEntry(step, entries[i].Name())
			if errors.Is(err, errNotYet) {
				continue
			}
			if err != nil {
				return taken, artifact(err)
			}
			taken, progress = append(taken, *inner), true
			entries = slices.Delete(entries, i, i+1)
			i--
		}
	}
	for _, entry := range entries {
		name := filepath.Join(n.ws.work.Inner, entry.Name())
		dir, err := readPath(name)
		if step != "" && err == nil && n.mayBeAlive(n.ws.real(dir)) {
			continue
		}
		taken = append(taken, runs.InnerRun{RunID: runs.RunID(n.rec.conceal(entry.Name())),
			Problem: "its record names another run around it, or another step"})
		if err := os.RemoveAll(name); err != nil {
			return taken, artifact(err)
		}
	}
	return taken, nil
}

// noInner reports whether nothing has been written to the folder of inner runs since it was made. It saves a step the
// listing of a folder that is nearly always empty. Another program takes longer to start than the file system's clock
// takes to tick.
func (w *workdir) noInner() bool {
	info, err := os.Stat(w.Inner)
	return err == nil && !w.innerMade.IsZero() && info.ModTime().Equal(w.innerMade)
}

// errNotYet says that a record may be taken later: when its run has ended, or when the run around it has been taken.
var errNotYet = errors.New("not yet")

// takeEntry takes the record that a file in the folder of inner runs names.
func (n *innerRuns) takeEntry(step notebooks.StepID, id string) (*runs.InnerRun, error) {
	name := filepath.Join(n.ws.work.Inner, id)
	dir, err := readPath(name)
	dir = n.ws.real(dir)
	if err == nil && step != "" && n.mayBeAlive(dir) {
		return nil, errNotYet
	}
	inner := &runs.InnerRun{RunID: runs.RunID(n.rec.conceal(id))}
	if err == nil {
		err = n.takeOne(step, inner, dir)
	} else {
		err = notTaken("its directory is not named")
	}
	if errors.As(err, new(innerError)) {
		inner.Problem, err = n.rec.conceal(err.Error()), nil
	}
	if err != nil {
		return nil, err
	}
	return inner, os.RemoveAll(name)
}

// mayBeAlive reports whether a run that has not ended is in the private folder.
func (n *innerRuns) mayBeAlive(dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && sandbox.Within(real, sandbox.Real([]string{n.ws.work.Root})) && runs.Alive(real)
}

// innerError says why a record is not taken over.
type innerError string

func (e innerError) Error() string { return string(e) }

func notTaken(format string, args ...any) error { return innerError(fmt.Sprintf(format, args...)) }

func readPath(name string) (string, error) {
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, pathMax))
	return strings.TrimSuffix(string(text), "\n"), err
}

// takeOne copies one record into the store.
func (n *innerRuns) takeOne(step notebooks.StepID, inner *runs.InnerRun, dir string) error {
	store := n.eng.Store(n.plan.root())
	if !inner.RunID.Valid() || filepath.Base(dir) != string(inner.RunID) {
		return notTaken("%q does not name the directory of a run", inner.RunID)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return notTaken("its directory cannot be found")
	}
	if at, err := filepath.EvalSymlinks(store.Path(inner.RunID)); err == nil {
		if at != real {
			return notTaken("the store has a run of that id already")
		}
		return n.verify(step, inner, real) // nothing kept the step from writing there
	}
	if !sandbox.Within(real, sandbox.Real([]string{n.ws.work.Root})) {
		inner.Elsewhere = true // and stays there
		return n.verify(step, inner, real)
	}
	err = store.Adopt(inner.RunID, real, func(copied string) error {
		if err := n.verify(step, inner, copied); err != nil {
			return err
		}
		return n.checkSecrets(copied)
	})
	if errors.Is(err, errNotYet) || errors.As(err, new(innerError)) {
		return err
	}
	if err != nil {
		return notTaken("its record cannot be copied: %s", err)
	}
	n.taken = append(n.taken, inner.RunID)
	return n.announce(inner.RunID)
}

// verify checks that a record is one that an inner run leaves.
func (n *innerRuns) verify(step notebooks.StepID, inner *runs.InnerRun, dir string) error {
	record, _, err := runs.At(dir).Load()
	if err != nil {
		return notTaken("its record cannot be read")
	}
	p := record.Started.Parent
	switch {
	case record.ID != inner.RunID:
		return notTaken("its record is of another run")
	case p == nil:
		return notTaken("its record names no run around it")
	case p.Run == n.rec.id && (step == "" || p.Step == step) || slices.Contains(n.taken, p.Run):
	default:
		return errNotYet
	}
	if inner.Status = record.Status(); record.Completed == nil {
		inner.Status = runs.Interrupted
		return nil
	}
	v, err := runs.At(dir).Verify(nil, runs.Signers{})
	if err != nil {
		return notTaken("its record cannot be verified")
	}
	if !v.OK() {
		return notTaken("its record does not hold: %s", v.Findings[0])
	}
	sums, err := runs.At(dir).ReadFile(runs.SumsFile)
	if err != nil {
		return notTaken("its %s cannot be read", runs.SumsFile)
	}
	inner.Sums = runs.DigestOf(sums)
	return nil
}

// checkSecrets returns an error for a record that shows a secret of this run, which the inner run did not know.
func (n *innerRuns) checkSecrets(dir string) error {
	if n.plan.mask == nil {
		return nil
	}
	shows := notTaken("its record shows a secret of this run")
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if n.plan.mask.In([]byte(entry.Name())) {
			return shows
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		find := n.plan.mask.Find()
		if _, err := io.Copy(find, f); err != nil {
			return err
		}
		if find.Found() {
			return shows
		}
		return nil
	})
	if err != nil {
		return err
	}
	commits, err := worktree.OpenBundle(runs.At(dir).File(runs.BundleFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return notTaken("its bundle cannot be read")
	}
	defer commits.Close()
	if found, err := commits.Any(n.plan.mask.In); err != nil || found {
		return shows
	}
	return nil
}
