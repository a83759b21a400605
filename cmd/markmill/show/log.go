package show

import (
	"io"
	"slices"

	"markmill/cmd/internal/program"
	"markmill/runs"
)

// logOptions are the options of show --log.
type logOptions struct {
	step          string // its id, or allSteps
	stderr, patch bool
}

// allSteps is the value of --log without one.
const allSteps = " "

// printLog prints what the steps of a run wrote, or one of them, in full: the bytes of the record, except on a
// terminal, where only colours control anything.
func printLog(a *program.App, run *runs.Run, dir string, o logOptions) error {
	var ids []string
	for _, s := range run.Steps {
		ids = append(ids, string(s.Planned.ID))
	}
	if o.step != allSteps && !slices.Contains(ids, o.step) {
		return program.Usagef("run %s has no step %q; steps: %v", run.ID, o.step, ids)
	}
	for _, s := range run.Steps {
		if s.Finished == nil || o.step != allSteps && o.step != string(s.Planned.ID) {
			continue
		}
		file := s.Finished.Stdout.File
		if o.stderr {
			file = s.Finished.Stderr.File
		}
		if o.patch {
			file = ""
			if s.Patch != nil {
				file = s.Patch.Patch
			}
		}
		if err := print(a, dir, file); err != nil {
			return err
		}
		for _, last := range run.Endings(s.Planned.ID) { // what its interpreter printed as it was closed
			if o.stderr || o.patch {
				break
			}
			if err := print(a, dir, last); err != nil {
				return err
			}
		}
	}
	return nil
}

// print copies a file of a run directory to standard output; "" prints nothing.
func print(a *program.App, dir, file string) error {
	if file == "" {
		return nil
	}
	f, err := runs.At(dir).Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return a.Shown(func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
}
