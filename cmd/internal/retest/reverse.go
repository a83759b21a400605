package retest

import (
	"context"
	"fmt"
	"path"

	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/render/plain"
)

// reverseChange makes a run begin without the change of the stored run, when the tree that it would begin with has
// exactly that change: a notebook and what it changed are often on one branch. It adds a line to the words of the test.
func reverseChange(ctx context.Context, j *job, repo *worktree.Source, req *engine.Request) error {
	if j.output.manifest == nil || len(j.output.manifest.Changes) == 0 || repo == nil {
		return nil
	}
	m := j.output.manifest
	tree, err := startFiles(ctx, repo, req)
	if err != nil {
		return err
	}
	defer tree.Close()
	back, applied, err := TakeBack(repo, tree, m.Changes)
	switch {
	case err != nil:
		return &notebooks.Error{Kind: notebooks.KindInput, File: slashed(j.stored), Err: err, Msg: err.Error(),
			Hint: "fetch the whole history (git fetch --unshallow), or name the commit before the change with --base"}
	case applied == 0:
		return nil
	case back == nil:
		j.words = append(j.words, fmt.Sprintf("the change of the stored run is applied in part, or was edited since "+
			"(%d of %s as the run left them): this run began with the files as they are", applied,
			plain.Counted(len(m.Changes), "file")))
		return nil
	case m.ChangesOmitted > 0:
		j.words = append(j.words, fmt.Sprintf("the change of the stored run is applied already, and the output does "+
			"not list %s of it: name the commit before it with --base", plain.Counted(m.ChangesOmitted, "file")))
		return nil
	}
	req.Reverse = append(req.Reverse, back...)
	for _, r := range req.Reverse {
		j.reversed = append(j.reversed, r.Path)
	}
	j.words = append(j.words, "its change is applied already: this run began without it ("+plain.Some(j.reversed, 3)+
		")")
	return nil
}

// TakeBack returns the files that a tree begins with when a change is taken back that it has already: all of it,
// exactly as a run left it. Of a tree that has it in part, or not at all, it returns nil. applied is how many of the
// files are as the run left them. It returns an error if the repository lacks a file as it was before.
func TakeBack(repo *worktree.Source, tree *worktree.Files, changes []notebooks.ManifestChange) (
	back []worktree.Restored, applied int, err error) {
	untouched := 0
	for i := range changes {
		is, was, err := stateOf(tree, &changes[i])
		if err != nil {
			return nil, 0, err
		}
		if was {
			untouched++
		} else if is {
			applied++
		}
	}
	if applied == 0 || applied < len(changes) {
		return nil, applied, nil
	}
	for _, c := range changes {
		if c.OldBlob != "" && !repo.HasBlob(worktree.OID(c.OldBlob)) {
			return nil, applied,
				fmt.Errorf("its change is applied already, and this repository does not have %s as it was before",
					c.Path)
		}
		at := c.Path
		if c.OldPath != "" && c.OldPath != c.Path {
			back = append(back, worktree.Restored{Path: c.Path})
			at = c.OldPath
		}
		back = append(back, worktree.Restored{Path: at, Blob: worktree.OID(c.OldBlob), Mode: c.OldMode})
	}
	return back, applied, nil
}

// startFiles are the files that the run begins with.
func startFiles(ctx context.Context, repo *worktree.Source, req *engine.Request) (*worktree.Files, error) {
	if req.Dirty == engine.DirtyInclude {
		return repo.CheckoutFiles(ctx)
	}
	commit, err := repo.Resolve(base(req))
	if err != nil {
		return nil, err
	}
	return repo.CommitFiles(commit)
}

// stateOf reports whether files are as the run left them (is), and whether they are as before it (was).
func stateOf(tree *worktree.Files, c *notebooks.ManifestChange) (is, was bool, err error) {
	same := func(p, blob, mode string) bool {
		have, haveMode, _, e := tree.Entry(path.Clean(p))
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
