package kernel

import (
	"bytes"
	"errors"
	"io/fs"
	"os"

	"markmill/notebooks/codec"
	"markmill/runs"
)

// reportedOutput is a line of the file of outputs: a result, how many bytes of standard output the interpreter had
// printed before it, and how many are the result's own. Output of programs that the interpreter starts is not counted;
// it is placed late.
type reportedOutput struct {
	At      int64           `json:"at"`
	Printed int64           `json:"printed"`
	Output  runs.OutputData `json:"output"`
}

// readOutputs puts results and streams in their order. The order of the two streams is not known: stderr comes last,
// as it mostly does.
func (d *script) readOutputs(reported bool, failed *ExecError, stdout, stderr int64) ([]runs.OutputData, error) {
	list := []runs.OutputData{}
	at := int64(0)
	put := func(kind, name string, n int64) {
		if n > 0 {
			list = append(list, runs.OutputData{Type: kind, Name: name, Bytes: n})
		}
	}
	if reported {
		raw, err := os.ReadFile(d.s.path(fileOuts))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		os.Remove(d.s.path(fileOuts))
		for line := range bytes.Lines(raw) {
			var o reportedOutput
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
	text := int64(len(failed.Traceback)) // printed last, unless the author's hook printed something else
	if text > stderr {
		text = 0
	}
	put(runs.OutputStream, "stderr", stderr-text)
	list = append(list, runs.OutputData{Type: runs.OutputError, Ename: failed.Name, Evalue: failed.Value,
		Traceback: jupyterTraceback(failed.Traceback)})
	put(runs.OutputCleared, "stderr", text)
	return list, nil
}
