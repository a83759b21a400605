package retest

import (
	"context"

	"markmill/cmd/api/files"
	"markmill/engine"
	"markmill/engine/worktree"
)

// Again makes a request for a run of a notebook like the run that left an output: with the values that it was given,
// and without its change where the tree has that already. req has the rest, with the source of the notebook and how
// uncommitted changes count. words say what of the change was taken back. An output that is missing adds nothing.
func Again(ctx context.Context, eng *engine.Engine, repo *worktree.Source, output string, req *engine.Request) (
	words []string, err error) {
	t := &tester{Options{Request: *req}}
	_, out, err := t.read(output)
	if err != nil || out == nil || out.foreign() {
		return nil, err
	}
	nb, err := eng.Parse(*req)
	if err != nil {
		return nil, err
	}
	given, err := givenAgain(slashed(output), out, nb, req.Given, machinePaths(eng, repo))
	if err != nil {
		return nil, err
	}
	req.Given = append(given, req.Given...)
	j := &job{file: files.File{Path: output}, stored: output, output: out}
	err = reverseChange(ctx, j, repo, req)
	return j.words, err
}
