package cmdtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// widgetCells open the comms that widgets open, change one in a later cell, and show two.
var widgetCells = []string{
	"from comm import create_comm\nfrom IPython.display import display\n" +
		"def model(label, **state):\n    return create_comm(target_name='jupyter.widget', metadata={'version': " +
		"'2.1.0'}, data={'buffer_paths': [],\n" +
		"        'state': {'_model_name': label + 'Model', '_model_module': 'of.ours', '_model_module_version': " +
		"'2.0.0', 'label': label, **state}})\n" +
		"def show(c):\n    display({'text/plain': 'a widget', 'application/vnd.jupyter.widget-view+json': " +
		"{'model_id': c.comm_id, 'version_major': 2, 'version_minor': 0}}, raw=True)\n" +
		"layout = model('Layout')\nslider = model('Slider', value=3, ratio=1.0, layout='IPY_MODEL_' + " +
		"layout.comm_id)\nshow(slider)",
	"slider.send({'method': 'update', 'state': {'value': 9}, 'buffer_paths': []})\nslider.send({'method': 'custom', " +
		"'content': {'event': 'click'}})",
	"image = model('Image', format='png')\nimage.send({'method': 'update', 'state': {}, 'buffer_paths': " +
		"[['value']]}, buffers=[b'\\x89PNG'])\nshow(image)\n" +
		"other = create_comm(target_name='of.ours', data={'state': {'a': 1}})\nlayout.close()",
}

// widgetsOf prints the state of the widgets of notebooks, by their labels, and which a cell shows; nbformat has
// validated them.
const widgetsOf = `
import json, sys, nbformat
for path in sys.argv[1:]:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    widgets = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]
    text = json.dumps([widgets, [o.data["application/vnd.jupyter.widget-view+json"] for c in notebook.cells for o in c.outputs]], sort_keys=True)
    for name, model in widgets["state"].items():
        text = text.replace(name, model["state"]["label"])
    print(json.dumps(json.loads(text), sort_keys=True))
`

// ownOutput clears the outputs of a widget Output, which "with out:" makes of a comm, and not those of the cell.
const ownOutput = `from comm import create_comm
from IPython import get_ipython
from IPython.display import clear_output, display
out = create_comm(target_name="jupyter.widget", data={"state": {"_model_name": "OutputModel", "_model_module": "@jupyter-widgets/output", "msg_id": "", "outputs": []}, "buffer_paths": []})
def take(here):
    parent = get_ipython().kernel.get_parent()["header"]["msg_id"] if here else ""
    out.send({"method": "update", "state": {"msg_id": parent}, "buffer_paths": []})
print("before", flush=True); display("kept")
take(True); print("gone", flush=True); display("gone"); clear_output(); print("status", flush=True); take(False)
print("after", flush=True)
take(True); clear_output(wait=True); take(False); display("kept too")`

// clears: what papermill leaves in a cell that clears a widget Output is left here, and what the widget shows besides.
func (p peers) clears(t *testing.T, dir string) {
	write(t, filepath.Join(dir, "clears.ipynb"), jupyterNotebook([]string{ownOutput}))
	p.papermillOnce(t, dir, "clears.ipynb", "theirs.ipynb")
	command(t, dir, p.markmill, "run", "-k", "jupyter:python3", "--no-progress-bar", "clears.ipynb", "ours.ipynb")
	const texts = `import json, sys
for path in sys.argv[1:]:
    print("|".join("".join(o.get("text", o.get("data", {}).get("text/plain", ""))).strip().replace("\n", "|") for c in json.load(open(path))["cells"] for o in c.get("outputs", [])))`
	got := string(command(t, dir, p.python, "-c", texts, "theirs.ipynb", "ours.ipynb"))
	if want := "before|'kept'|after|'kept too'\nbefore|'kept'|status|after|'kept too'\n"; got != want {
		t.Errorf("papermill and then Markmill leave\n%swant\n%s", got, want)
	}
}

// widgets: the state of widgets is what papermill leaves of them, and the same to the byte when run again.
func (p peers) widgets(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	source := strings.Replace(jupyterNotebook(widgetCells), `"metadata": {`+"\n  \"kernelspec\"",
		`"metadata": {"widgets": {"application/vnd.jupyter.widget-state+json": {"state": {"old": {}}, "version_major": 2, "version_minor": 0}},`+"\n  \"kernelspec\"", 1)
	if !strings.Contains(source, `"old"`) {
		t.Fatal("the source has no state of earlier widgets")
	}
	write(t, at("in.ipynb"), source)
	p.papermillOnce(t, dir, "in.ipynb", "papermill.ipynb")
	var outputs [2]string
	for i := range outputs {
		command(t, dir, p.markmill, "run", "--no-progress-bar", "in.ipynb", "markmill.ipynb")
		command(t, dir, p.markmill, "verify", "markmill.ipynb")
		b, err := os.ReadFile(at("markmill.ipynb"))
		if err != nil {
			t.Fatal(err)
		}
		outputs[i] = string(b)
	}
	if outputs[0] != outputs[1] {
		t.Errorf("run again, the output is another:\n%s\n%s", outputs[0], outputs[1])
	}
	p.clears(t, dir)
	theirs, ours,
		_ := strings.Cut(strings.TrimSpace(string(command(t, dir, p.python, "-c", widgetsOf, "papermill.ipynb",
		"markmill.ipynb"))), "\n")
	if theirs != ours || !strings.Contains(ours, `"value": 9`) || !strings.Contains(ours, `"data": "iVBORw=="`) {
		t.Errorf("papermill %s\nmarkmill  %s", theirs, ours)
	}
	// An update of what papermill stored takes the state, and with it every cell that shows a widget.
	stored, err := os.ReadFile(at("papermill.ipynb"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, at("papermill.ipynb"), strings.Replace(string(stored), "a widget", "another", 1))
	command(t, dir, p.markmill, "test", "--update", "papermill.ipynb")
	if got := strings.TrimSpace(string(command(t, dir, p.python, "-c", widgetsOf, "papermill.ipynb"))); got != ours {
		t.Errorf("updated %s\nwant    %s", got, ours)
	}
	command(t, dir, p.markmill, "notebook", "strip", "markmill.ipynb")
	if got, err := os.ReadFile(at("markmill.ipynb")); err != nil || strings.Contains(string(got), "widget-state") {
		t.Errorf("strip leaves the state of widgets: %v\n%s", err, got)
	}
}
