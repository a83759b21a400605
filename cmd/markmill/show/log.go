package show

import (
	"io"
	"slices"
	"strings"

	"markmill/cmd/internal/program"
	"markmill/runs"
)

// logOptions are the options of show --log.
type logOptions struct {
	step string // its id, or allSteps
	Streams
}

// allSteps is the value of --log without one.
const allSteps = " "

// Streams are which texts of steps Log names.
type Streams struct{ Stderr, Patch bool }

// Log names the files of a record with what the steps of a run wrote, or one of them; "" is all of them.
func Log(run *runs.Run, step string, of Streams) (files []string, err error) {
	var ids []string
	for _, s := range run.Steps {
		ids = append(ids, string(s.Planned.ID))
	}
	if step != "" && !slices.Contains(ids, step) {
		return nil, program.Usagef("run %s has no step %q; steps: %v", run.ID, step, ids)
	}
	for _, s := range run.Steps {
		switch {
		case s.Finished == nil || step != "" && step != string(s.Planned.ID):
		case of.Patch && s.Patch == nil:
		case of.Patch:
			files = append(files, s.Patch.Patch)
		case of.Stderr:
			files = append(files, s.Finished.Stderr.File)
		default: // with what its interpreter printed as it was closed
			files = append(append(files, s.Finished.Stdout.File), run.Endings(s.Planned.ID)...)
		}
	}
	return slices.DeleteFunc(files, func(file string) bool { return file == "" }), nil
}

// printLog prints the files of Log in full: the bytes of the record, except on a terminal, where only colours control
// anything.
func printLog(a *program.App, run *runs.Run, dir string, o logOptions) error {
	list, err := Log(run, strings.TrimSpace(o.step), o.Streams)
	for _, file := range list {
		if err == nil {
			err = print(a, dir, file)
		}
	}
	return err
}

// print copies a file of a run directory to standard output.
func print(a *program.App, dir, file string) error {
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
