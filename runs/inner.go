package runs

import (
	"crypto/rand"
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
// returns an error, nothing is kept. Only regular files are copied, and the mark of a record that this user made.
func (s Store) Adopt(id RunID, from string, check func(copied string) error) error {
	return s.Admit(id, func(to string) error {
		if err := copyRecord(from, to); err != nil {
			return err
		}
		if err := check(to); err != nil || !At(from).Made() {
			return err
		}
		sums, err := At(to).Sums()
		return errors.Join(err, s.markMade(to, string(id), sums))
	})
}

// Admit puts a record that was made elsewhere into the store. fill writes it to a folder and checks it there; the
// folder becomes the run directory only if fill returns no error, and nothing is kept otherwise.
func (s Store) Admit(id RunID, fill func(to string) error) error {
	to := filepath.Join(s.runs(), adoptPrefix+string(id))
	release, err := s.makeAside(to)
	if err != nil {
		return err
	}
	err = fill(to)
	release()
	if err == nil {
		if err = os.Rename(to, s.Path(id)); err != nil {
			err = cannotWrite(s.Path(id), err)
		}
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(to))
	}
	s.unmark(filepath.Base(to))
	return err
}

// Remove removes a run that has ended. A run that is alive or is not there stays as it is.
func (s Store) Remove(id RunID) error {
	_, err := s.remove(id, nil)
	return errors.Join(err, s.AlertsKept(id))
}

// Scratch makes an empty folder in the store, which is on the same disk as the runs. What a crash leaves of it is
// removed as an unfinished copy is.
func (s Store) Scratch() (dir string, remove func() error, err error) {
	top := filepath.Join(s.runs(), adoptPrefix+"scratch-"+rand.Text())
	release, err := s.makeAside(top)
	if err != nil {
		return "", nil, err
	}
	remove = func() error { release(); defer s.unmark(filepath.Base(top)); return os.RemoveAll(top) }
	if dir = filepath.Join(top, "files"); os.Mkdir(dir, 0o755) != nil {
		return "", nil, errors.Join(cannotWrite(dir, errors.New("it cannot be made")), remove())
	}
	return dir, remove, nil
}

// makeAside makes a locked folder among the runs that is none.
func (s Store) makeAside(dir string) (release func(), err error) {
	if err := os.MkdirAll(s.runs(), 0o755); err != nil {
		return nil, cannotWrite(s.runs(), err)
	}
	if err := s.hide(); err != nil {
		return nil, err
	}
	if err := s.mark(filepath.Base(dir)); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		return nil, &notebooks.Error{Kind: notebooks.KindArtifact, File: dir, Err: err,
			Msg:  "another command is writing this run to the store, or was killed a moment ago",
			Hint: "try again"}
	} else if err != nil {
		return nil, cannotWrite(dir, err)
	}
	if release, err = LockOwn(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return release, nil
}

// copyRecord copies the regular files of a record: verification of the copy finds what is missing. No link leads it out
// of the folder from.
func copyRecord(from, to string) error {
	source, done, err := At(from).held()
	if err != nil {
		return err
	}
	defer done()
	return source.walk(func(name string) error {
		in, err := source.open(name)
		if err != nil {
			return err
		}
		defer in.Close()
		if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file", name)
		}
		target := At(to).File(name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		_, err = Writer{}.Copy(in, target)
		return err
	}, nil)
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
