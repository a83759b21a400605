package retest

import (
	"context"
	"fmt"
	"path"

	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
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
	applied, untouched := 0, 0
	for i := range m.Changes {
		is, was, err := stateOf(tree, &m.Changes[i])
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
		j.words = append(j.words, fmt.Sprintf("the change of the stored run is applied in part, or was edited since "+
			"(%d of %s as the run left them): this run began with the files as they are", applied,
			fileCount(len(m.Changes))))
		return nil
	case m.ChangesOmitted > 0:
		j.words = append(j.words, fmt.Sprintf("the change of the stored run is applied already, and the output does "+
			"not list %s of it: name the commit before it with --base", fileCount(m.ChangesOmitted)))
		return nil
	}
	for _, c := range m.Changes {
		if c.OldBlob != "" && !repo.HasBlob(worktree.OID(c.OldBlob)) {
			return &notebooks.Error{Kind: notebooks.KindInput, File: slashed(j.stored),
				Msg: fmt.Sprintf(
					"its change is applied already, and this repository does not have %s as it was before", c.Path),
				Hint: "fetch the whole history (git fetch --unshallow), or name the commit before the change with " +
					"--base"}
		}
		at := c.Path
		if c.OldPath != "" && c.OldPath != c.Path {
			req.Reverse = append(req.Reverse, worktree.Restored{Path: c.Path})
			at = c.OldPath
		}
		req.Reverse = append(req.Reverse, worktree.Restored{Path: at, Blob: worktree.OID(c.OldBlob), Mode: c.OldMode})
	}
	for _, r := range req.Reverse {
		j.reversed = append(j.reversed, r.Path)
	}
	j.words = append(j.words, "its change is applied already: this run began without it ("+some(j.reversed)+")")
	return nil
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

func fileCount(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}
