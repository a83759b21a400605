package render

import (
	"fmt"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/forms"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/markdown"
	"markmill/render/jupyter"
)

// jupyterOf returns a Jupyter notebook of cells given as "type:text".
func jupyterOf(t *testing.T, cells ...string) *notebooks.Notebook {
	t.Helper()
	var list []map[string]any
	for i, c := range cells {
		kind, source, _ := strings.Cut(c, ":")
		cell := map[string]any{"cell_type": kind, "id": fmt.Sprintf("cell-%c", 'a'+i), "metadata": map[string]any{},
			"source": source}
		if kind == "code" {
			cell["outputs"], cell["execution_count"] = []any{}, nil
		}
		list = append(list, cell)
	}
	src, err := codec.Marshal(map[string]any{"nbformat": 4, "nbformat_minor": 5, "cells": list,
		"metadata": map[string]any{"kernelspec": map[string]any{"name": "python3", "display_name": "Python 3",
			"language": "python"}}})
	if err != nil {
		t.Fatal(err)
	}
	nb, err := forms.Parse("a.ipynb", src)
	if err != nil {
		t.Fatal(err)
	}
	return nb
}

// TestJupyterAsMarkdownAcceptsAnyText: a run of a Jupyter notebook with any text can produce Markdown with the same
// steps.
func TestJupyterAsMarkdownAcceptsAnyText(t *testing.T) {
	for _, text := range []string{
		"```bash {#x}\ntrue\n```", "```python {.step}\nx\n```", "```{python}\nx\n```", "```{code-cell} python\nx\n```",
		"```python tags=[\"parameters\"]\nx\n```",
		"```yaml {.parameters}\na: 1\n```", "```python {#a wrong=1}\nx\n```", "```bash {#open}\ntrue",
		"open\n```\nfence", "~~~\nopen", "<!-- open", "<script>", "<![CDATA[ x",
		"- a\n  ```bash {#x}\n  a\n  ```", "> ```bash {#x}\n> a\n> ```", "1. x\n   ```\n   open", "<!-- #region -->",
		"<!-- #endregion -->", "<!-- #region -->\nx\n<!-- #endregion -->\n\ny",
		"<!-- markmill:end 0123456789abcdef -->", "---\ntitle: [x\n---", "a\r\nb\r", "a\x00b", "plain", "",
	} {
		for _, kind := range []string{"markdown:", "raw:"} {
			for _, cells := range [][]string{{kind + text, "code:1"}, {"code:1", kind + text, "code:2"},
				{kind + text, kind + text, "code:%%bash\nls"}, {"code:1", kind + text}} {
				nb := jupyterOf(t, cells...)
				md, err := AsMarkdown(nb)
				if err != nil {
					t.Errorf("%q: %v", cells, err)
					continue
				}
				if again, err := markdown.Parse("a.md", md.Source); err != nil || len(again.Steps) != len(nb.Steps) {
					t.Errorf("%q: %v\n%s", cells, err, md.Source)
				}
				shown := strings.NewReplacer("\r\n", "\n", "\r", "\n")
				if !strings.Contains(shown.Replace(string(md.Source)),
					strings.TrimSpace(shown.Replace(strings.ReplaceAll(text, "\x00", "\uFFFD")))) {
					t.Errorf("%q is not in\n%s", text, md.Source)
				}
			}
		}
	}
	if _, err := AsMarkdown(jupyterOf(t, "code:a\x00b")); err == nil || !strings.Contains(err.Error(),
		"give an OUTPUT that ends in .ipynb") {
		t.Errorf("code that Markdown cannot represent: %v", err)
	}
}

// TestMarkdownAsJupyterHasSameSteps: in Jupyter a step is a code cell, and any other fence is text, whatever other
// tools make of it.
func TestMarkdownAsJupyterHasSameSteps(t *testing.T) {
	const plain, tagged = "```python\nprint(1)\n```\n", "```python tags=[\"parameters\"]\na = 1\n```\n"
	for name, src := range map[string]string{
		"no header": tagged + "\ntext\n\n" + plain + "\n```bash {#b}\ntrue\n```\n",
		"a step in a region": "---\njupyter:\n  kernelspec:\n    name: python3\n    language: python\n" +
			"    display_name: Python 3\n---\n\n<!-- #region -->\n```bash {#b}\ntrue\n```\n" +
			"<!-- #endregion -->\n\n" + plain,
		"MyST and a fence":   "```{code-cell} python\na = 1\n```\n\n```bash {#b}\ntrue\n```\n\n" + plain,
		"Quarto and a fence": "```{python}\na = 1\n```\n\n```bash {#b}\ntrue\n```\n\n" + plain,
	} {
		nb, err := markdown.Parse("a.md", []byte(src))
		if err != nil {
			t.Fatal(name, err)
		}
		if len(nb.Steps) != 2 {
			t.Fatalf("%s: %d steps", name, len(nb.Steps))
		}
		file, places, err := jupyter.FromText(nb)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		code, shown := 0, ""
		for i, c := range file.Cells {
			if c.Type == "code" {
				code++
				if got, want := c.Source, strings.TrimSpace(string(places[i].Code)); got != want &&
					got != "%%bash\n"+want {
					t.Errorf("%s: step %s is %q", name, places[i].ID, got)
				}
			} else {
				shown += c.Source
			}
		}
		if code != len(nb.Steps) {
			t.Errorf("%s: %d cells of code", name, code)
		}
		if name != "a step in a region" && !strings.Contains(shown, strings.TrimSpace(plain)) {
			t.Errorf("%s: the fence that is not a step is missing: %q", name, shown)
		}
		if err := CheckForm(ipynb.Form, nb); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := file.Kernel(); got != "python3" {
			t.Errorf("%s: the kernel is %q", name, got)
		}
	}
}
