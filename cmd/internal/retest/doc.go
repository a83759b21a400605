// Package retest runs notebooks again and compares what their steps leave with the outputs that are stored.
//
// It owns what a stored output is (an output notebook of Markmill, or a Jupyter notebook that another program saved
// with outputs), how it is found for a source and the source for it, how a run is made like the stored one (its
// parameters, without its change to the worktree, on its kernel), and the reports of a comparison: as text, as JSON, as
// JUnit's XML, as annotations of GitHub Actions. Package render/compare compares one output with another.
//
// What always holds: a test is a run like any other, with a record. A stored output is replaced only when Update asks
// for it and the run passed, and never when the file changed during the test.
//
// It may import everything but cmd/cmdtest.
package retest
