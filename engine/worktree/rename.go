package worktree

// Rename gives a worktree that nobody has worked in yet to another run.
func (t *Tree) Rename(runID string, own []string, processes func() []int) {
	t.opt.RunID, t.opt.Own, t.opt.Processes = runID, own, processes
}
