// Package bisect finds the commit, and the step, with which the answer of a notebook changed.
//
// It owns what an answer is (a verdict, a step's, or a condition on a scrap), which commits cannot be tested, and the
// search over the history, which halves as git bisect does. Runs that are kept answer before new ones are made.
//
// What always holds: the checkout, HEAD and .git/bisect of the user are only read; each run works in a worktree of its
// commit and is a run like any other. No state is kept besides these runs: a search that was cut is begun again, and
// goes on because they answer.
//
// It may import everything but cmd/cli.
package bisect
