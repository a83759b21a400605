// Package apply brings the change of a run into the checkout, and takes it back. The files are written by
// engine/worktree/apply.
package apply
