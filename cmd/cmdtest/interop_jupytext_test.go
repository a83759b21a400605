package cmdtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"markmill/notebooks"
)

// jupytextTable prints Jupytext's own table of the scripts that it knows.
const jupytextTable = `
import json, sys
from jupytext.languages import _SCRIPT_EXTENSIONS
json.dump(_SCRIPT_EXTENSIONS, sys.stdout)
`

// otherNames are languages that have another name here.
var otherNames = map[string]string{"wolfram language": "wolfram"}

// languages: every extension of Jupytext's table is a script here, of the same language and with the same comments, and
// the other way around.
func (p peers) languages(t *testing.T) {
	var table map[string]struct {
		Language, Comment string
		End               string `json:"comment_suffix"`
	}
	if err := json.Unmarshal(command(t, "", p.python, "-c", jupytextTable), &table); err != nil {
		t.Fatal(err)
	}
	theirs := map[string]bool{}
	for ext, want := range table {
		got, ok := notebooks.LanguageOfScript("a" + ext)
		name := strings.ToLower(want.Language)
		if other := otherNames[name]; other != "" {
			name = other
		}
		if !ok || got.Name != name || got.Comment != want.Comment || got.CommentEnd() != want.End {
			t.Errorf("%s: %+v, and in Jupytext %+v", ext, got, want)
		}
		theirs[strings.ToLower(ext)] = true
	}
	for _, ext := range notebooks.ScriptExtensions() {
		if !theirs[ext] {
			t.Errorf("Jupytext does not know %s", ext)
		}
	}
	if len(table) < 40 {
		t.Errorf("Jupytext's table has %d extensions", len(table))
	}
}

const (
	jupytextMarkdown = "---\njupyter:\n  jupytext:\n    text_representation:\n      extension: .md\n" +
		"      format_name: markdown\n---\n\n"
	// kernelInComments is a header of Jupytext's that does not say which form the script has.
	kernelInComments = "# ---\n# jupyter:\n#   kernelspec:\n#     display_name: P\n#     language: python\n" +
		"#     name: python3\n# ---\n\n"
)

// byHand are files without a header of Jupytext's, or with one that is none.
var byHand = []struct{ name, text string }{
	{"magics.Rmd", "---\ntitle: T\n---\n\n```{python}\n# %matplotlib inline\nx = 1\n```\n\n```{r}\n" +
		"# cat of nine\n```\n"},
	{"html.Rmd", "<div class=\"a\">\n```{r plot, echo=FALSE}\nx <- 1\n```\n</div>\n\n" +
		"<b>\n```{python}\ny = 1\n```\n</b>\n"},
	{"list.Rmd", "# T\n\n- a list\n\n  ```{python}\n  x = 1\n  ```\n\n```{python}\ny = 1\n```\n"},
	{"list.md", "---\njupyter:\n  jupytext:\n    text_representation:\n      extension: .md\n" +
		"      format_name: markdown\n---\n\n- a list\n\n  ```python\n  x = 1\n  ```\n\n```python\ny = 1\n```\n"},
	{"html.md", "---\njupyter:\n  kernelspec:\n    name: python3\n    language: python\n    display_name: P\n---\n\n" +
		"<div>\n\n```python\ny = 1\n```\n\n</div>\n"},
	{"words.py", "# ---\n# just words\n# ---\n\n# %%\nx = 1\n"},
	{"items.py", "# ---\n# - a\n# - b\n# ---\n\n# %%\nx = 1\n"},
	{"list.lgt", "% ---\n% - a\n% ---\n\n% %%\nx.\n"},
	{"query.q", "/ %% [markdown]\n/ # T\n\n/ %%\nx:1\n"},
	{"cells.ml", "(* %% [markdown] *)\n(* # T *)\n\n(* %% name=\"a\" *)\nlet x = 1\n\n(* c *)\n"},
	{"light.sas", "/* # T */\n\n/* + */\ndata a;\n\nrun;\n\n/* + */\nproc x;\n"},
	{"light.py", "# # T\n#\n# words\n\nx = 1\n\n# + tags=[\"a\"]\ny = 2\n\n\ndef f():\n    return 1\n\n\n# -\n\n" +
		"# + [markdown] k=1\n# a\n#\n# - b\n# -\n\nfor i in x:\n    i\n\n    j\n# words at the end\n"},
	{"light.jl", "# T\n\n# +\nx = 1\n\ny = 2\n\n# +\nz = 3\n"},
	{"session.md", jupytextMarkdown + "```ipython\nIn [1]: x\n```\n\n```C\nint x;\n```\n\n```Python\nx\n```\n\n" +
		"```python\nx = 1\n```\n\n```html\n<b>x</b>\n```\n\n```python tags=[\"a\"]\ny\n```\n"},
	{"unnamed.py", kernelInComments + "# # T\n#\n# words\n\nx = 1\n\n" +
		"# + tags=[\"a\"]\ny = 2\n\n# %matplotlib inline\nz\n"},
	{"unnamed.jl", kernelInComments + "# # T\n\nx = 1\n\n# +\ny = 2\n\nz = 3\n"},
	{"marked.py", kernelInComments + "# %% [markdown]\n# # T\n\n# %%\n# %matplotlib inline\nx = 1\n"},
	{"hydrogen.py", kernelInComments + "# %%\n# %matplotlib inline\n%matplotlib inline\nx = 1\n"},
	{"colons.py", "# ---\n# one: two: three\n# ---\n\n# %%\nx = 1\n"},
	{"colons.light.py", "# ---\n# one: two: three\n" + kernelInComments[len("# ---\n"):] + "# # T\n\nx = 1\n"},
	{"raw.md", "---\ntitle: T\nkernelspec:\n  display_name: P\n  language: python\n  name: python3\njupytext:\n" +
		"  root_level_metadata_filter: -title\n---\n\n```{code-cell} ipython3\n1\n```\n"},
	{"cells.go", strings.ReplaceAll(kernelInComments, "#", "//") + "// %%\n//gonb:%%\nx := 1\n"},
}

// oddities: what Jupytext reads of these files, Markmill reads.
func (p peers) oddities(t *testing.T) {
	dir := t.TempDir()
	args := []string{"-c", jupytextCells}
	for _, file := range byHand {
		path := filepath.Join(dir, file.name)
		write(t, path, file.text)
		command(t, "", p.markmill, "convert", path, path+".ipynb")
		command(t, "", p.markmill, "check", "--show", path)
		args = append(args, "="+path, "ipynb="+path+".ipynb")
	}
	var read map[string]peerFile
	if err := json.Unmarshal(command(t, "", p.python, args...), &read); err != nil {
		t.Fatal(err)
	}
	for _, file := range byHand {
		t.Run(file.name, func(t *testing.T) {
			path := filepath.Join(dir, file.name)
			want, got := read[path], read[path+".ipynb"]
			if message := want.Error + got.Error; message != "" {
				t.Fatal(message)
			}
			sameCells(t, want.Cells, got.Cells, true)
			back := fmt.Sprintf("%s.back%s", path, filepath.Ext(path))
			command(t, "", p.markmill, "convert", path+".ipynb", back)
			if text := string(command(t, "", "cat", back)); text != file.text {
				t.Errorf("it comes back as\n%s", text)
			}
		})
	}
}

// pairedNotebook writes a notebook with outputs into each folder, and has Jupytext pair it.
const pairedNotebook = `
import nbformat, subprocess, sys
from nbformat import v4
for folder in sys.argv[2:]:
    out = lambda text: [v4.new_output("stream", name="stdout", text=text)]
    nb = v4.new_notebook(cells=[v4.new_markdown_cell("# T", id="t"), v4.new_code_cell("x = 1", id="a", metadata={"tags": ["a"], "scrolled": True}, execution_count=1, outputs=out("one")),
        v4.new_code_cell("y = 2", id="b", execution_count=2, outputs=out("two")), v4.new_code_cell("z = 3", id="c", execution_count=3, outputs=out("three"))],
        metadata={"kernelspec": {"name": "python3", "display_name": "P", "language": "python"}, "language_info": {"name": "python"}, "jupytext": {"formats": "ipynb," + sys.argv[1]}})
    nbformat.write(nb, folder + "/n.ipynb")
    subprocess.run([sys.executable, "-m", "jupytext", "--quiet", "--sync", folder + "/n.ipynb"], check=True)
`

// pairsOf prints what both sides of pairs hold: Jupytext's reader opens the text. Ids are those that had one before.
const pairsOf = `
import json, sys, jupytext, nbformat
for folder, name in zip(sys.argv[1::2], sys.argv[2::2]):
    book, text = nbformat.read(folder + "/n.ipynb", as_version=4), jupytext.read(folder + "/" + name)
    nbformat.validate(book)
    cells = [[c.cell_type, c.source, c.metadata, c.get("outputs"), c.get("execution_count"), c.id if len(c.id) == 1 else ""] for c in book.cells]
    print(json.dumps([cells, [[c.cell_type, c.source, c.metadata.get("tags")] for c in text.cells]], sort_keys=True))
`

// pairs: --sync leaves what jupytext --sync leaves, whichever side was edited.
func (p peers) pairs(t *testing.T) {
	for _, form := range []struct{ formats, file string }{
		{"py:light", "n.py"}, {"md:myst", "n.md"}} {
		t.Run(strings.ReplaceAll(form.formats, ":", "-"), func(t *testing.T) {
			ours, theirs := t.TempDir(), t.TempDir()
			command(t, "", p.python, "-c", pairedNotebook, form.formats, ours, theirs)
			for i, edit := range []struct{ file, from, to string }{
				{form.file, "y = 2", "y = 20"}, {"n.ipynb", "# T", "# Title"}} {
				for _, dir := range []string{ours, theirs} {
					edited(t, filepath.Join(dir, edit.file), edit.from, edit.to)
				}
				command(t, ours, p.markmill, "convert", "--sync", "n.ipynb")
				command(t, theirs, p.python, "-m", "jupytext", "--quiet", "--sync", "n.ipynb")
				got := strings.Split(string(command(t, "", p.python, "-c", pairsOf, ours, form.file, theirs,
					form.file)), "\n")
				if got[0] != got[1] || !strings.Contains(got[0], edit.to) {
					t.Errorf("edit %d: markmill leaves\n%s\nand jupytext\n%s", i+1, got[0], got[1])
				}
			}
		})
	}
}

// edited replaces a text in a file, which is then the newest.
func edited(t *testing.T, path, from, to string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(b), from) {
		t.Fatalf("%s: %v\n%s", path, err, b)
	}
	write(t, path, strings.Replace(string(b), from, to, 1))
	later := time.Now().Add(time.Second) // in the files of a test no time passes
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
}
