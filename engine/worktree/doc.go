// Package worktree isolates a run from the user's checkout and says what each step changed.
//
// It owns the run's own repository over the source's objects, the incremental walk, trees, commits,
// patches, the proof that the source was left alone, and the reading of commits (Files, Changes, MergeBase)
// for who compares them. No go-git type leaks out of it.
//
// What always holds: a run only reads the source's checkout and .git, and its commits go into a bundle. What writes
// them is called by name: Branch, Fetch and DeleteRefs write .git, Apply writes the checkout. A file that cannot be
// read is an error and never a deletion.
//
// It may import notebooks and runs, and nothing else of this module.
package worktree
