package engine

import (
	"os"
	"path/filepath"
	"slices"

	"markmill/notebooks"
)

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
