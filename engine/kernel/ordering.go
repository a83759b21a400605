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
}

// add needs the lock.
func (o *ordering) add(d runs.OutputData) {
	if o.kept {
		o.list = append(o.list, d)
	}
}

// stream notes bytes of a stream; it needs the lock.
func (o *ordering) stream(name string, n int64) {
	if last := len(o.list) - 1; last >= 0 && o.list[last].Type == runs.OutputStream && o.list[last].Name == name {
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

// clear drops what was noted; the bytes of the streams stay where they are.
func (o *ordering) clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	var left []runs.OutputData
	for _, d := range o.list {
		if d.Type == runs.OutputStream || d.Type == runs.OutputCleared {
			left = append(left, runs.OutputData{Type: runs.OutputCleared, Name: d.Name, Bytes: d.Bytes})
		}
	}
	o.list, o.byID = left, nil
}
