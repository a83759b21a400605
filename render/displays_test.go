package render

import (
	"strings"
	"testing"

	"markmill/runs"
)

// TestMarkdownShowsLastDisplayState: as in Jupyter, an update changes the cell that first displayed the result, and is
// shown nowhere else.
func TestMarkdownShowsLastDisplayState(t *testing.T) {
	nb := testNotebook("```python {#a}\n```\n\n```python {#b}\n```\n")
	d := newDir(nb)
	text := func(name, content, id string, update bool) runs.DisplayData {
		return runs.DisplayData{MIME: "text/plain", File: d.file(name, content).File, DisplayID: id, Update: update}
	}
	first, second := d.ends(0, runs.StepPassed, 0, "", ""), d.ends(1, runs.StepPassed, 0, "", "")
	first.Finished.Displays = []runs.DisplayData{text("steps/01-a/display-1.txt", "waiting", "w", false),
		text("steps/01-a/display-2.txt", "left alone", "l", false),
		text("steps/01-a/display-3.txt", "no picture yet", "p", false),
		text("steps/01-a/display-4.txt", "without an id",
			"", false)}
	second.Finished.Displays = []runs.DisplayData{text("steps/02-b/display-1.txt", "half", "w", true),
		text("steps/02-b/display-2.txt", "done", "w", true),
		{MIME: "image/png", File: "steps/02-b/display-3.png", Alt: "a picture", DisplayID: "p", Update: true},
		text("steps/02-b/display-4.txt", "nobody shows it", "none", true)}
	out, err := Output(runs.OutputFile, nb, d.run, d)
	if err != nil {
		t.Fatal(err)
	}
	a, b, _ := strings.Cut(string(out), "```python {#b}")
	for _, want := range []string{"```text {.result}\ndone\n```", "```text {.result}\nleft alone\n```",
		"```text {.result}\nwithout an id\n```", "![a picture](task.assets/a-1.png)"} {
		if !strings.Contains(a, want) {
			t.Errorf("no %q in\n%s", want, a)
		}
	}
	if !strings.Contains(b, "<sub>✓ <code>b</code> · exit 0</sub>") || strings.Contains(string(out), "waiting") ||
		strings.Contains(string(out), "half") || strings.Contains(string(out), "nobody") ||
		strings.Contains(string(out), "yet") {
		t.Errorf("an update, or the result it replaces, is shown in\n%s", out)
	}
	if got := Assets(d.run); len(got) != 1 ||
		got[0] != (Asset{From: "steps/02-b/display-3.png", To: "task.assets/a-1.png"}) {
		t.Errorf("pictures %+v", got)
	}
	if got := d.run.Steps[1].Finished.Displays; len(got) != 4 {
		t.Errorf("the run was modified: %+v", got)
	}
}
