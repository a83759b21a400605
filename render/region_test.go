package render

import (
	"strings"
	"testing"
	"testing/fstest"

	"markmill/notebooks/markdown"
	"markmill/render/safe"
	"markmill/runs"
)

func TestHTMLTables(t *testing.T) {
	for _, c := range []struct{ name, html, want string }{
		{"a DataFrame", `<div><style scoped>td {}</style><table border="1" class="dataframe"><thead><tr><th></th>` +
			`<th>a</th></tr></thead><tbody><tr><th>0</th><td>1|2</td></tr></tbody></table>` +
			`<p>1 rows × 1 columns</p></div>`,
			"|  | a |\n| --- | --- |\n| 0 | 1\\|2 |\n\n1 rows × 1 columns\n"},
		{"headings over several columns",
			`<table><thead><tr><th colspan="2">x</th></tr><tr><th>a</th><th>b</th></tr>` +
				`</thead><tr><td>1</td><td>2</td>` +
				`</tr></table>`,
			"| x / a | x / b |\n| --- | --- |\n| 1 | 2 |\n"},
		{"rows that a cell covers",
			`<table><tr><th>a</th><th>b</th></tr><tr><td rowspan="2">1</td><td>2</td></tr><tr><td>3</td></tr></table>`,
			"| a | b |\n| --- | --- |\n| 1 | 2 |\n|  | 3 |\n"},
		{"without headings", `<table><tr><td>1</td></tr></table>`, "|  |\n| --- |\n| 1 |\n"},
		{"what breaks out", "<table><tr><td><b>x</b>&lt;script&gt;\n|\n</td></tr></table>",
			"|  |\n| --- |\n| x\\<script\\> \\| |\n"},
		{"no table", `<b>x</b>`, ""},
		{"a script beside it", `<table><tr><td>1</td></tr></table><script>x()</script>`, ""},
		{"a picture in a cell", `<table><tr><td><img src="x"></td></tr></table>`, ""},
	} {
		if got := HTMLTables([]byte(c.html), &safe.Cleaner{}, "f"); got != c.want {
			t.Errorf("%s:\n%q\nwant\n%q", c.name, got, c.want)
		}
	}
}

// TestHarmless: Markdown from a step is unfolded only if it cannot hide what follows.
func TestHarmless(t *testing.T) {
	for page, want := range map[string]bool{
		"| a |\n| --- |\n| 1 |\n": true, "# Head\n\ntext *x*\n": true, "```\ncode\n```\n": true,
		"<details>\n": false, "a <b>b</b>\n": false, "<!-- x\n": false, "```\nopen\n": false,
		"[a]: /evil\n": false, "\n": false,
	} {
		if harmless(page) != want {
			t.Errorf("%q: %v", page, !want)
		}
	}
}

// TestShortDiffIsOpen: a diff of at most 20 lines stands open, unless all of the step is folded.
func TestShortDiffIsOpen(t *testing.T) {
	for _, c := range []struct {
		lines int
		front string
		open  bool
	}{{20, "", true}, {21, "", false}, {3, "---\noutput: folded\n---\n", false}} {
		nb, err := markdown.Parse("task.md", []byte(c.front+"```bash {#a}\n```\n"))
		if err != nil {
			t.Fatal(err)
		}
		d := newDir(nb)
		rec := d.ends(0, runs.StepPassed, 0, "printed\n", "")
		d.MapFS["steps/01-a/patch.diff"] = &fstest.MapFile{Data: []byte("--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n" +
			strings.Repeat("+x\n", c.lines-3))}
		rec.Patch = &runs.PatchData{Patch: "steps/01-a/patch.diff", Files: []runs.ChangedFile{{Path: "f"}}}
		out, err := Output(runs.OutputFile, nb, d.run, d)
		if err != nil {
			t.Fatal(err)
		}
		text := string(out)
		if diff, fold := strings.Index(text, "```diff"), strings.Index(text, "<details>"); (diff < fold) != c.open {
			t.Errorf("%d lines, %q:\n%s", c.lines, c.front, text)
		}
	}
}

// TestOutputWords: output= decides which parts of a step are unfolded.
func TestOutputWords(t *testing.T) {
	for _, c := range []struct{ front, attribute, want string }{
		{"", "", "![picture](task.assets/a-1.png)\n\n<details><summary>✓"},
		{"", " output=open", "![picture](task.assets/a-1.png)\n\n<details open><summary>✓"},
		{"", " output=folded", "<details><summary>✓ <code>a</code> · exit 0</summary>\n\n" +
			"![picture](task.assets/a-1.png)"},
		{"---\noutput: folded\n---\n", "", "<details><summary>✓ <code>a</code> · exit 0</summary>\n\n" +
			"![picture](task.assets/a-1.png)"},
		{"---\noutput: folded\n---\n", " output=open", "![picture](task.assets/a-1.png)\n\n<details open><summary>✓"},
	} {
		nb, err := markdown.Parse("task.md", []byte(c.front+"```bash {#a"+c.attribute+"}\n```\n"))
		if err != nil {
			t.Fatal(err)
		}
		d := newDir(nb)
		rec := d.ends(0, runs.StepPassed, 0, "printed\n", "")
		rec.Finished.Displays = []runs.DisplayData{{MIME: "image/png",
			File: "steps/01-a/display-1.png", Alt: "picture"}}
		out, err := Output(runs.OutputFile, nb, d.run, d)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(out), c.want) {
			t.Errorf("%q %q: no %q in\n%s", c.front, c.attribute, c.want, out)
		}
	}
}
