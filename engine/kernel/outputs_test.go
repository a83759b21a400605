//go:build unix

package kernel

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"markmill/runs"
)

func described(list []runs.OutputData) string {
	var out []string
	for _, o := range list {
		switch o.Type {
		case runs.OutputStream, runs.OutputCleared:
			out = append(out, fmt.Sprintf("%s %s %d", o.Type, o.Name, o.Bytes))
		case runs.OutputError:
			out = append(out, fmt.Sprintf("error %s %s %s", o.Ename, o.Evalue, o.Traceback[0]))
		default:
			var forms []string
			for mime, raw := range o.Data {
				forms = append(forms, mime+"="+string(raw))
			}
			slices.Sort(forms)
			out = append(out, strings.Join(append([]string{o.Type, o.File, o.MIME}, forms...), " "))
		}
	}
	return strings.Join(out, "\n")
}

// TestOrderOfOutputs: what Python prints and shows keeps its order, and the bytes of every stream are accounted for.
func TestOrderOfOutputs(t *testing.T) {
	h := startPython(t)
	ordered := func(r *Request) { r.Ordered = true }
	for _, c := range []struct{ code, want string }{
		{"pass", ""},
		{"1 + 1", "execute_result   text/plain=\"2\"\ncleared stdout 2"},
		{"print('é')\ndisplay(None, 'x')\nprint(1)\n{}",
			"stream stdout 3\ndisplay_data   text/plain=\"None\"\ncleared stdout 5\ndisplay_data   " +
				"text/plain=\"'x'\"\ncleared stdout 4\nstream stdout 2\nexecute_result   text/plain=\"{}\"\ncleared " +
				"stdout 3"},
		{"class R:\n  def _repr_html_(s): return '<b>'\n  def _repr_latex_(s): return '$'\n  def __repr__(s): return " +
			"'R'\nR()", `execute_result display-1.html text/html text/latex="$" text/plain="R"`},
		{"import sys\nprint('e', file=sys.stderr)\nprint('o')\n1/0",
			"stream stdout 2\nstream stderr 2\nerror ZeroDivisionError division by zero " +
				"\x1b[31m---------------------------------------------------------------------------\x1b[39m\n" +
				"cleared stderr"},
		{"import os\nos.system('echo late')\nNone", "stream stdout 5"},
	} {
		got := h.run(c.code, ordered)
		text := described(got.Outputs)
		if !strings.HasPrefix(text, c.want) || c.want == "" && text != "" {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", c.code, text, c.want)
		}
		bytes := map[string]int64{}
		for _, o := range got.Outputs {
			bytes[o.Name] += o.Bytes
		}
		if bytes["stdout"] != int64(len(got.stdout)) || bytes["stderr"] != int64(len(got.stderr)) {
			t.Errorf("%s: %v bytes told, %d and %d printed", c.code, bytes, len(got.stdout), len(got.stderr))
		}
	}
	if got := h.run("2"); got.Outputs != nil || got.stdout != "2\n" {
		t.Errorf("not asked for: %+v", got)
	}
}
