package kernel

import (
	"encoding/base64"
	"maps"
	"slices"

	"markmill/engine/kernel/jupyter"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// widgets holds a session's widgets, as its kernel reports them in comm messages.
type widgets struct {
	byID    map[string]*runs.OutputData
	changed []string // since taken, in the order in which they first were
	within  string   // the widget that takes what is printed (with out:), "" for none
}

// update applies a comm message.
func (w *widgets) update(o jupyter.Output) {
	if w.byID == nil {
		w.byID = map[string]*runs.OutputData{}
	}
	d := w.byID[o.Comm]
	if d == nil {
		d = &runs.OutputData{Type: runs.OutputWidget, Name: o.Comm, Data: map[string]codec.Raw{}}
		w.byID[o.Comm] = d
	}
	maps.Copy(d.Data, o.State)
	if id := o.State["msg_id"]; id != nil && string(d.Data["_model_name"]) == `"OutputModel"` {
		if w.within = o.Comm; string(id) == `""` {
			w.within = ""
		}
	}
	paths := map[string]bool{}
	for _, b := range o.Buffers {
		paths[string(b.Path)] = true
	}
	d.Buffers = slices.DeleteFunc(d.Buffers, func(b runs.WidgetBuffer) bool {
		_, again := o.State[firstOf(b.Path)]
		return again || paths[string(b.Path)]
	})
	for _, b := range o.Buffers {
		data := base64.StdEncoding.EncodeToString(b.Data)
		d.Buffers = append(d.Buffers, runs.WidgetBuffer{Data: data, Encoding: "base64", Path: b.Path})
	}
	if !slices.Contains(w.changed, o.Comm) {
		w.changed = append(w.changed, o.Comm)
	}
}

// owner returns the widget Output in which outputs stand now; "" for none.
func (w *widgets) owner() string {
	if w == nil {
		return ""
	}
	return w.within
}

// firstOf is the name of the value in the state in which a path begins.
func firstOf(path codec.Raw) string {
	var parts []codec.Raw
	var name string
	if codec.UnmarshalForeign(path, &parts) != nil || len(parts) == 0 ||
		codec.UnmarshalForeign(parts[0], &name) != nil {
		return ""
	}
	return name
}

// taken returns the widgets that changed since its last call.
func (w *widgets) taken() []runs.OutputData {
	var out []runs.OutputData
	for _, id := range w.changed {
		d := *w.byID[id]
		d.Data, d.Buffers = maps.Clone(d.Data), slices.Clone(d.Buffers)
		out = append(out, d)
	}
	w.changed = nil
	return out
}
