package render

import (
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

func manifestOf(status runs.Status, blockers ...notebooks.ManifestBlocker) *notebooks.Manifest {
	return &notebooks.Manifest{Format: 2, Status: string(status), Blockers: blockers, Steps: []notebooks.ManifestStep{{ID: "a", Status: "pass"}}, Changes: []notebooks.ManifestChange{}}
}

// TestVerdict: what a reviewer needs of a run stands in a few lines.
func TestVerdict(t *testing.T) {
	one := 1
	tested := manifestOf(runs.Pass)
	tested.Steps = []notebooks.ManifestStep{{ID: "a", Status: "pass", Tags: []string{"test"}, Tests: &notebooks.ManifestTests{Passed: 5, Skipped: 1}},
		{ID: "b", Status: "pass", Exit: &one, Tags: []string{"test"}, Weakened: []string{"expect-exit=1"}}}
	tested.Parameters = []notebooks.ManifestParam{{Name: "n", Value: codec.Raw("1")}, {Name: "who", Value: codec.Raw(`"you"`), Given: true}}
	tested.Contract = &notebooks.ManifestContract{Approval: "granted by bob, who is not the requester"}
	many := manifestOf(runs.Pass)
	for _, name := range strings.Split("a b c d e f g h i j", " ") {
		many.Scraps = append(many.Scraps, notebooks.ManifestScrap{Name: name, Value: codec.Raw("1")})
	}
	broke := manifestOf(runs.Fail, notebooks.ManifestBlocker{Code: runs.CodeDisallowedFileChange, Step: "a", Rule: "forbid: data.csv", Paths: []string{"data.csv"}})
	broke.Steps[0].Broke = []string{runs.CodeDisallowedFileChange}
	broke.Changes = []notebooks.ManifestChange{{Path: "data.csv", Added: 1}}
	part := manifestOf(runs.Partial)
	part.Partial, part.Steps = "--only a", append(part.Steps, notebooks.ManifestStep{ID: "b", Status: "skip", Tags: []string{"test"}})
	for _, c := range []struct {
		name     string
		m        *notebooks.Manifest
		headline []string
		want     string
	}{
		{"a rule", broke, nil, "> **✗ failed** · 0 of 1 step passed, 1 broke a rule · no tests · 1 file +1 −0\n>\n" +
			"> - `forbid: data.csv` does not allow `data.csv`, which step `a` changed (`disallowed_file_change`)\n"},
		{"tests, parameters, approval", tested, nil, "> **✓ passed** · 1 of 2 steps passed, 1 failed as expected · tests: 5 passed, 1 skipped, 1 failed as expected · nothing changed · " +
			"approval: granted by bob, who is not the requester\n>\n> Given: `who` = `\"you\"`\n"},
		{"a part", part, nil, "> **◐ partial** · 1 of 2 steps passed, 1 skipped · `--only a` · tests: 1 did not run · nothing changed\n"},
		{"the first scraps", many, nil, "> **✓ passed** · 1 of 1 step passed · no tests · nothing changed\n>\n> a: **1** · b: **1** · c: **1** · d: **1** · e: **1** · f: **1** · g: **1** · h: **1** · 2 more\n"},
		{"the chosen scraps", many, []string{"j", "z"}, "> **✓ passed** · 1 of 1 step passed · no tests · nothing changed\n>\n> j: **1** · z: **–**\n"},
		{"a consequence", manifestOf(runs.Fail, notebooks.ManifestBlocker{Code: runs.CodeStepFailed, Step: "a", Message: "exit 1"},
			notebooks.ManifestBlocker{Code: runs.CodeNoDiff, Rule: "require: diff", Message: "a change is required, and nothing changed", Consequence: true}), nil,
			"> **✗ failed** · 1 of 1 step passed · no tests · nothing changed\n>\n> - step `a` failed: exit 1 (`step_failed`)\n" +
				"> - following from that: `require: diff`: a change is required, and nothing changed (`no_diff`)\n"},
		{"an older manifest", &notebooks.Manifest{Status: "fail"}, nil, "> **✗ failed**\n"},
	} {
		if got := VerdictMarkdown(c.m, c.headline); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestHTMLTables(t *testing.T) {
	for _, c := range []struct{ name, html, want string }{
		{"a DataFrame", `<div><style scoped>td {}</style><table border="1" class="dataframe"><thead><tr><th></th><th>a</th></tr></thead><tbody><tr><th>0</th><td>1|2</td></tr></tbody></table><p>1 rows × 1 columns</p></div>`,
			"|  | a |\n| --- | --- |\n| 0 | 1\\|2 |\n\n1 rows × 1 columns\n"},
		{"headings over several columns", `<table><thead><tr><th colspan="2">x</th></tr><tr><th>a</th><th>b</th></tr></thead><tr><td>1</td><td>2</td></tr></table>`,
			"| x / a | x / b |\n| --- | --- |\n| 1 | 2 |\n"},
		{"rows that a cell covers", `<table><tr><th>a</th><th>b</th></tr><tr><td rowspan="2">1</td><td>2</td></tr><tr><td>3</td></tr></table>`,
			"| a | b |\n| --- | --- |\n| 1 | 2 |\n|  | 3 |\n"},
		{"without headings", `<table><tr><td>1</td></tr></table>`, "|  |\n| --- |\n| 1 |\n"},
		{"what breaks out", "<table><tr><td><b>x</b>&lt;script&gt;\n|\n</td></tr></table>", "|  |\n| --- |\n| x\\<script\\> \\| |\n"},
		{"no table", `<b>x</b>`, ""},
		{"a script beside it", `<table><tr><td>1</td></tr></table><script>x()</script>`, ""},
		{"a picture in a cell", `<table><tr><td><img src="x"></td></tr></table>`, ""},
	} {
		if got := htmlTables([]byte(c.html), &cleaner{}, "f"); got != c.want {
			t.Errorf("%s:\n%q\nwant\n%q", c.name, got, c.want)
		}
	}
}

// TestHarmless: Markdown that a step shows stands open only where it cannot hide what follows.
func TestHarmless(t *testing.T) {
	for page, want := range map[string]bool{
		"| a |\n| --- |\n| 1 |\n": true, "# Head\n\ntext *x*\n": true, "```\ncode\n```\n": true,
		"<details>\n": false, "a <b>b</b>\n": false, "<!-- x\n": false, "```\nopen\n": false, "[a]: /evil\n": false, "\n": false,
	} {
		if harmless(page) != want {
			t.Errorf("%q: %v", page, !want)
		}
	}
}

// TestOutputWords: output= says what of a step stands open.
func TestOutputWords(t *testing.T) {
	for _, c := range []struct{ front, attribute, want string }{
		{"", "", "![picture](task.assets/a-1.png)\n\n<details><summary>✓"},
		{"", " output=open", "![picture](task.assets/a-1.png)\n\n<details open><summary>✓"},
		{"", " output=folded", "<details><summary>✓ <code>a</code> · exit 0</summary>\n\n![picture](task.assets/a-1.png)"},
		{"---\noutput: folded\n---\n", "", "<details><summary>✓ <code>a</code> · exit 0</summary>\n\n![picture](task.assets/a-1.png)"},
		{"---\noutput: folded\n---\n", " output=open", "![picture](task.assets/a-1.png)\n\n<details open><summary>✓"},
	} {
		nb, err := notebooks.Parse("task.md", []byte(c.front+"```bash {#a"+c.attribute+"}\n```\n"))
		if err != nil {
			t.Fatal(err)
		}
		d := newDir(nb)
		rec := d.ends(0, runs.StepPassed, 0, "printed\n", "")
		rec.Finished.Displays = []runs.DisplayData{{MIME: "image/png", File: "steps/01-a/display-1.png", Alt: "picture"}}
		out, err := Output(runs.OutputFile, nb, d.run, d)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(out), c.want) {
			t.Errorf("%q %q: no %q in\n%s", c.front, c.attribute, c.want, out)
		}
	}
}
