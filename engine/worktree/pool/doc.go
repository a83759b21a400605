// Package pool keeps worktrees that runs have left, and proves which of their files are still as they were written.
//
// What always holds: a tree leaves the pool by one rename, so that no two runs get it; it comes back only from a run
// that ended in order, so that a killed run's tree never does; whatever is in doubt is written anew. Trees are removed
// at the end of a run or on request, never at its start.
//
// It may import disk, object and snapshot of engine/worktree, and nothing else of this module.
package pool
