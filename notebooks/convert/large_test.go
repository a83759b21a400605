package convert

import (
	"strings"
	"testing"

	"markmill/notebooks"
)

// TestRepeatedLooks: texts that invite repeated scans of the rest are read at once or rejected. Rescanning would take
// minutes.
func TestRepeatedLooks(t *testing.T) {
	const n = 50_000
	step := "```bash {#a}\ntrue\n```\n\n"
	for name, text := range map[string]string{
		"regions that nothing ends": step + strings.Repeat("<!-- #region -->\n", n),
		"regions that a fence hides the end of": step + strings.Repeat("<!-- #md -->\n", n) +
			"```\n<!-- #endregion -->\n```\n",
		"options that cannot be read": step + "<!-- #region " + strings.Repeat("a=[ ", n) +
			"-->\nx\n<!-- #endregion -->\n",
		"options without a value": step + "<!-- #region " + strings.Repeat(".a ", n) +
			"-->\nx\n<!-- #endregion -->\n",
	} {
		d, err := Read(notebooks.FormNative, "n.md", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(d.Cells) != 2 || d.Cells[0].Type != "code" {
			t.Errorf("%s: %d cells", name, len(d.Cells))
		}
	}
	for form, text := range map[notebooks.Form]string{notebooks.FormJupytext: "```python " + strings.Repeat("a=[ ", n) +
		"\nx\n```\n", notebooks.FormRMarkdown: "```{python " + strings.Repeat("a=1, ", n) + "}\nx\n```\n",
		notebooks.FormMyST: "---\nkernelspec:\n  name: python3\n---\n\n```{code-cell} python\n" +
			strings.Repeat(":a: 1\n", n) + "\nx\n```\n"} {
		if d, err := Read(form, "n.md", []byte(text)); err == nil {
			t.Errorf("%s: read as %d cells", form, len(d.Cells))
		}
	}
}

// TestTooManyValues checks the position of the error.
func TestTooManyValues(t *testing.T) {
	_, err := Read(notebooks.FormMyST, "n.md",
		[]byte("---\nkernelspec:\n  name: python3\n---\n\n```{code-cell} python\n"+
			":a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"+
			":b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n:c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\n"+
			":d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n"+
			":e: [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\n\nx\n```\n"))
	if err == nil || !strings.Contains(err.Error(), "n.md:7:") ||
		!strings.Contains(err.Error(), "more than 100000 values") {
		t.Error(err)
	}
}

// TestPythonText reads options that quote as Python does.
func TestPythonText(t *testing.T) {
	for text, want := range map[string]string{`'a\"b'`: `"a\"b"`, `'it\'s'`: `"it's"`, `'say "x"'`: `"say \"x\""`,
		`['a', True]`: `["a", true]`} {
		d, err := Read(notebooks.FormJupytext, "n.md", []byte("```python x="+text+"\n1\n```\n"))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := d.Cells[0].Metadata.Get("x"); string(got) != want {
			t.Errorf("%s is read as %s, want %s", text, got, want)
		}
	}
}
