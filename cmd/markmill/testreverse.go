package main

import (
	"context"
	"fmt"
	"path"

	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
)

// takeBack lets a run begin without the change that the stored run made, where the tree that it would begin with has
// exactly that change: a notebook and what it changed are on one branch. It says so in the words of the test.
func (t *tester) takeBack(ctx context.Context, j *testJob, repo *worktree.Source, req *engine.Request) error {
	if j.output.manifest == nil || len(j.output.manifest.Changes) == 0 || repo == nil {
		return nil
	}
	m := j.output.manifest
	files, err := t.beginning(ctx, repo, req)
	if err != nil {
		return err
	}
	defer files.Close()
	applied, untouched := 0, 0
	for i := range m.Changes {
		is, was, err := holds(files, &m.Changes[i])
		if err != nil {
			return err
		}
		if was {
			untouched++
		} else if is {
			applied++
		}
	}
	switch {
	case applied == 0:
		return nil
	case applied+untouched < len(m.Changes) || untouched > 0:
		j.words = append(j.words, fmt.Sprintf("the change of the stored run is applied in part, or was changed since (%d of %s as the run left them): this run began with them as they are",
			applied, counted(len(m.Changes), "file")))
		return nil
	case m.ChangesOmitted > 0:
		j.words = append(j.words, fmt.Sprintf("the change of the stored run is applied already, and %s of it are not listed in the output: --base names the commit before it", counted(m.ChangesOmitted, "file")))
		return nil
	}
	for _, c := range m.Changes {
		if c.OldBlob != "" && !repo.HasBlob(worktree.OID(c.OldBlob)) {
			return &notebooks.Error{Kind: notebooks.KindInput, File: name(j.stored), Msg: fmt.Sprintf("its change is applied already, and what %s was before is not in this repository", c.Path),
				Hint: "fetch the whole history (git fetch --unshallow), or name the commit before the change with --base"}
		}
		at := c.Path
		if c.OldPath != "" && c.OldPath != c.Path {
			req.Reverse = append(req.Reverse, worktree.Restored{Path: c.Path})
			at = c.OldPath
		}
		req.Reverse = append(req.Reverse, worktree.Restored{Path: at, Blob: worktree.OID(c.OldBlob), Mode: c.OldMode})
	}
	var paths []string
	for _, r := range req.Reverse {
		paths = append(paths, r.Path)
	}
	j.reversed = paths
	j.words = append(j.words, "its change is applied already: this run began without it ("+some(paths)+")")
	return nil
}

// beginning are the files that the run begins with.
func (t *tester) beginning(ctx context.Context, repo *worktree.Source, req *engine.Request) (*worktree.Files, error) {
	if req.Dirty == engine.DirtyInclude {
		return repo.CheckoutFiles(ctx)
	}
	base := req.Base
	if base == "" {
		base = "HEAD"
	}
	commit, err := repo.Resolve(base)
	if err != nil {
		return nil, err
	}
	return repo.CommitFiles(commit)
}

// holds says whether files have a change as the run left it, and whether they are as before it.
func holds(files *worktree.Files, c *notebooks.ManifestChange) (is, was bool, err error) {
	same := func(p, blob, mode string) bool {
		have, haveMode, _, e := files.Entry(path.Clean(p))
		if e != nil {
			err = e
		}
		return string(have) == blob && (blob == "" || mode == "" || mode == haveMode)
	}
	is, was = same(c.Path, c.NewBlob, c.NewMode), same(c.Path, c.OldBlob, c.OldMode)
	if c.OldPath != "" && c.OldPath != c.Path {
		is = is && same(c.OldPath, "", "")
		was = same(c.Path, "", "") && same(c.OldPath, c.OldBlob, c.OldMode)
	}
	return is, was, err
}
