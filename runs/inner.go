package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"markmill/notebooks"
)

// ParentData names the step in which a run was made, and the step's run.
type ParentData struct {
	Run  RunID            `json:"run"`
	Step notebooks.StepID `json:"step"`
}

// InnerRun is a run that a step made. Its record is beside that of the run around it, unless Elsewhere or Problem is
// set.
type InnerRun struct {
	RunID     RunID  `json:"run_id"`
	Status    Status `json:"status,omitzero"`
	Sums      Digest `json:"sums,omitzero"`      // digest of its SHA256SUMS; "" if the run was interrupted
	Elsewhere bool   `json:"elsewhere,omitzero"` // its record is in another store, outside the worktree
	Problem   string `json:"problem,omitzero"`   // why its record was not copied
}

// Valid reports whether NewRunID could have made an id, so that it is safe as the name of a folder and of a Git ref.
func (id RunID) Valid() bool {
	_, timed := startOf(id)
	return timed && len(id) < 200 && !strings.ContainsFunc(string(id), func(c rune) bool {
		return c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && c != 'T' && c != 'Z'
	})
}

// adoptPrefix begins the name of a run directory that is being copied into the store.
const adoptPrefix = ".inner-"

// inStore reports whether the run around an inner run is in the store too: the inner run is removed with it, and is not
// what "last" means.
func inStore(parent RunID, ids []RunID) bool { return parent != "" && slices.Contains(ids, parent) }

// Adopt copies the record of a run into the store. It calls check with the copy before the copy gets its name; if check
// returns an error, nothing is kept. Only regular files are copied.
func (s Store) Adopt(id RunID, from string, check func(copied string) error) (err error) {
	if err := os.MkdirAll(s.runs(), 0o755); err != nil {
		return cannotWrite(s.runs(), err)
	}
	to := filepath.Join(s.runs(), adoptPrefix+string(id))
	if err := os.Mkdir(to, 0o755); err != nil {
		return cannotWrite(to, err)
	}
	release, err := lockNew(to)
	if err != nil {
		return err
	}
	if err = copyRecord(from, to); err == nil {
		err = check(to)
	}
	release()
	if err == nil {
		if err = os.Rename(to, s.Path(id)); err != nil {
			err = cannotWrite(s.Path(id), err)
		}
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(to))
	}
	return nil
}

// copyRecord copies the files of a record. No link leads it out of the folder from.
func copyRecord(from, to string) error {
	source, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer target.Close()
	return fs.WalkDir(source.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || path == "." || path == LockFile || strings.HasPrefix(entry.Name(), TempPrefix):
			return err
		case entry.IsDir():
			return target.Mkdir(path, 0o755)
		case !entry.Type().IsRegular():
			return nil // verification of the copy finds what is missing
		}
		in, err := source.Open(path)
		if err != nil {
			return err
		}
		defer in.Close()
		if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file", path)
		}
		out, err := target.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		_, err = out.ReadFrom(in)
		return errors.Join(err, out.Close())
	})
}

// sweepAdopted removes a copy that a crash left unfinished.
func (s Store) sweepAdopted(name string) error {
	dir := filepath.Join(s.runs(), name)
	if info, err := os.Lstat(dir); err != nil || Alive(dir) || time.Since(info.ModTime()) < making {
		return nil
	}
	return removeTree(dir)
}

// inner compares what the record says of its inner runs, and of the run around it, with the records beside it. A record
// that is not there is not compared.
func (c *check) inner() {
	beside := func(id RunID) string { return filepath.Join(filepath.Dir(c.record.path), string(id)) }
	for step, list := range c.v.Run.InnerRuns() {
		for _, in := range list {
			if in.Sums == "" || in.Elsewhere || in.Problem != "" || !in.RunID.Valid() {
				continue
			}
			text, err := At(beside(in.RunID)).ReadFile(SumsFile)
			if err == nil && DigestOf(text) != in.Sums {
				c.v.find(stepWhere(step), "its inner run %s has another %s than the journal says", in.RunID, SumsFile)
			}
		}
	}
	p := c.v.Run.Started.Parent
	if p == nil || !p.Run.Valid() {
		return
	}
	around, _, err := At(beside(p.Run)).Load()
	ended := func(s StepRecord) bool { return s.Planned.ID == p.Step && s.Finished != nil }
	if err != nil || !slices.ContainsFunc(around.Steps, ended) {
		return // it was interrupted before it could name this one
	}
	text, _ := c.record.ReadFile(SumsFile)
	for _, list := range around.InnerRuns() {
		if slices.ContainsFunc(list, func(in InnerRun) bool {
			return in.RunID == c.v.RunID && in.Problem == "" && (in.Sums == "" || in.Sums == DigestOf(text))
		}) {
			return
		}
	}
	c.v.find(JournalFile, "names %s as the run around it, whose journal does not name this run, or with another %s",
		p.Run, SumsFile)
}

func stepWhere(step notebooks.StepID) string {
	if step == "" {
		return JournalFile
	}
	return "step " + string(step)
}

// InnerRuns are the runs that the steps of a run made, by step; under "" those that outlived their step.
func (r *Run) InnerRuns() map[notebooks.StepID][]InnerRun {
	all := map[notebooks.StepID][]InnerRun{}
	for i := range r.Steps {
		if f := r.Steps[i].Finished; f != nil && len(f.InnerRuns) > 0 {
			all[r.Steps[i].Planned.ID] = f.InnerRuns
		}
	}
	if r.Completed != nil && len(r.Completed.InnerRuns) > 0 {
		all[""] = r.Completed.InnerRuns
	}
	return all
}
