package outdated

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"markmill/cmd/internal/files"
	"markmill/cmd/internal/launch"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/status"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/render/plain"
	"markmill/render/review"
)

// OutdatedOf lists the outputs below paths that are not current, compared with what their runs would begin with: the
// checkout, unless the user says which uncommitted changes count. A notebook that was never run, and has nowhere to
// write to, is listed only where it is named; never counts the others. Paths are from the working directory.
func OutdatedOf(ctx context.Context, a *program.App, paths []string, work *launch.WorkOptions, req *engine.Request,
	dirtyIsSet bool) (
	out []status.Output, never int, err error) {
	if !dirtyIsSet && req.Base == "" {
		work.Dirty = string(engine.DirtyInclude)
	}
	at := ""
	if work.Dirty != string(engine.DirtyInclude) || req.Base != "" {
		at = cmp.Or(req.Base, "HEAD")
	}
	repo, st, err := StatusOf(ctx, a, work.Repo, paths, at)
	if err != nil {
		return nil, 0, err
	}
	here := FromHere(repo)
	for _, o := range st.Outputs {
		named := slices.ContainsFunc(paths, func(p string) bool { return files.Same(p, here(o.Source)) })
		switch {
		case o.State == review.Current:
			continue
		case NeverRun(&o) && !named:
			never++
			continue
		case o.Lost():
			a.Tell("markmill: %s is left out: its source was removed\n", plain.Escape(here(o.Path)))
			continue
		case o.Path == "":
			o.Path = o.Target()
		}
		if o.Path = here(o.Path); o.Source != "" {
			o.Source = here(o.Source)
		}
		out = append(out, o)
	}
	return out, never, nil
}

// Next is the first of outputs that reads no data which another of them writes.
func Next(list []status.Output) status.Output {
	for i := range list {
		waits := slices.ContainsFunc(list, func(o status.Output) bool {
			return o.Path != list[i].Path && slices.ContainsFunc(o.Wrote, func(p string) bool {
				return slices.Contains(list[i].Read, p)
			})
		})
		if !waits {
			return list[i]
		}
	}
	return list[0] // they wait for each other
}

// StatusOf judges the notebooks below paths, those of the repository without one, in the checkout or at a revision.
func StatusOf(ctx context.Context, a *program.App, folder string, paths []string, at string) (
	*worktree.Source, *status.Status, error) {
	store, repo, err := a.Repository(folder)
	if err != nil {
		return nil, nil, err
	}
	o := status.Options{At: at, Getenv: a.Getenv, Store: store}
	if o.Paths, err = PathsIn(a, repo, paths); err != nil {
		return nil, nil, err
	}
	st, err := status.Of(ctx, repo, o)
	if err != nil {
		return nil, nil, err
	}
	for i, p := range o.Paths {
		// a folder without notebooks is no mistake
		if info, err := os.Stat(a.Path(paths[i])); err == nil && info.IsDir() && at == "" {
			continue
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		if err := st.Missing([]string{p}); err != nil {
			return nil, nil, program.AsUsage(err)
		}
	}
	return repo, st, nil
}

// PathsIn are paths from the root of a repository, which holds all of them.
func PathsIn(a *program.App, repo *worktree.Source, paths []string) (list []string, err error) {
	for _, p := range paths {
		rel, ok := repo.Relative(a.Path(p))
		if !ok {
			return nil, program.Usagef("%s is not in the repository %s", p, repo.Root())
		}
		list = append(list, rel)
	}
	return list, nil
}

// FromHere returns a function that turns paths from the root of a repository into paths from the working directory.
func FromHere(repo *worktree.Source) func(string) string {
	wd, err := os.Getwd()
	if err == nil {
		wd, err = filepath.EvalSymlinks(wd)
	}
	root, rootErr := filepath.EvalSymlinks(repo.Root())
	return func(p string) string {
		full := filepath.Join(root, filepath.FromSlash(p))
		if rel, relErr := filepath.Rel(wd, full); err == nil && rootErr == nil && relErr == nil {
			return rel
		}
		return filepath.Join(repo.Root(), filepath.FromSlash(p))
	}
}

// NeverRun reports whether a notebook has no output of Markmill, nor a place that the settings name for one. --outdated
// leaves it out.
func NeverRun(o *status.Output) bool { return o.Path == "" }
