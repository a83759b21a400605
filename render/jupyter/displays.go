package jupyter

import (
	"path"

	"markmill/runs"
)

// current returns a result as Jupyter shows it at the end of the run: with the content of the last update of its
// display id. Updates themselves are not shown.
func (r *recorded) current(d runs.OutputData) (shown runs.OutputData, any bool, err error) {
	if d.DisplayID == "" {
		return d, d.Type != runs.OutputUpdate, nil
	}
	if r.displays == nil {
		if err := r.readDisplays(); err != nil {
			return d, false, err
		}
	}
	if d.Type == runs.OutputUpdate {
		return d, false, nil
	}
	last := r.displays[d.DisplayID]
	last.Type = d.Type
	return last, true, nil
}

// readDisplays finds the last result under each display id.
func (r *recorded) readDisplays() error {
	r.displays = map[string]runs.OutputData{}
	for _, rec := range r.steps {
		if rec.Finished == nil {
			continue
		}
		list, err := r.list(rec.Finished)
		if err != nil {
			return err
		}
		for _, d := range list {
			if d.DisplayID == "" {
				continue
			}
			if d.File != "" { // as any step's folder sees it
				d.File = path.Join("..", path.Base(stepDir(rec)), d.File)
			}
			r.displays[d.DisplayID] = d
		}
	}
	return nil
}
