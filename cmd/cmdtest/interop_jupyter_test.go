package cmdtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// cellsOf prints, for each notebook, what a reader sees of its cells; nbformat has validated it. Streams that came in
// pieces are one.
const cellsOf = `
import json, sys, nbformat
files = []
for path in sys.argv[1:]:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = []
    for cell in notebook.cells:
        outputs = []
        for output in cell.get("outputs", []):
            output = dict(output)
            if outputs and output["output_type"] == "stream" == outputs[-1]["output_type"] and output["name"] == outputs[-1]["name"]:
                outputs[-1]["text"] += output["text"]
            else:
                outputs.append(output)
        tags = cell.metadata.get("tags") or []
        note = cell.metadata.get("papermill", {})
        mark = "papermill-error-cell-tag" in tags
        cells.append({"type": cell.cell_type, "source": "" if mark else cell.source, "count": cell.get("execution_count"), "outputs": outputs, "tags": tags,
                      "status": None if mark else note.get("status"), "exception": None if mark else note.get("exception")})
    files.append(cells)
json.dump(files, sys.stdout)
`

// jupyterCases are notebooks whose outputs must be papermill's: sources of cells, and options. A # in front of a source
// gives tags.
var jupyterCases = []struct {
	name  string
	cells []string
	args  []string
	fails bool
}{
	{"values", []string{"#parameters\nx = 0\nwho = 'a'", "print(x, who)", "x * 2"},
		[]string{"-p", "x", "21", "-p", "who", "it's"}, false},
	{"order",
		[]string{
			"import sys\nfrom IPython.display import display, HTML, Markdown\nprint('one')\n" +
				"display(HTML('<b>x</b>'))\nprint('two', file=sys.stderr)\ndisplay(Markdown('*m*'), 3)\n" +
				"print('three')\n{'a': [1, 2]}"}, nil, false},
	{"error", []string{"#parameters\nx = 0", "print('a')", "1/0", "print('never')"}, []string{"-p", "x", "1"}, true},
	{"clear and update",
		[]string{"from IPython.display import display, clear_output\nprint('gone')\nclear_output()\nprint('kept')",
			"h = display('first', display_id='d')\nh.update('second')\nprint('after')"}, nil, false},
	{"update of an earlier cell",
		[]string{"from IPython.display import display, HTML\nh = display('first', display_id='d')\nprint('x')",
			"h.update(HTML('<b>second</b>'))\nprint('y')",
			"display(3, display_id='d')\ndisplay('other', display_id='e')",
			"from IPython.display import update_display\nupdate_display('nobody shows it', display_id='f')\n" +
				"update_display('last', display_id='e', metadata={'m': 1})"}, nil, false},
	{"clear and wait",
		[]string{
			"from IPython.display import display, clear_output\nfor i in range(3):\n    clear_output(wait=True)\n    " +
				"print(i)\n    display(i)", "print('kept')\nclear_output(wait=True)",
			"print('a')\nclear_output()"}, nil, false},
	{"comm",
		[]string{
			"from comm import create_comm\nc = create_comm(target_name='of.ours', data={'a': 1})\nc.send({'method': " +
				"'update'})\nc.close()\nprint('sent')",
			"from IPython.display import display\ndisplay({'text/plain': 'IntSlider(value=0)', " +
				"'application/vnd.jupyter.widget-view+json': {'model_id': 'm', 'version_major': 2, 'version_minor': " +
				"0}}, raw=True)"}, nil, false},
	{"input", []string{"print('a')\ninput('who? ')", "print('never')"}, nil, true},
	{"bundle",
		[]string{
			"class R:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n        return {'text/plain': " +
				"'r', 'application/vnd.x+json': {'n': 1.50}, 'text/html': '<i>\\n</i>'}, {'text/html': {'isolated': " +
				"True}}\nR()"}, nil, false},
	{"picture",
		[]string{
			"from IPython.display import Image, SVG, JSON, display\nimport base64\ndisplay(SVG('<svg " +
				"xmlns=\"http://www.w3.org/2000/svg\"/>'))\n" +
				"Image(base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ" +
				"AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='))",
			"JSON({'b': 1, 'a': [None]})"}, nil, false},
	{"text", []string{"print('\\x1b[31mred\\x1b[0m \\r\\n\\x00 é 漢 \\U0001F600')", "", "   ", "'\\u2028' + chr(0x7f)",
		"import sys; sys.stdout.write('no newline')"}, nil, false},
	{"magics", []string{"%%bash\necho hi", "!echo there", "%env X=1",
		"import warnings; warnings.warn('w', stacklevel=99)"}, nil, false},
	{"skipped", []string{"#skip-execution\nprint('no')", "print('yes')"}, nil, false},
}

func jupyterNotebook(cells []string) string {
	var list []any
	for i, text := range cells {
		meta := map[string]any{}
		if strings.HasPrefix(text, "#") {
			tag, rest, _ := strings.Cut(text[1:], "\n")
			meta["tags"], text = []string{tag}, rest
		}
		list = append(list, map[string]any{"cell_type": "code", "id": "cell" + string(rune('a'+i)), "metadata": meta,
			"outputs": []any{}, "execution_count": nil, "source": text})
	}
	b, err := json.MarshalIndent(map[string]any{"cells": list, "nbformat": 4, "nbformat_minor": 5,
		"metadata": map[string]any{"kernelspec": map[string]any{"name": "python3", "language": "python",
			"display_name": "Python 3"}}}, "", " ")
	if err != nil {
		panic(err)
	}
	return string(b)
}

// jupyter runs the same notebooks with papermill and with Markmill over the same kernel: each cell must show the same.
// What Markmill wrote is valid nbformat, papermill takes it as an input, and strip gives the source back.
func (p peers) jupyter(t *testing.T) {
	dirs, codes := make([]string, len(jupyterCases)), make([]int, len(jupyterCases))
	var first, again []*papermillJob
	var outputs []string
	for i, c := range jupyterCases {
		dir := t.TempDir()
		dirs[i] = dir
		write(t, filepath.Join(dir, "in.ipynb"), jupyterNotebook(c.cells))
		job := func(name, source string) *papermillJob {
			return &papermillJob{Dir: dir, Log: filepath.Join(dir, name+".log"),
				Args: slices.Concat([]string{"--no-progress-bar", source, name + ".ipynb"}, c.args)}
		}
		first, again = append(first, job("papermill", "in.ipynb")), append(again, job("again", "markmill.ipynb"))
		outputs = append(outputs, filepath.Join(dir, "papermill.ipynb"), filepath.Join(dir, "markmill.ipynb"))
	}
	p.papermill(t, os.Environ(), first)
	atOnce(len(dirs), func(i int) {
		args := slices.Concat([]string{"run", "--no-progress-bar", "-k", "jupyter:python3", "in.ipynb",
			"markmill.ipynb"},
			jupyterCases[i].args)
		codes[i] = exitCode(dirs[i], filepath.Join(dirs[i], "markmill.log"), os.Environ(), p.markmill, args...)
	})
	for i, c := range jupyterCases {
		for name, code := range map[string]int{"papermill": first[i].code, "markmill": codes[i]} {
			if (code != 0) != c.fails {
				t.Fatalf("%s: %s ends with %d:\n%s", c.name, name, code, readLog(filepath.Join(dirs[i], name+".log")))
			}
		}
	}
	p.papermill(t, os.Environ(), again)
	var read [][]json.RawMessage
	if err := json.Unmarshal(command(t, "", p.python, append([]string{"-c", cellsOf}, outputs...)...),
		&read); err != nil {
		t.Fatal(err)
	}
	for n, c := range jupyterCases {
		t.Run(c.name, func(t *testing.T) {
			dir, theirs, ours := dirs[n], read[2*n], read[2*n+1]
			output := filepath.Join(dir, "markmill.ipynb")
			command(t, dir, p.markmill, "verify", output)
			if len(theirs) != len(ours) {
				t.Fatalf("papermill left %d cells, markmill %d", len(theirs), len(ours))
			}
			for i := range theirs {
				if want, got := strings.ReplaceAll(string(theirs[i]), dir, "."),
					strings.ReplaceAll(string(ours[i]), dir, "."); want != got {
					t.Errorf("cell %d:\npapermill %s\nmarkmill  %s", i+1, want, got)
				}
			}
			if (again[n].code != 0) != c.fails {
				t.Errorf("papermill ends with %d when it is given what Markmill left:\n%s", again[n].code,
					readLog(again[n].Log))
			}
			command(t, dir, p.markmill, "notebook", "strip", output)
			if got, err := os.ReadFile(output); err != nil || string(got) != jupyterNotebook(c.cells) {
				t.Errorf("strip does not give the source back: %v\n%s", err, got)
			}
		})
	}
}
