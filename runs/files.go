package runs

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// Names of the files of a run directory. The source notebook's is RunStartedData.SourceFile.
const (
	JournalFile    = "events.jsonl"
	OutputFile     = "output.md" // of a Markdown notebook; see Run.OutputFile
	ReportFile     = "report.json"
	ReportPageFile = "report.md"
	ArtifactsDir   = "artifacts" // with the files that artifacts: names, by their paths
	PatchFile      = "patch.diff"
	TestLogFile    = "test.log"
	TraceFile      = "trace.jsonl"
	EndingPrefix   = "ending-"     // in a step's folder; see Run.Endings
	ResultFile     = "result.json" // of a step
	BundleFile     = "commits.bundle"
	SumsFile       = "SHA256SUMS"
	// SumsSignatureFile is the SSH signature of SHA256SUMS, where one is configured. SHA256SUMS does not list it.
	SumsSignatureFile = "SHA256SUMS.sig"
	RequestFile       = "approval-request.json" // when an approval is required
	ApprovalFile      = "approval.json"         // the answer that was found
	SignatureFile     = "approval.json.sig"     // of a signed one
	// the allowed_signers it was checked with; the second is approval.signers.2
	SignersFile = "approval.signers"
	StepsDir    = "steps"
	// RerunFile says what differed from the run that this one repeats. It is written after the run, as decisions are.
	RerunFile = "rerun.json"
	LockFile  = ".lock" // there while the run is alive; it is no part of the record
)

// WriteFile writes a whole file: a reader finds the old bytes or the new ones and never a part, also after a crash. A
// file that is there keeps its mode. WriteFile makes no folder, and does not wait for the disk.
func WriteFile(path string, data []byte) error {
	return WriteStream(path, func(w io.Writer) error { _, err := w.Write(data); return err })
}

// WriteStream is WriteFile for bytes that write writes one after the other.
func WriteStream(path string, write func(w io.Writer) error) error {
	temp, err := os.CreateTemp(filepath.Dir(path), TempPrefix+"*")
	if err != nil {
		return cannotWrite(path, err)
	}
	if err = fill(temp, path, write); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return cannotWrite(path, errors.Join(err, os.Remove(temp.Name())))
	}
	return nil
}

// fill writes a file that is to replace the one at path, gives it the mode of that one, and closes it.
func fill(file *os.File, path string, write func(w io.Writer) error) error {
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return errors.Join(write(file), file.Chmod(mode), file.Close())
}

// Create creates a file that must not exist yet. It takes a third of the system calls of os.OpenFile, which registers
// each file with the poller.
func Create(path string) (*os.File, error) {
	fd, err := syscall.Open(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// WriteNewFile writes a file that must not exist yet, with fewer system calls than WriteFile. A crash may leave a part
// of it; an error leaves nothing.
func WriteNewFile(path string, data []byte) error {
	f, err := Create(path)
	if err != nil {
		return cannotWrite(path, err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return cannotWrite(path, errors.Join(err, os.Remove(path)))
	}
	return nil
}

// LeakNote replaces the content of a file that showed the value of a secret. Its digest is recorded like any other.
const LeakNote = "Left out: the value of a secret stood here.\n"

// TempPrefix begins the names of files that are being written. One that a crash left is no part of the record.
const TempPrefix = ".tmp-"

// StagedName is the name of the temporary file beside an output of this name, while the run goes on. It follows from
// both alone.
func StagedName(name string, id RunID) string {
	const digits = 12 // enough for the files of one run in one folder
	return TempPrefix + string(id) + "-" + DigestOf([]byte(filepath.Base(name))).Hex()[:digits]
}

// StagedBy is the run that staged a file of this name, "" if none did.
func StagedBy(name string) RunID {
	rest, ok := strings.CutPrefix(name, TempPrefix)
	end := strings.LastIndexByte(rest, '-')
	if id := RunID(rest[:max(end, 0)]); ok && id.Valid() {
		return id
	}
	return ""
}

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
