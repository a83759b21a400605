package render_test

import (
	"slices"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/markdown"
	"markmill/notebooks/region"
	"markmill/render/compare"
	"markmill/render/safe"
	"markmill/runs"
)

const source = "```bash {#a}\ntrue\n```\n```bash {#b .check-output normalize=durations}\ntrue\n```\n```bash {#c " +
	".volatile}\ntrue\n```\n" +
	"```bash {#d}\n# NBVAL_IGNORE_OUTPUT\n```\n```bash {#e}\n  ## NBVAL_CHECK_OUTPUT  \n```\n```bash {#f " +
	".skip}\ntrue\n```\n"

func parsed(t *testing.T) *notebooks.Notebook {
	t.Helper()
	nb, err := markdown.Parse("n.md", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return nb
}

// passed returns a run in which all steps passed except the named ones.
func passed(nb *notebooks.Notebook, otherwise map[string]runs.StepStatus) *runs.Run {
	run := &runs.Run{}
	for _, s := range nb.Steps {
		rec := runs.StepRecord{Planned: runs.PlannedStep{ID: s.ID, Action: runs.ActionRun},
			Finished: &runs.StepFinishedData{Status: runs.StepPassed}}
		if s.Has(notebooks.TagSkip) {
			rec.Planned.Action, rec.Planned.Reason, rec.Finished = runs.ActionSkip, "it is tagged skip", nil
		}
		if status, ok := otherwise[string(s.ID)]; ok {
			rec.Finished = &runs.StepFinishedData{Status: status}
		}
		run.Steps = append(run.Steps, rec)
	}
	return run
}

func output(steps ...string) compare.Output {
	var out compare.Output
	for _, s := range steps {
		lines := strings.Split(s, "|")
		out.Steps = append(out.Steps, compare.Step{ID: lines[0], Lines: lines[1:]})
	}
	return out
}

func TestCompare(t *testing.T) {
	nb := parsed(t)
	stored := output("a|ok|1", "b|ok|took 3s", "c|ok|1", "d|ok|1", "e|ok|1", "f|no")
	for _, c := range []struct {
		name     string
		now      compare.Output
		statuses map[string]runs.StepStatus
		options  compare.Options
		want     string
	}{
		{"the same", stored, nil, compare.Options{}, "a same, b same, c unchecked, d unchecked, e same, f skipped"},
		{"all others", output("a|ok|2", "b|ok|took 4s", "c|ok|2", "d|ok|2", "e|ok|2", "f|no|2"), nil, compare.Options{},
			"a different, b same, c unchecked, d unchecked, e different, f skipped"},
		{"marked", output("a|ok|2", "b|ok|took 9", "c|ok|2", "d|ok|2", "e|ok|2", "f|no|2"), nil,
			compare.Options{Marked: true},
			"a unchecked, b different, c unchecked, d unchecked, e different, f skipped"},
		{"a failure", output("a|ok|1", "b|bad"), map[string]runs.StepStatus{"b": runs.StepFailed, "c": runs.StepSkipped,
			"d": runs.StepSkipped, "e": runs.StepSkipped},
			compare.Options{}, "a same, b failed, c skipped, d skipped, e skipped, f skipped"},
		{"a condition that does not hold any more", output("a|○", "b|ok|took 3s", "e|ok|1"),
			map[string]runs.StepStatus{"a": runs.StepSkipped}, compare.Options{},
			"a different, b same, c unchecked, d unchecked, e same, f skipped"},
		{"an empty cell", output("a", "b|ok|took 3s", "e|ok|1"), nil, compare.Options{},
			"a different, b same, c unchecked, d unchecked, e same, f skipped"},
		{"an end too soon", output("a|ok|1"), map[string]runs.StepStatus{"b": runs.StepPending, "c": runs.StepPending,
			"d": runs.StepPending, "e": runs.StepTimeout}, compare.Options{Marked: true},
			"a unchecked, b failed, c failed, d failed, e failed, f skipped"},
	} {
		c.options.From, c.options.To = "was", "is"
		results, err := compare.Compare(nb, passed(nb, c.statuses), stored, c.now, c.options)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range results {
			got = append(got, r.Step+" "+string(r.Verdict))
			if (r.Verdict == compare.Different) != (r.Diff != "") && r.Verdict != compare.Failed {
				t.Errorf("%s: step %s is %s with the diff %q", c.name, r.Step, r.Verdict, r.Diff)
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, strings.Join(got, ", "), c.want)
		}
	}
}

// TestCompareMissingSteps: a step that only one of the outputs has.
func TestCompareMissingSteps(t *testing.T) {
	nb := parsed(t)
	now := output("a|ok", "b|ok", "e|ok")
	results, err := compare.Compare(nb, passed(nb, nil), output("b|ok", "e|ok", "gone|ok"), now, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r := results[0]; r.Verdict != compare.Different || r.Words != "nothing was stored of it" {
		t.Errorf("a: %+v", r)
	}
	if r := results[len(results)-1]; r.Step != "gone" || r.Verdict != compare.Different || r.Line != 0 ||
		!strings.Contains(r.Diff, "\n-ok\n") {
		t.Errorf("gone: %+v", r)
	}
}

// TestRulesMaskBothSides applies the notebook's rules, then those of the comparison.
func TestRulesMaskBothSides(t *testing.T) {
	nb := parsed(t)
	rules, err := safe.NewRules([]notebooks.Normalize{{Name: "ids", Pattern: `id=\d+`,
		Replace: "id=N"}, {Name: "uuids"}})
	if err != nil {
		t.Fatal(err)
	}
	stored := output("a|ok|id=1 0b0f1e2d-0000-4000-8000-000000000000", "b|ok|id=1 in 3s", "e|ok")
	now := output("a|ok|id=22 0b0f1e2d-0000-4000-8000-00000000000f", "b|ok|id=7 in 250ms", "e|ok")
	results, err := compare.Compare(nb, passed(nb, nil), stored, now, compare.Options{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	if results[0].Verdict != compare.Same || results[1].Verdict != compare.Same ||
		!slices.Equal(results[1].Now, []string{"ok", "id=N in <duration>"}) {
		t.Errorf("%+v", results[:2])
	}
	if _, err := safe.NewRules([]notebooks.Normalize{{Name: "uuid"}}); err == nil ||
		!strings.Contains(err.Error(), `"uuid" is not known: there are uuids`) {
		t.Errorf("an unknown rule: %v", err)
	}
}

// TestMarkdown removes only the HTML that folds a region.
func TestMarkdown(t *testing.T) {
	body := "<details open><summary>✗ <code>a&lt;b</code> · exit 1</summary>\n\n```text " +
		"{.output}\n<details>\x1b\n</details>\n```\n\n</details>\n"
	s := region.Stripped{Regions: []region.FoundRegion{{ID: "p", Body: []byte("x\n")},
		{ID: "a", Body: []byte(body)}, {ID: "odd", Body: []byte("no html\n")}}}
	got := compare.Markdown(s, "p")
	want := output(`a|✗ a<b · exit 1||`+"```text {.output}"+`|<details>\x1b|</details>|`+"```", "odd|no html")
	if len(got.Steps) != 2 || !slices.Equal(got.Steps[0].Lines, want.Steps[0].Lines) ||
		!slices.Equal(got.Steps[1].Lines, want.Steps[1].Lines) {
		t.Errorf("%+v\nwant %+v", got.Steps, want.Steps)
	}
}

func TestPictures(t *testing.T) {
	o := output("a|![x](f/a-1.png)|![y](other.png)|text ![x](f/a-1.png)")
	o.Pictures(func(link string) string {
		if link == "f/a-1.png" {
			return "sha256:1"
		}
		return ""
	})
	if want := []string{"![x](f/a-1.png) sha256:1", "![y](other.png)",
		"text ![x](f/a-1.png)"}; !slices.Equal(o.Steps[0].Lines, want) {
		t.Errorf("%q", o.Steps[0].Lines)
	}
}
