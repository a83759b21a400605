package cmdtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// marimoCells prints the cells that marimo makes of its own tutorials, and of the Markdown that it makes of them, and
// the cells of the Jupyter notebooks that Markmill makes of the same files.
const marimoCells = `
import glob, json, marimo, os, subprocess, sys
from marimo._ast.load import load_app
from marimo._convert.converters import MarimoConvert
from marimo._convert.ipynb.from_ir import convert_from_ir_to_ipynb
from marimo._ast.app import InternalApp
markmill, folder = sys.argv[1:]
def cells(book, code_only):
    return [[c["cell_type"], "".join(c["source"]).strip()] for c in book["cells"]
        if not code_only or c["cell_type"] == "code" and not "".join(c["source"]).startswith("mo.md(")]
def theirs(path, name):
    return json.loads(convert_from_ir_to_ipynb(InternalApp(load_app(path)), sort_mode="top-down"))
def ours(path):
    subprocess.run([markmill, "convert", path, path + ".ipynb"], check=True, stderr=subprocess.DEVNULL)
    return json.load(open(path + ".ipynb"))
tutorials = os.path.join(os.path.dirname(marimo.__file__), "_tutorials")
out = {}
for source in sorted(glob.glob(tutorials + "/[a-z]*.py")) + sorted(glob.glob(folder + "/*.py")) + [tutorials + "/markdown_format.md"]:
    name = os.path.basename(source)
    text = open(source).read()
    files = {name: text}
    if name.endswith(".py"):
        files[name + ".md"] = MarimoConvert.from_py(text).to_markdown(name)
    for name, text in files.items():
        path = os.path.join(folder, name)
        open(path, "w").write(text)
        md = name.endswith(".md")
        out[name] = [cells(theirs(path, name), md), cells(ours(path), md)]
print(json.dumps(out))
`

// marimoByHand has what the tutorials have not.
const marimoByHand = `import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium")

with app.setup(hide_code=True):
    import os


@app.cell
def _():
    import marimo as mo
    text = """
    indented
@app.cell
    """
    return mo, text


@app.cell(
    hide_code=True,
    disabled=True,
)
async def named(
    mo,
    text,
):
    mo.md(f"""{text}""")
    (
        text
    )
    return (
        x,
        y,
    )


app._unparsable_cell(
    r"""
    if:
    """,
    name="broken"
)


@app.function(hide_code=True)
def double(a):
    return 2 * a


@app.class_definition
class C:
    a = 1


@app.cell
def _():
    return


if __name__ == "__main__":
    app.run()
`

// marimo: the cells of its notebooks are those that it has itself.
func (p peers) marimo(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "byhand.py"), marimoByHand)
	var all map[string][2][][2]string
	if err := json.Unmarshal(command(t, "", p.python, "-c", marimoCells, p.markmill, dir), &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Errorf("only %d files", len(all))
	}
	for name, cells := range all {
		want, got := cells[0], cells[1]
		if len(want) != len(got) {
			t.Errorf("%s has %d cells, and markmill reads %d\n%q\n%q", name, len(want), len(got), want, got)
			continue
		}
		for i := range want {
			if strings.Contains(want[i][1], "mo.sql(") { // which marimo formats
				want[i][1], got[i][1] = strings.Join(strings.Fields(want[i][1]), ""),
					strings.Join(strings.Fields(got[i][1]), "")
			}
			if want[i] != got[i] {
				t.Errorf("%s, cell %d: marimo has\n%q\nand markmill\n%q", name, i+1, want[i], got[i])
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "intro.py")); err != nil {
		t.Error(err)
	}
}
