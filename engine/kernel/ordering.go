package kernel

import (
	"slices"
	"sync"

	"markmill/engine/kernel/jupyter"
	"markmill/runs"
)

// ordering records the order of a step's outputs. The kernel's own streams are read beside the protocol.
type ordering struct {
	mu   sync.Mutex
	kept bool // the order is asked for
	list []runs.OutputData
	byID map[string]int // outputs that may be updated
	// owner is the widget Output in which the next outputs stand, "" for the cell itself; owners are those of the list
	owner  string
	owners []string
}

// add needs the lock.
func (o *ordering) add(d runs.OutputData) {
	if o.kept {
		o.list, o.owners = append(o.list, d), append(o.owners, o.owner)
	}
}

// within says in which widget Output the next outputs stand.
func (o *ordering) within(owner string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.owner = owner
}

// stream notes bytes of a stream; it needs the lock.
func (o *ordering) stream(name string, n int64) {
	if last := len(o.list) - 1; last >= 0 && o.list[last].Type == runs.OutputStream && o.list[last].Name == name &&
		o.owners[last] == o.owner {
		o.list[last].Bytes += n
		return
	}
	o.add(runs.OutputData{Type: runs.OutputStream, Name: name, Bytes: n})
}

// show notes a result, or puts it in the place of the one of this step that it updates.
func (o *ordering) show(from jupyter.Output, d runs.OutputData) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.kept {
		return
	}
	if at, known := o.byID[from.DisplayID]; known && from.DisplayID != "" && from.Type == "update_display_data" {
		d.Type = o.list[at].Type
		o.list[at] = d
		return
	}
	if from.DisplayID != "" {
		if o.byID == nil {
			o.byID = map[string]int{}
		}
		o.byID[from.DisplayID] = len(o.list)
	}
	o.add(d)
}

func (o *ordering) failed(name, value string, traceback []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.add(runs.OutputData{Type: runs.OutputError, Ename: name, Evalue: value, Traceback: traceback})
}

// forgive drops the error of an interpreter that ended normally on request.
func (o *ordering) forgive() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = slices.DeleteFunc(o.list, func(d runs.OutputData) bool { return d.Type == runs.OutputError })
}

// clear drops what its owner noted; the bytes of the streams stay where they are.
func (o *ordering) clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	list, owners, byID := o.list, o.owners, map[int]string{}
	for id, at := range o.byID {
		byID[at] = id
	}
	o.list, o.owners, o.byID = nil, nil, map[string]int{}
	for i, d := range list {
		if owners[i] == o.owner {
			if d.Type != runs.OutputStream && d.Type != runs.OutputCleared {
				continue
			}
			d = runs.OutputData{Type: runs.OutputCleared, Name: d.Name, Bytes: d.Bytes}
		} else if id := byID[i]; id != "" {
			o.byID[id] = len(o.list)
		}
		o.list, o.owners = append(o.list, d), append(o.owners, owners[i])
	}
}
