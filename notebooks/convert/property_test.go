package convert

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
)

// parts are lines that begin or end something in some form.
var parts = rapid.SampledFrom([]string{
	"", "", "", "```python {#one}\nx\n```", "```bash {.test}\n%y\n```", "```python\n!ls\n```",
	"```{code-cell}\n:tags: [a]\nx\n```", "```{r}\nx\n\n```", "```{python}\n#| eval: false\n#| a: 1\nx\n```",
	"<!-- #raw -->\nr\n<!-- #endraw -->", "<!-- #region -->\n\nr\n\n\n\n<!-- #endregion -->", "# %% a=1\nx",
	"# %% [raw]\n# x", "# %% [markdown]\n# x\n#", "```yaml {.parameters}\na: 1  # help\n```",
	"text", "# Heading", "---", "jupyter:", "title: x", "  kernelspec: {name: python3}",
	"```", "````", "~~~", "```python",
	"```python {#a}", "```bash {#b .test timeout=3s}",
	"```yaml {.parameters}", "x: 1", "```{python}", "```{r label, echo=FALSE}", "#| label: x", "#| tags: [a]",
	"```{code-cell} python", "```{raw-cell}", ":tags: [a, b]", "+++", `+++ {"a": 1}`,
	"<!-- #region -->", `<!-- #region a="b" -->`, "<!-- #endregion -->", "<!-- #raw -->", "<!-- #endraw -->", "# %%",
	"# %% [markdown]", `# %% title tags=["a"]`, "# text", "#", "%%bash", "# %%bash",
	"%matplotlib inline", "!ls", "# !ls", `"""`, "'''", "    indented", "- item", "> quote", "print(1)", "x = 1  ",
	"\t", "é 漢 \U0001F600", "\r", "a\u2028b", "```python tags=[\"parameters\"] k={\"a\": [1, null]}",
})

// TestAnyText converts texts made of syntax of the forms to Jupyter and back.
func TestAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(textForms).Draw(t, "form")
		text := strings.Join(rapid.SliceOfN(parts, 3, 14).Draw(t, "lines"),
			rapid.SampledFrom([]string{"\n", "\n", "\r\n"}).Draw(t, "end"))
		head := rapid.SampledFrom([]string{"", "",
			"---\njupyter:\n  kernelspec:\n    display_name: P\n    language: python\n" +
				"    name: python3\n---\n\n", "\ufeff",
			"# ---\n# jupyter:\n#   jupytext:\n#     text_representation:\n" +
				"#       format_name: percent\n# ---\n"}).Draw(t,
			"head")
		src := []byte(head + text + rapid.SampledFrom([]string{"", "\n", "\n\n"}).Draw(t, "last"))
		textIsKept(t, f.form, f.name, src)
	})
}

type failer interface {
	Helper()
	Fatalf(string, ...any)
}

// textIsKept checks that a text survives the round trip through Jupyter, if it is a notebook of the form.
func textIsKept(t failer, form notebooks.Form, name string, src []byte) {
	t.Helper()
	d, err := Read(form, name, src)
	if err != nil {
		return
	}
	there, _, err := d.To(notebooks.FormJupyter, "there.ipynb")
	if err != nil {
		t.Fatalf("%s to Jupyter: %v\n%q", form, err, src)
	}
	j, err := Read(notebooks.FormJupyter, "there.ipynb", there)
	if err != nil {
		t.Fatalf("%s: %v", form, err)
	}
	if nb, err := ipynb.Parse("there.ipynb", there); err != nil || len(nb.Cells) != len(d.Cells) {
		t.Fatalf("%s: %v, %d cells of %d", form, err, len(nb.Cells), len(d.Cells))
	}
	back, _, err := j.To(form, name)
	if err != nil {
		t.Fatalf("%s and back: %v\n%q\n%s", form, err, src, there)
	}
	if !bytes.Equal(back, src) {
		t.Fatalf("%s: %q\nis %q when it comes back\n%s", form, src, back, there)
	}
}

// TestAnyNotebook converts such notebooks to every text form: the result has the same cells or is rejected, and losses
// are reported.
func TestAnyNotebook(t *testing.T) {
	source := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(parts, 0, 5).Draw(t, "lines"), "\n")
	})
	rapid.Check(t, func(t *rapid.T) {
		d := &Document{Name: "any.ipynb", Form: notebooks.FormJupyter,
			Metadata: Object{{keyKernelspec, codec.Raw(kernelSpecs["python"])}}}
		for range rapid.IntRange(0, 5).Draw(t, "cells") {
			c := Cell{Type: rapid.SampledFrom([]string{"code", "code", "markdown", "raw"}).Draw(t, "type"),
				Source: source.Draw(t, "source")}
			for _, m := range rapid.SliceOfNDistinct(rapid.SampledFrom([]Field{
				{"tags", codec.Raw(`["parameters"]`)}, {"tags", codec.Raw(`["a b"]`)}, {"collapsed", codec.Raw("true")},
				{"name", quoted("x y")}, {"title", quoted("a = b")},
				{"slideshow", codec.Raw(`{"slide_type":"slide"}`)}, {"odd name", quoted(`q"'\` + "\n-->")},
				{"n", codec.Raw("1.50")}, {"null", codec.Raw("null")},
			}), 0, 2, func(f Field) string { return f.Name }).Draw(t, "metadata") {
				c.Metadata.Set(m.Name, m.Value)
			}
			d.Cells = append(d.Cells, c)
		}
		f := rapid.SampledFrom(textForms).Draw(t, "form")
		text, told, err := d.To(f.form, f.name)
		if err != nil {
			return // refused, and nothing was written
		}
		back, _, err := readForm(f.form, f.name, text)
		if err != nil {
			t.Fatalf("%s: what was written cannot be read: %v\n%s", f.form, err, text)
		}
		textIsKept(t, f.form, f.name, text)
		code := func(d *Document) (list []string) {
			for _, c := range d.Cells {
				if c.Type == "code" {
					list = append(list, strings.TrimSpace(c.Source))
				}
			}
			return list
		}
		if a, b := strings.Join(code(d), "\x00"), strings.Join(code(back), "\x00"); a != b {
			t.Fatalf("%s: the code is %q\nand was %q\n%s\n%v", f.form, b, a, text, told)
		}
	})
}

func FuzzText(f *testing.F) {
	for _, text := range []string{"```python {#a}\n1\n```\n",
		"---\njupyter:\n  kernelspec: {language: python}\n---\n\n```python\n1\n```\n",
		"+++ {}\n\n```{code-cell}\n:a: 1\n\nx\n```\n", "# %% [markdown]\n# a\n\n# %%\n!ls\n"} {
		f.Add(uint8(0), []byte(text))
		f.Add(uint8(3), []byte(text))
	}
	f.Fuzz(func(t *testing.T, which uint8, src []byte) {
		form := textForms[int(which)%len(textForms)]
		textIsKept(t, form.form, form.name, src)
	})
}
