package jupyter

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"

	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
	"markmill/runs"
)

// widgets holds the final states of a run's widgets. Their random ids are replaced by numbers in order of creation,
// so that equal runs give equal files.
type widgets struct {
	states []runs.OutputData
	rename *strings.Replacer
}

// readWidgets finds the last state of each widget.
func (r *recorded) readWidgets() (*widgets, error) {
	w, at := &widgets{}, map[string]int{}
	var names []string
	for _, rec := range r.steps {
		if rec.Finished == nil || rec.Finished.Outputs.File == "" {
			continue
		}
		raw, err := fs.ReadFile(r.files, rec.Finished.Outputs.File)
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(raw, []byte(`"`+runs.OutputWidget+`"`)) {
			continue
		}
		list, err := r.list(rec.Finished)
		if err != nil {
			return nil, err
		}
		for _, d := range list {
			if d.Type != runs.OutputWidget {
				continue
			}
			if i, known := at[d.Name]; known {
				w.states[i] = d
				continue
			}
			at[d.Name] = len(w.states)
			w.states = append(w.states, d)
			names = append(names, d.Name, fmt.Sprintf("%032x", len(w.states)))
		}
	}
	w.rename = strings.NewReplacer(names...)
	return w, nil
}

// renamed replaces widget ids in JSON.
func (w *widgets) renamed(raw codec.Raw) codec.Raw { return codec.Raw(w.rename.Replace(string(raw))) }

// setting returns the widget metadata as nbclient writes it, nil without widgets.
func (w *widgets) setting(shown func(string) string) ([]ipynb.Setting, error) {
	type model struct {
		Name    codec.Raw            `json:"model_name"`
		Module  codec.Raw            `json:"model_module"`
		Version codec.Raw            `json:"model_module_version"`
		State   map[string]codec.Raw `json:"state"`
		Buffers []runs.WidgetBuffer  `json:"buffers,omitempty"`
	}
	models := map[string]model{}
	for i, d := range w.states {
		m := model{Name: d.Data["_model_name"], Module: d.Data["_model_module"],
			Version: d.Data["_model_module_version"],
			State:   d.Data, Buffers: d.Buffers}
		if m.Name == nil {
			continue // a comm of something else
		}
		for _, v := range []*codec.Raw{&m.Module, &m.Version} {
			if *v == nil {
				*v = codec.Raw("null")
			}
		}
		models[fmt.Sprintf("%032x", i+1)] = m
	}
	if len(models) == 0 {
		return nil, nil
	}
	raw, err := codec.Marshal(map[string]any{ipynb.WidgetState: map[string]any{"state": models, "version_major": 2,
		"version_minor": 0}})
	return []ipynb.Setting{{Name: ipynb.KeyWidgets, Value: w.renamed(codec.Raw(shown(string(raw))))}}, err
}
