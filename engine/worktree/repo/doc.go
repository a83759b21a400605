// Package repo reads a user's Git repository, and writes to it what is asked for by name: a run's commits (Fetch), a
// branch (Branch), and the removal of runs' refs (DeleteRefs).
//
// Objects are read by package object, and by go-git where that finds nothing; the Git program is asked only for what
// neither can do, and about the history (Between, MergeBase), where it is faster. Refs are read here: go-git fails as a
// whole when one ref is broken. Nothing that a write leaves half done stays: Tidy removes it.
package repo
