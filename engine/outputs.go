package engine

import (
	"bytes"
	"maps"
	"path"
	"path/filepath"
	"slices"

	"markmill/engine/kernel"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
	"markmill/runs"
	"markmill/runs/scrapbook"
)

// jupyter reports whether the notebook is a Jupyter notebook.
func (p *Plan) jupyter() bool { return p.notebook.Form == ipynb.Form }

// ordered reports whether an output notebook is a Jupyter notebook, which keeps the order and all forms of results.
func (p *Plan) ordered() bool { return p.jupyter() || p.request.OutputForm == ipynb.Form }

// writeOutputs records the results of a step in their order, besides its streams.
func (r *run) writeOutputs(step notebooks.StepID, dir string, out kernel.Outcome, streams [2]*stream,
	done *runs.StepFinishedData) error {
	if !r.plan.ordered() {
		return nil
	}
	list := masked(out.Outputs, streams)
	if list == nil {
		list = unorderedOutputs(out, done)
	}
	if len(list) == 0 {
		return nil
	}
	kept := map[string]string{} // a name that showed a secret was replaced
	for i, d := range out.Displays {
		kept[d.File] = path.Base(done.Displays[i].File)
	}
	var b bytes.Buffer
	for _, o := range list {
		if o.File != "" {
			o.File = kept[o.File]
		}
		o, err := r.withoutHidden(o)
		if err != nil {
			return err
		}
		if o.Type == runs.OutputDisplay && o.File == "" && len(o.Data) == 0 {
			continue
		}
		line, err := r.rec.clean(o)
		if err != nil {
			return err
		}
		b.WriteString(r.rec.hide(step, "result", string(line)))
		b.WriteByte('\n')
	}
	file, err := r.rec.keep(path.Join(filepath.ToSlash(dir), runs.OutputsFile), b.Bytes())
	if err != nil {
		return err
	}
	done.Outputs = runs.StreamData{File: file.File, Bytes: int64(b.Len()), Digest: file.Digest}
	return nil
}

// withoutHidden removes packed tables from an output if they show a secret once unpacked. The scrap is masked and
// appears in the output notebook like one that was glued.
func (r *run) withoutHidden(o runs.OutputData) (runs.OutputData, error) {
	if r.plan.mask == nil || !scrapbook.Holds(o.Data, o.Metadata) {
		return o, nil
	}
	for mime, raw := range o.Data {
		for _, s := range scrapbook.Read(map[string]codec.Raw{mime: raw}, nil) {
			if s.Type != runs.ScrapTable {
				continue
			}
			clean, err := r.plan.mask.JSON(s.Value, true)
			if err != nil {
				return o, err
			}
			if !scrapbook.Same(clean, s.Value) {
				o.Data = maps.Clone(o.Data)
				delete(o.Data, mime)
			}
		}
	}
	return o, nil
}

// masked adjusts the byte counts of the streams to their files, in which secrets are masked; nil if that is not
// possible.
func masked(list []runs.OutputData, streams [2]*stream) []runs.OutputData {
	var raw, written [2]int64
	for i := range list {
		o := &list[i]
		if o.Type != runs.OutputStream && o.Type != runs.OutputCleared {
			continue
		}
		which := slices.Index(streamNames, o.Name)
		raw[which] += o.Bytes
		at, known := streams[which].at(raw[which])
		if !known {
			return nil
		}
		o.Bytes, written[which] = at-written[which], at
	}
	return list
}

// unorderedOutputs are the outputs of a kernel that does not report their order: the whole streams, then the results.
func unorderedOutputs(out kernel.Outcome, done *runs.StepFinishedData) []runs.OutputData {
	var list []runs.OutputData
	for i, s := range []runs.StreamData{done.Stdout, done.Stderr} {
		if s.Bytes > 0 {
			list = append(list, runs.OutputData{Type: runs.OutputStream, Name: streamNames[i], Bytes: s.Bytes})
		}
	}
	for _, d := range out.Displays {
		o := runs.OutputData{Type: runs.OutputDisplay, File: d.File, MIME: d.MIME}
		if alt, err := codec.Marshal(d.Alt); err == nil && d.Alt != "" {
			o.Data = map[string]codec.Raw{"text/plain": alt}
		}
		list = append(list, o)
	}
	return list
}
