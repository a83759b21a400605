package web

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"markmill/engine/process"
	"markmill/render/plain"
)

// The processes of a run are looked for at most once in processesEvery, however many pages show it; a page has at most
// maxProcesses of them.
const (
	processesEvery = time.Second
	maxProcesses   = 50
)

// processes are those of the runs that pages follow.
type processes struct {
	mutex sync.Mutex
	known map[int]processList // by the process of the run
}

type processList struct {
	at    time.Time
	words []string
}

// of are the programs that a run has started and that go on, but for Markmill's own.
func (p *processes) of(pid int) []string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if was, have := p.known[pid]; have && time.Since(was.at) < processesEvery {
		return was.words
	}
	for other, was := range p.known { // those that nobody follows any more
		if time.Since(was.at) > time.Minute {
			delete(p.known, other)
		}
	}
	list := []string{}
	for _, one := range process.Descendants(pid) {
		if len(list) == maxProcesses {
			list = append(list, "…")
			break
		}
		if !slices.Contains([]string{"markmill", process.WardenName, process.PlaceName}, one.Program) {
			list = append(list, fmt.Sprintf("%s (%d)", plain.OneLine(one.Program), one.PID))
		}
	}
	if p.known == nil {
		p.known = map[int]processList{}
	}
	p.known[pid] = processList{time.Now(), list}
	return list
}
