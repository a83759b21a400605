package engine

import (
	"maps"
	"slices"

	"markmill/engine/process"
	"markmill/notebooks"
	"markmill/runs"
)

// processesStep is the word of processes: that ends what a step leaves running with the step.
const processesStep = "step"

// alive tells a process from later ones of its number.
type alive struct {
	pid     int
	started uint64
}

// processes are all that live of the run, interpreters too.
func (r *run) processes() []int {
	var pids []int
	for _, s := range r.sessions {
		own, left := s.Running()
		pids = append(pids, own...)
		for _, p := range left {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// leftRunning lists what runs when a step has ended, of every session, and which step each process was first seen at.
// left is what the step's own session has.
func (r *run) leftRunning(s *PlannedStep, left []process.Info) []runs.ProcessData {
	var list []runs.ProcessData
	seen := map[alive]notebooks.StepID{}
	add := func(left []process.Info) {
		since := map[int]notebooks.StepID{}
		for _, p := range left { // who starts another comes before it
			key := alive{p.PID, p.Started}
			step, known := r.running[key]
			switch {
			case known:
			case since[p.Parent] != "": // a server's worker came with the server
				step = since[p.Parent]
			default:
				step = s.ID
			}
			seen[key], since[p.PID] = step, step
			list = append(list, runs.ProcessData{PID: p.PID, Program: p.Program, Parent: p.Parent, Since: step})
		}
	}
	own := r.sessions[s.sessionKey()]
	if own != nil {
		add(left)
	}
	for _, key := range slices.Sorted(maps.Keys(r.sessions)) {
		if other := r.sessions[key]; other != own {
			_, left := other.Running()
			add(left)
		}
	}
	r.running = seen
	return list
}
