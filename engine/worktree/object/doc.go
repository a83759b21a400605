// Package object reads and writes Git's objects: their names, commits, trees, the loose objects of a run, packs and
// bundles.
//
// It knows no repository. Whatever it reads may be hostile: a name that would lead out of a worktree is an error, and
// so is content of another size than it declares. No go-git type is in its interface.
package object
