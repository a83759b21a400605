package cmdtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/notebooks/forms"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/percent"
)

// textForms writes each notebook in the forms of text that Jupytext knows, and prints what it then reads of each. A
// magic in the first line stands for the cell's language.
const textForms = `
import json, os, sys, warnings, jupytext
warnings.simplefilter("ignore")
to = sys.argv[1]
files = []
for path in sys.argv[2:]:
    for form in ("auto:percent", "auto:light", "py:light", "py:percent", "py:hydrogen", "md", "md:myst", "Rmd"):
        try:
            source = jupytext.read(path)
            if form.startswith("auto"):
                ext = source.metadata.get("language_info", {}).get("file_extension") or ".py"
                form = ext + form[4:]
            ext = "." + form.split(":")[0].lstrip(".")
            text = jupytext.writes(source, fmt=form)
            notebook = jupytext.reads(text, fmt=form)
        except Exception as e:
            print("jupytext:", path, form, e, file=sys.stderr)
            continue
        name = os.path.join(to, form.replace(":", "-").replace(".", "") + "-" + os.path.basename(path)[:-len(".ipynb")] + ext)
        with open(name, "w", newline="") as f:
            f.write(text)
        own = notebook.metadata.get("kernelspec", {}).get("language") or notebook.metadata.get("jupytext", {}).get("main_language") or "python"
        files.append({"path": name, "form": form, "lang": own, "cells": [{"kind": c.cell_type, "source": c.source, "metadata": c.metadata} for c in notebook.cells]})
json.dump(files, sys.stdout)
`

// otherwise are the files that are not read as Jupytext reads them, and why.
var otherwise = map[string]string{
	"go-percent-jupytext--hello_world_gonb.go":    "Jupytext takes a prefix of code off the prose, too",
	"py-hydrogen-jupytext--hello_world_gonb.py":   "Jupytext changes commands of gonb, and says that it changes none",
	"py-light-jupytext--landing_page-notebook.py": "without a header and without marks a script is one cell",
	"md-jupytext--landing_page-notebook.md":       "without a header its fences are examples",
	"md-nbval--index.md": "Jupytext takes a code span of three backticks for the begin of a " +
		"fence",
	"Rmd-nbval--index.Rmd": "Jupytext takes a code span of three backticks for the begin of a " +
		"fence",
	"Rmd-jupytext--logtalk_notebook.Rmd": "not a language that is known",
	"Rmd-jupytext--ocaml_notebook.Rmd":   "not a language that is known",
	"md-jupytext--wolfram.md":            "not a language that is known",
	"md-myst-jupytext--wolfram.md":       "the language has the name of its lexer",
	"Rmd-jupytext--wolfram.Rmd":          "not a language that is known",
}

type formCell struct {
	Kind, Source string
	Metadata     map[string]any
}

// Every notebook of the corpus, written by Jupytext in each form of text, is read as the cells that Jupytext reads.
func (p peers) forms(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "interop", "*.ipynb"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(sharedCorpus(), "ipynb", "*.ipynb"))
	if err != nil {
		t.Fatal(err)
	}
	var texts []struct {
		Path, Form, Lang string
		Cells            []formCell
	}
	out := command(t, "", p.python, append([]string{"-c", textForms, t.TempDir()}, append(files, more...)...)...)
	if err := json.Unmarshal(out, &texts); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%d files", len(texts))
	for _, text := range texts {
		t.Run(filepath.Base(text.Path), func(t *testing.T) {
			if why := otherwise[filepath.Base(text.Path)]; why != "" {
				t.Skip(why)
			}
			source, err := os.ReadFile(text.Path)
			if err != nil {
				t.Fatal(err)
			}
			nb, err := forms.Parse(text.Path, source)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, c := range text.Cells {
				if c.Kind != "code" {
					continue
				}
				if n == len(nb.Steps) {
					t.Fatalf("%d steps, and Jupytext has more", n)
				}
				want, lang := c.Source, text.Lang
				if rest, ok := strings.CutPrefix(want, "%%"); ok && rest != "" && rest[0] >= 'A' &&
					!strings.HasPrefix(string(nb.Steps[n].Code), "%%") {
					lang, want, _ = strings.Cut(rest, "\n")
				}
				if got := string(nb.Steps[n].Code); strings.Trim(got, "\n") != strings.Trim(want, "\n") ||
					formLanguage(nb.Steps[n].Lang) != formLanguage(lang) {
					t.Errorf("step %d is %s\n%s\njupytext has %s\n%s", n+1, nb.Steps[n].Lang, got, lang, want)
				}
				n++
			}
			if n != len(nb.Steps) {
				t.Errorf("%d steps, and Jupytext has %d code cells", len(nb.Steps), n)
			}
			if strings.Contains(text.Form, "percent") || strings.Contains(text.Form, "light") {
				samePercent(t, text.Path, source, text.Cells)
			}
		})
	}
}

// samePercent compares all cells of a percent script, and their metadata.
func samePercent(t *testing.T, path string, source []byte, want []formCell) {
	s, err := percent.Parse(path, source)
	if err != nil {
		t.Fatal(err)
	}
	if len(want) > 0 && want[0].Kind == "raw" && strings.HasPrefix(want[0].Source, "---\n") &&
		len(want) == len(s.Cells)+1 {
		want = want[1:] // the keys of the header that are not Jupyter's
	}
	if len(s.Cells) != len(want) {
		t.Fatalf("%d cells, and Jupytext has %d", len(s.Cells), len(want))
	}
	for i, c := range s.Cells {
		w := want[i]
		text := c.Source
		if c.Kind == percent.Code && c.Lang != s.Lang {
			_, w.Source, _ = strings.Cut(w.Source, "\n")
		}
		if string(c.Kind) != w.Kind || text != w.Source {
			t.Errorf("cell %d is %s\n%q\njupytext has %s\n%q", i+1, c.Kind, text, w.Kind, w.Source)
		}
		own := map[string]any{}
		for _, f := range c.Metadata {
			var v any
			if err := json.Unmarshal(f.Value, &v); err != nil {
				t.Fatal(err)
			}
			if f.Name != "language" && f.Name != "magic_args" {
				own[f.Name] = v
			}
		}
		if c.Title != "" {
			own["title"] = c.Title
		}
		for _, name := range []string{"lines_to_next_cell", "cell_marker"} { // how Jupytext is to write it again
			delete(w.Metadata, name)
		}
		a, _ := json.Marshal(own)
		b, _ := json.Marshal(w.Metadata)
		if string(a) != string(b) {
			t.Errorf("cell %d has %s, jupytext %s", i+1, a, b)
		}
	}
}

// formLanguage is language, of names that differ by their spelling.
func formLanguage(word string) string {
	word = strings.ReplaceAll(language(word), "#", "sharp")
	if strings.HasPrefix(word, "c++") {
		return "c++"
	}
	return word
}

// oldForms writes notebooks of nbformat 3, made by nbformat of those of 4, into a folder, beside those that are old
// already.
const oldForms = `
import logging, os, shutil, sys, nbformat
logging.disable(logging.CRITICAL)
for path in sys.argv[2:]:
    to = os.path.join(sys.argv[1], os.path.basename(path))
    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    if notebook.nbformat < 4:
        shutil.copy(path, to)
    else:
        nbformat.write(nbformat.convert(notebook, 3), to, version=3)
`

// sameUpgrade holds what Markmill made of each old notebook against what nbformat makes of it. Ids are each program's
// own. Markmill keeps the language, which old files have with each cell.
const sameUpgrade = `
import json, logging, os, sys, nbformat
logging.disable(logging.CRITICAL)
bad = 0
for name in sorted(os.listdir(sys.argv[1])):
    theirs = nbformat.read(os.path.join(sys.argv[1], name), as_version=4)
    with open(os.path.join(sys.argv[2], name)) as f:
        text = f.read()
    ours = nbformat.reads(text, as_version=4)
    try:
        nbformat.validate(theirs)
    except nbformat.ValidationError:
        pass # neither can be
    else:
        nbformat.validate(ours)
    if nbformat.writes(ours) + "\n" != text:
        print(name, "is not printed as nbformat prints it")
    for key in ("orig_nbformat", "orig_nbformat_minor"): # which nbformat does not write
        theirs.metadata.pop(key, None)
    if "language_info" not in theirs.metadata:
        ours.metadata.pop("language_info", None)
    ids = set()
    for notebook in (ours, theirs):
        for cell in notebook.cells:
            if notebook is ours:
                ids.add(cell.id)
            del cell["id"]
            if cell.get("execution_count") == 0: # no kernel has a count of 0
                cell["execution_count"] = None
    if len(ids) != len(ours.cells) or ours.nbformat_minor != 5:
        print(name, "ids or minor")
    for a, b in zip([dict(ours.metadata)] + ours.cells, [dict(theirs.metadata)] + theirs.cells):
        if a != b:
            print(name, "\n ours  ", json.dumps(a, sort_keys=True), "\n theirs", json.dumps(b, sort_keys=True))
    if len(ours.cells) != len(theirs.cells):
        print(name, len(ours.cells), "cells and", len(theirs.cells))
`

// Old notebooks become what nbformat makes of them.
func (p peers) upgrade(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(sharedCorpus(), "ipynb", "*.ipynb"))
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, filepath.Join("testdata", "forms", "old2.ipynb"),
		filepath.Join("testdata", "forms", "old3.ipynb"))
	old, upgraded := t.TempDir(), t.TempDir()
	command(t, "", p.python, append([]string{"-c", oldForms, old}, files...)...)
	entries, err := os.ReadDir(old)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		source, err := os.ReadFile(filepath.Join(old, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		nb, err := ipynb.Parse(e.Name(), source)
		if err != nil {
			t.Fatal(err)
		}
		if nb.NBFormat == 4 {
			t.Fatalf("%s is not old", e.Name())
		}
		b, err := nb.Upgraded()
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(upgraded, e.Name()), string(b))
	}
	t.Logf("%d notebooks", len(entries))
	if out := command(t, "", p.python, "-c", sameUpgrade, old, upgraded); len(out) > 0 {
		t.Errorf("%s", out)
	}
}

// sharedCorpus is the folder of notebooks that may stand beside the repository.
func sharedCorpus() string {
	if shared := os.Getenv("MARKMILL_SHARED"); shared != "" {
		return filepath.Join(shared, "corpus")
	}
	return filepath.Join("..", "..", "..", "shared", "corpus")
}
