//go:build unix

package kernel

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"

	"markmill/notebooks/codec"
	"markmill/runs"
)

// counted counts what goes through it.
type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.w.Write(p)
}

// fileOutputs is where the driver of Python tells of results, a line each.
const fileOutputs = "outputs"

// toldOutput is such a line: a result, how much of standard output the interpreter had printed before it, and how much
// the result itself. What programs print that the interpreter starts is not counted there; it comes late.
type toldOutput struct {
	At      int64           `json:"at"`
	Printed int64           `json:"printed"`
	Output  runs.OutputData `json:"output"`
}

// readOutputs puts the results and the streams in their order. Nobody knows the order of the two streams: errors
// come last, as most often they do.
func (s codeSession) readOutputs(told bool, failed *ExecError, stdout, stderr int64) ([]runs.OutputData, error) {
	list := []runs.OutputData{}
	at := int64(0)
	put := func(kind, name string, n int64) {
		if n > 0 {
			list = append(list, runs.OutputData{Type: kind, Name: name, Bytes: n})
		}
	}
	if told {
		raw, err := os.ReadFile(s.path(fileOutputs))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		os.Remove(s.path(fileOutputs))
		for line := range bytes.Lines(raw) {
			var o toldOutput
			if err := codec.UnmarshalForeign(line, &o); err != nil {
				return nil, err
			}
			begin := min(max(o.At, at), stdout)
			put(runs.OutputStream, "stdout", begin-at)
			list = append(list, o.Output)
			end := min(begin+max(o.Printed, 0), stdout)
			put(runs.OutputCleared, "stdout", end-begin)
			at = end
		}
	}
	put(runs.OutputStream, "stdout", stdout-at)
	if failed == nil {
		put(runs.OutputStream, "stderr", stderr)
		return list, nil
	}
	text := int64(len(failed.Traceback)) // it is the last that was printed, unless the author's hook has printed another
	if text > stderr {
		text = 0
	}
	put(runs.OutputStream, "stderr", stderr-text)
	list = append(list, runs.OutputData{Type: runs.OutputError, Ename: failed.Name, Evalue: failed.Value,
		Traceback: jupyterTraceback(failed.Traceback)})
	put(runs.OutputCleared, "stderr", text)
	return list, nil
}
