package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/runs"
)

// inFolder says that the run works in a folder of the user's, outside any repository.
func (p *Plan) inFolder() bool {
	return p.Source == nil && p.Request.Repository == nil && p.Request.Folder != ""
}

// folder is where a run outside a repository works, "" for any other.
func (p *Plan) folder() string {
	if !p.inFolder() {
		return ""
	}
	return p.Request.Folder
}

// homes are the folders that a run works in only when it is told to: the sandbox would let its steps write all of them.
func (e *Engine) homes() []string {
	out := []string{string(filepath.Separator)}
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if home, ok := e.Getenv(name); ok && home != "" {
			out = append(out, home)
		}
	}
	return out
}

// checkFolder refuses a home folder, and the root of the file system.
func (p *Plan) checkFolder(homes []string) error {
	if !p.inFolder() {
		if p.Request.InPlace {
			return &notebooks.Error{Kind: notebooks.KindOption, Msg: "--in-place needs a Git repository or a folder to work in"}
		}
		return nil
	}
	info, err := os.Stat(p.Request.Folder)
	if err != nil {
		return &notebooks.Error{Kind: notebooks.KindOption, Msg: "the folder that the run works in: " + err.Error(), Err: err}
	}
	same := func(home string) bool {
		other, err := os.Stat(home)
		return err == nil && os.SameFile(info, other)
	}
	if p.Request.InPlace || !slices.ContainsFunc(homes, same) {
		return nil
	}
	return &notebooks.Error{Kind: notebooks.KindOption,
		Msg:  "outside a Git repository a run works in the current folder, and " + p.Request.Folder + " is not one to let steps write in",
		Hint: "run it in the folder of the job, or say --in-place"}
}

// folderOptions leaves what Markmill itself writes out of the worktree.
func (r *run) folderOptions(o worktree.Options) worktree.Options {
	folder := r.plan.Request.Folder
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	own := map[string]bool{}
	for _, path := range r.ownPaths() {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(folder, filepath.Join(dir, filepath.Base(path))); err == nil && filepath.IsLocal(rel) {
			own[filepath.ToSlash(rel)] = true
		}
	}
	o.Exclude = func(path string) bool {
		if own[path] || strings.HasPrefix(path[strings.LastIndexByte(path, '/')+1:], runs.TempPrefix) {
			return true
		}
		if len(r.plan.Request.OwnFiles) == 0 {
			return false
		}
		info, err := os.Lstat(filepath.Join(folder, filepath.FromSlash(path)))
		return err == nil && slices.ContainsFunc(r.plan.Request.OwnFiles, func(f os.FileInfo) bool { return os.SameFile(f, info) })
	}
	return o
}

// ownPaths are the files and folders that Markmill itself writes while the run goes on: the store, the cache, OUTPUT
// and its pictures.
func (r *run) ownPaths() []string {
	req := r.plan.Request
	paths := []string{filepath.Dir(filepath.Dir(r.record.Path())), r.eng.Cache}
	if req.Output != "" && !strings.Contains(req.Output, "://") {
		paths = append(paths, req.Output)
		if req.Assets != "" {
			paths = append(paths, filepath.Join(filepath.Dir(req.Output), req.Assets))
		}
	}
	return paths
}
