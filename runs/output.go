package runs

import (
	"slices"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// OutputsFile is the file of a step that says what came of it in which order, a line each of OutputData. Steps of
// runs that leave a Jupyter notebook have one.
const OutputsFile = "outputs.jsonl"

const jupyterOutput = "output.ipynb"

// OutputFile is the name of the output notebook in the run directory: of the form of the source.
func (r *Run) OutputFile() string { return OutputFor(r.Started.SourceFile) }

// OutputFiles are the names of the output notebooks of a run: that of the form of the source, and one of the form that
// was asked for where it is another. They stand in the run directory, but for those that Left gives.
func (r *Run) OutputFiles() []string {
	names := []string{r.OutputFile()}
	if r.Started.OutputForm != "" {
		names = append(names, otherOutput(names[0]))
	}
	return names
}

// Left is the output notebook of a name where the run directory does not keep it; nil where it does.
func (r *Run) Left(name string) *LeftOutput {
	if r.Completed == nil {
		return nil
	}
	for i := range r.Completed.Outputs {
		if o := &r.Completed.Outputs[i]; o.Name == name {
			return o
		}
	}
	return nil
}

// CanLeave says whether the run directory can do without the output notebooks: one of them is a Jupyter notebook, which
// is as large as all that the steps have printed, and OUTPUT is a file. A run that was interrupted, or that showed a
// secret, keeps them.
func (r *Run) CanLeave() bool {
	return slices.Contains(r.OutputFiles(), jupyterOutput) && r.Started.LocalOutput() != "" &&
		r.Status() != Interrupted && r.Status() != Running && !reports(r, CodeSecretLeaked)
}

// otherOutput is the name of the output notebook of the other form.
func otherOutput(name string) string {
	if name == jupyterOutput {
		return OutputFile
	}
	return jupyterOutput
}

// OutputFor is OutputFile of a run whose source notebook has a name in the run directory.
func OutputFor(source string) string {
	if notebooks.IsJupyterName(source) {
		return jupyterOutput
	}
	return OutputFile
}

// Types of OutputData: as nbformat calls them.
const (
	OutputStream  = "stream"
	OutputDisplay = "display_data"
	OutputResult  = "execute_result"
	OutputError   = "error"
	OutputUpdate  = "update_display_data" // a result that takes the place of those of earlier steps with its DisplayID
	OutputWidget  = "widget"              // the state of the widget with the id Name, whole, where a step has changed it
	OutputCleared = "cleared"             // bytes of a stream that the step has asked to be cleared, or printed in another place
)

// OutputData is one thing that came of a step. The bytes of streams stand in the raw streams, and rich results in their
// files: here is their order, and what else was said.
type OutputData struct {
	Type string `json:"type"`
	Name string `json:"name,omitzero"` // stream: stdout, stderr; widget: its id
	// Bytes are the next so many bytes of the stream; of other types those of Name in which the interpreter has printed
	// the same once more.
	Bytes     int64                `json:"bytes,omitzero"`
	File      string               `json:"file,omitzero"` // display-<k>.<ext> in the step's folder, of the MIME type
	MIME      string               `json:"mime,omitzero"`
	Data      map[string]codec.Raw `json:"data,omitempty"` // the other MIME types of the result; widget: its state
	Metadata  map[string]codec.Raw `json:"metadata,omitempty"`
	Buffers   []WidgetBuffer       `json:"buffers,omitempty"`   // widget: what of its state is bytes
	DisplayID string               `json:"display_id,omitzero"` // under which later results may take its place
	Ename     string               `json:"ename,omitzero"`
	Evalue    string               `json:"evalue,omitzero"`
	Traceback []string             `json:"traceback,omitempty"`
}

// WidgetBuffer is a value of a widget's state that is bytes, as Jupyter writes it into a notebook.
type WidgetBuffer struct {
	Data     string    `json:"data"` // in base64
	Encoding string    `json:"encoding"`
	Path     codec.Raw `json:"path"`
}
