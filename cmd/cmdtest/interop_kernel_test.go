package cmdtest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const dyingNotebook = "---\nkernel: jupyter:python3\n---\n```yaml {.parameters}\nn: 3\n```\n\n" +
	"```python {#a}\nkept = 1\n```\n\n" +
	"```python {#dies .allow-failure}\nprint('last'); import os; os.kill(os.getpid(), 9)\n```\n\n" +
	"```python {#after}\nprint('kept' in globals(), n)\n```\n"

// kernelEnds runs a notebook whose kernel dies in a step that may fail: the run fails there, as nbclient does.
func (p peers) kernelEnds(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.md"), dyingNotebook)
	if _, words, err := finished(t, dir, p.markmill, "run", "a.md", "out.md", "-p", "n", "4",
		"--no-progress-bar"); err == nil ||
		!bytes.Contains(words, []byte("step_failed: step dies: the interpreter was ended by signal KILL")) {
		t.Errorf("%v\n%s", err, words)
	}
	out, err := os.ReadFile(filepath.Join(dir, "out.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"step dies did not pass", "ended by signal KILL"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	command(t, dir, p.markmill, "verify", "out.md")
}

// checks reports checks over ipykernel, from its code and from a program that it starts, and one that fails.
func (p peers) checks(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.md"), "---\nkernel: jupyter:python3\n---\n"+
		"```python {#code .check}\ncheck('code', 'warn', 81, '%', 'half')\n```\n\n"+
		"```python {#program .check}\nimport subprocess\n"+
		"subprocess.run(['check', 'program', 'ok', '--value', '3'], check=True)\n```\n\n"+
		"```python {#fails .check}\n1/0\n```\n")
	if _, words, err := finished(t, dir, p.markmill, "run", "a.md", "--no-progress-bar"); err == nil {
		t.Errorf("the run passed:\n%s", words)
	}
	got := command(t, dir, p.markmill, "list", "--format", "csv", "--query",
		"SELECT name, state, value, message FROM checks WHERE run_id = (SELECT max(run_id) FROM checks) ORDER BY name")
	want := "name,state,value,message\ncode,warn,81,half\n" +
		"fails,error,,ZeroDivisionError: division by zero\nprogram,ok,3,\n"
	if string(got) != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// figureCells make figures without a magic. Each leaves what it leaves in papermill, over ipykernel and built in.
const figureCells = `
import sys, nbformat
from nbformat import v4
def notebook(path):
    nbformat.write(v4.new_notebook(cells=[v4.new_code_cell(s) for s in (
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])",
        "plt.subplots()[1].plot([1, 2]);",
        "import pandas as pd\npd.DataFrame({'a': [1, 2]}).plot()",
        "import seaborn as sns\nsns.lineplot(x=[1, 2], y=[3, 4])",
        "import plotly.graph_objects as go\ngo.Figure(go.Bar(y=[1, 2]))",
        "go.Figure(go.Bar(y=[1, 2])).show()",
        "plt.plot([1, 2]); plt.show()\nprint('after')",
        "plt.figure(); plt.plot([3, 1]); plt.figure(); plt.plot([1, 3])",
    )], metadata={"kernelspec": {"name": "python3", "display_name": "P", "language": "python"}}), path)
def outputs(path):
    return [[(o.output_type, sorted(o.get("data", {})), o.get("text")) for o in c.outputs] for c in nbformat.read(path, 4).cells]
if len(sys.argv) == 2:
    notebook(sys.argv[1])
else:
    for path in sys.argv[2:]:
        if outputs(path) != outputs(sys.argv[1]):
            print(path, outputs(path), "and papermill's", outputs(sys.argv[1]))
    print(str(outputs(sys.argv[1])).count("image/png"), str(outputs(sys.argv[1])).count("plotly"))
`

// figures: those of matplotlib, pandas, seaborn and plotly are shown as papermill shows them.
func (p peers) figures(t *testing.T) {
	dir := t.TempDir()
	command(t, dir, p.python, "-c", figureCells, "in.ipynb")
	command(t, dir, p.python, "-m", "papermill", "--no-progress-bar", "in.ipynb", "papermill.ipynb")
	command(t, dir, p.markmill, "run", "--no-progress-bar", "-k", "jupyter:python3", "in.ipynb", "jupyter.ipynb")
	command(t, dir, p.markmill, "run", "--no-progress-bar", "-k", "python3", "in.ipynb", "plain.ipynb")
	got := string(command(t, dir, p.python, "-c", figureCells, "papermill.ipynb", "jupyter.ipynb", "plain.ipynb"))
	if got != "7 2\n" {
		t.Error(got)
	}
}
