package retest

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
	"markmill/render/compare"
)

// promote replaces the stored output by the new one. It refuses when a step has a marker that only a test obeys:
// the new output would differ from that of a run.
func (n *Notebook) promote() error {
	for _, s := range n.view.Notebook.Steps {
		if n.job.own() && n.job.output.foreign() {
			break // only what a test compares is written
		}
		if m := s.Markers(); m.Skip || m.Raises {
			return fmt.Errorf(
				"%s: step %q has a marker of nbval (NBVAL_SKIP, NBVAL_RAISES_EXCEPTION) that only a test obeys; "+
					"write the output with markmill run, or use the tags skip and raises-exception",
				n.job.place(s.Line), s.ID)
		}
	}
	to := n.job.target()
	if before, err := os.ReadFile(to); err == nil && (!n.job.hasOutput() || !bytes.Equal(before, n.job.output.raw)) {
		return fmt.Errorf("%s: changed while the test ran; it is left as it is", slashed(to))
	}
	if n.job.refused != nil {
		return n.job.refused
	}
	if n.view.Notebook.Form != ipynb.Form { // a Jupyter notebook holds its pictures
		if err := views.WritePictures(n.view, n.job.opened.Beside); err != nil {
			return err
		}
	}
	if err := n.job.opened.Write(n.fresh); err != nil {
		return err
	}
	n.Status, n.Stored = Updated, slashed(to)
	return nil
}

// fresh is what the stored output would become. In a notebook that another program saved only the outputs of cells
// that differ change.
func (j *job) fresh(raw []byte, view engine.ViewInput, results []compare.Result) ([]byte, error) {
	switch {
	case view.Notebook.Form != ipynb.Form:
		return raw, nil
	case j.hasOutput() && j.own() && j.output.foreign():
		return j.output.withOutputs(raw, results)
	}
	if j.hasOutput() && j.own() && j.path == j.file.Path { // its source is not there, but is still its input
		return withInputPath(raw, papermillNote(j.output.jupyter, "input_path"))
	}
	return raw, nil
}

// withInputPath sets the path of the source that an output notebook names.
func withInputPath(raw []byte, input codec.Raw) ([]byte, error) {
	nb, err := ipynb.Parse("the output of the run", raw)
	if err != nil || len(input) == 0 {
		return raw, err
	}
	for _, m := range ipynb.Members(nb.Metadata) {
		if m.Name != "papermill" {
			continue
		}
		for _, note := range ipynb.Members(m.Value) {
			if note.Name == "input_path" {
				return ipynb.Apply(raw, []ipynb.Edit{{Span: note.Span, Text: string(input)}}), nil
			}
		}
	}
	return raw, nil
}

// withOutputs is the notebook with the outputs of the run in the cells that differ. Execution counts stay, where there
// are any. The state of widgets is that of the run, and so are the cells that show widgets.
func (s *stored) withOutputs(left []byte, results []compare.Result) ([]byte, error) {
	nb, err := ipynb.Parse("the output of the run", left)
	if err != nil {
		return nil, err
	}
	cells, err := nb.StepCells(false)
	if err != nil {
		return nil, err
	}
	changed := ipynb.Result{Cells: map[int]ipynb.CellResult{}}
	widgets := nb.Widgets() != nil
	if widgets {
		changed.Metadata = []ipynb.Setting{{Name: ipynb.KeyWidgets, Value: nb.Widgets()}}
	}
	for _, r := range results {
		isStep := func(c ipynb.StepCell) bool { return string(c.Step.ID) == r.Step }
		was, is := slices.IndexFunc(s.cells, isStep), slices.IndexFunc(cells, isStep)
		if was < 0 || is < 0 {
			continue
		}
		showsWidget := widgets && bytes.Contains(cells[is].Cell.OutputsAt.Raw, []byte(ipynb.WidgetView))
		if r.Verdict != compare.Different && !showsWidget {
			continue
		}
		count := s.cells[was].Cell.Count
		if !count.Given() {
			count = cells[is].Cell.Count
		}
		got, err := cells[is].Cell.ResultAs(count)
		if err != nil {
			return nil, err
		}
		place := slices.IndexFunc(s.jupyter.Cells, func(c ipynb.Cell) bool { return c.Span == s.cells[was].Cell.Span })
		changed.Cells[place] = got
	}
	return s.jupyter.With(changed)
}
