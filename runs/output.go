package runs

import (
	"bytes"
	"encoding/base64"
	"slices"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// OutputsFile is the file of a step with its outputs in order, one OutputData per line. Steps of runs that write a
// Jupyter notebook have one.
const OutputsFile = "outputs.jsonl"

const jupyterOutput = "output.ipynb"

// OutputFile returns the name of the output notebook in the record: of the form of the source.
func (r *Run) OutputFile() string { return OutputFor(r.Started.SourceFile) }

// OutputFiles returns the names of the output notebooks of a run: of the form of the source, and of the form that was
// asked for if that is another. They are in the record, except those for which Left is not nil.
func (r *Run) OutputFiles() []string {
	names := []string{r.OutputFile()}
	if r.Started.OutputForm != "" {
		names = append(names, otherOutput(names[0]))
	}
	return names
}

// Left returns what the journal says of an output notebook that the record does not keep; nil if the record keeps it.
func (r *Run) Left(name string) *LeftOutput {
	if r.Completed == nil {
		return nil
	}
	i := slices.IndexFunc(r.Completed.Outputs, func(o LeftOutput) bool { return o.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Completed.Outputs[i]
}

// CanLeave reports whether the record can do without the output notebooks: one of them is a Jupyter notebook, which is
// as large as all that the steps printed, and OUTPUT is a file. A run that was interrupted, or that showed a secret,
// keeps them.
func (r *Run) CanLeave() bool {
	return slices.Contains(r.OutputFiles(), jupyterOutput) && r.Started.LocalOutput() != "" &&
		r.Status() != Interrupted && r.Status() != Running && !reports(r, CodeSecretLeaked)
}

// otherOutput returns the name of the output notebook of the other form.
func otherOutput(name string) string {
	if name == jupyterOutput {
		return OutputFile
	}
	return jupyterOutput
}

// OutputFor returns the OutputFile of a run whose source notebook has this name in the record.
func OutputFor(source string) string {
	if notebooks.IsJupyterName(source) {
		return jupyterOutput
	}
	return OutputFile
}

// Types of OutputData, as in nbformat.
const (
	OutputStream  = "stream"
	OutputDisplay = "display_data"
	OutputResult  = "execute_result"
	OutputError   = "error"
	OutputUpdate  = "update_display_data" // a result that replaces those of earlier steps with its DisplayID
	OutputWidget  = "widget"              // the whole state of the widget with the id Name, if the step changed it
	OutputCleared = "cleared"             // bytes of a stream that the step asked to be cleared, or printed elsewhere
)

// OutputData is one output of a step. The bytes of streams are in the raw streams, and rich results in their files:
// this is their order, and what else is known of them.
type OutputData struct {
	Type string `json:"type"`
	Name string `json:"name,omitzero"` // stream: stdout, stderr; widget: its id
	// Bytes is the number of the next bytes of the stream; of other types, how many bytes of the stream Name repeat
	// what the interpreter printed.
	Bytes     int64                `json:"bytes,omitzero"`
	File      string               `json:"file,omitzero"` // display-<k>.<ext> in the step's folder, of the MIME type
	MIME      string               `json:"mime,omitzero"`
	Column    int                  `json:"column,omitzero"` // where the kernel broke the lines of its base64; 0 nowhere
	Data      map[string]codec.Raw `json:"data,omitempty"`  // the other MIME types of the result; widget: its state
	Metadata  map[string]codec.Raw `json:"metadata,omitempty"`
	Buffers   []WidgetBuffer       `json:"buffers,omitempty"`   // widget: the binary part of its state
	DisplayID string               `json:"display_id,omitzero"` // by which later results may replace it
	Ename     string               `json:"ename,omitzero"`
	Evalue    string               `json:"evalue,omitzero"`
	Traceback []string             `json:"traceback,omitempty"`
}

// WidgetBuffer is a binary value of a widget's state, as Jupyter writes it into a notebook.
type WidgetBuffer struct {
	Data     string    `json:"data"` // in base64
	Encoding string    `json:"encoding"`
	Path     codec.Raw `json:"path"`
}

// Base64 returns a content in base64, with a line break after each column characters, and none at its end.
func Base64(content []byte, column int) string {
	text := base64.StdEncoding.EncodeToString(content)
	if column <= 0 {
		return text
	}
	lines := slices.Collect(slices.Chunk([]byte(text), column))
	return string(bytes.Join(lines, []byte("\n")))
}
