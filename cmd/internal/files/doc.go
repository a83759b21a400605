// Package files finds and reads notebooks on disk, and says where a program may write.
//
// It owns the limits on what is read, which files below a folder are notebooks, and the check of paths to write to.
// What always holds: a read is bounded in bytes, and does not wait for a pipe or device that the caller did not open.
// Nothing is written.
//
// It imports notebooks and engine/worktree, which says what Git ignores.
package files
