package notebooks_test

import (
	"fmt"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/forms"
)

const cells = `{
 "cells": [
  {"cell_type": "markdown", "metadata": {}, "source": "# T"},
  {
   "cell_type": "code",
   "id": "9c",
   "metadata": {"tags": ["parameters", "mine"]},
   "outputs": [], "execution_count": null,
   "source": [
    "n: int = 3  # how many\n",
    "who = 'me'"
   ]
  },
  {"cell_type": "code", "id": "-odd id", "metadata": {"tags": ["nbval-raises-exception"]}, "outputs": [], ` +
	`"execution_count": null, "source": "1/0"},
  {"cell_type": "code", "id": "9c", "metadata": {}, "outputs": [], "execution_count": null, "source": ""},
  {"cell_type": "code", "metadata": {"tags": ["skip-execution"]}, "outputs": [], "execution_count": null, "source": []}
 ],
 "metadata": {"kernelspec": {"name": "python3", "language": "python", "display_name": "P"}, "language_info": ` +
	`{"name": "ipython"}, "title": "A title"},
 "nbformat": 4, "nbformat_minor": 5
}`

func TestParseJupyter(t *testing.T) {
	nb, err := forms.Parse("a.ipynb", []byte(cells))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range nb.Steps {
		got = append(got, fmt.Sprintf("%s %s line %d code %d %v %q", s.ID, s.Lang, s.Line, s.CodeLine, s.Tags, s.Code))
	}
	want := `9c python line 4 code 10 [parameters mine] "n: int = 3  # how many\nwho = 'me'"
odd-id python line 14 code 14 [raises-exception] "1/0"
9c-2 python line 15 code 15 [] ""
cell-5 python line 16 code 16 [skip] ""`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s", text)
	}
	if nb.Form != "jupyter" || nb.Front.Kernel != "python3" || nb.Front.Title != "A title" || !nb.Steps[0].Parameters ||
		nb.ParamsAt < 0 {
		t.Errorf("%+v", nb)
	}
	if p := nb.Params; len(p) != 2 || p[0].Name != "n" || p[0].Type != notebooks.TypeInt || p[0].Help != "how many" ||
		p[0].Line != 10 || p[1].Name != "who" {
		t.Errorf("%+v", nb.Params)
	}
	if len(nb.Warnings) != 1 || !strings.Contains(nb.Warnings[0].Msg, `"9c"`) {
		t.Errorf("%v", nb.Warnings)
	}
}

func TestIsJupyter(t *testing.T) {
	for name, want := range map[string]bool{"a.ipynb": true, `c:\x\A.IPYNB`: true, "a.md": false, "-": true,
		"ipynb": false} {
		if forms.IsJupyter(name, []byte(cells)) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	if forms.IsJupyter("-", []byte("{nbformat}")) || forms.IsJupyter("-", []byte("# \"nbformat\"")) {
		t.Error("text is taken for a notebook")
	}
}

func TestParseSaysWhere(t *testing.T) {
	_, err := forms.Parse("a.ipynb", []byte("{\n \"cells\": 1}"))
	if err == nil || !strings.Contains(err.Error(), "a.ipynb:2:11") {
		t.Error(err)
	}
	if nb, err := forms.Parse("a.md", []byte("```bash {#a}\n```\n")); err != nil || len(nb.Steps) != 1 ||
		forms.Extension(nb) != ".md" {
		t.Error(nb, err)
	}
}
