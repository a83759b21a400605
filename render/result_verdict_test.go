package render_test

import (
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render/result"
	"markmill/runs"
)

func manifestOf(status runs.Status, blockers ...notebooks.ManifestBlocker) *notebooks.Manifest {
	return &notebooks.Manifest{Format: 2, Status: string(status), Blockers: blockers,
		Steps: []notebooks.ManifestStep{{ID: "a", Status: "pass"}}, Changes: []notebooks.ManifestChange{}}
}

// TestVerdict: a few lines say what a reviewer needs to know about a run.
func TestVerdict(t *testing.T) {
	one := 1
	tested := manifestOf(runs.Pass)
	tested.Steps = []notebooks.ManifestStep{{ID: "a", Status: "pass", Tags: []string{"test"},
		Tests: &notebooks.ManifestTests{Passed: 5, Skipped: 1}},
		{ID: "b", Status: "pass", Exit: &one, Tags: []string{"test"}, Weakened: []string{"expect-exit=1"}}}
	tested.Parameters = []notebooks.ManifestParam{{Name: "n", Value: codec.Raw("1")},
		{Name: "who", Value: codec.Raw(`"you"`), Given: true}}
	tested.Contract = &notebooks.ManifestContract{Approval: "granted by bob, who is not the requester"}
	many := manifestOf(runs.Pass)
	for _, name := range strings.Split("a b c d e f g h i j", " ") {
		many.Scraps = append(many.Scraps, notebooks.ManifestScrap{Name: name, Value: codec.Raw("1")})
	}
	broke := manifestOf(runs.Fail, notebooks.ManifestBlocker{Code: runs.CodeDisallowedFileChange, Step: "a",
		Rule: "forbid: data.csv", Paths: []string{"data.csv"}})
	broke.Steps[0].Broke = []string{runs.CodeDisallowedFileChange}
	broke.Changes = []notebooks.ManifestChange{{Path: "data.csv", Added: 1}}
	part := manifestOf(runs.Partial)
	part.Partial, part.Steps = "--only a", append(part.Steps,
		notebooks.ManifestStep{ID: "b", Status: "skip", Tags: []string{"test"}})
	for _, c := range []struct {
		name     string
		m        *notebooks.Manifest
		headline []string
		want     string
	}{
		{"a rule", broke, nil, "> **✗ failed** · 0 of 1 step passed, 1 broke a rule · no tests · 1 file +1 −0\n>\n" +
			"> - `forbid: data.csv` does not allow `data.csv`, which step `a` changed (`disallowed_file_change`)\n"},
		{"tests, parameters, approval", tested, nil,
			"> **✓ passed** · 1 of 2 steps passed, 1 failed as expected · tests: 5 passed, 1 skipped, 1 failed as " +
				"expected · nothing changed · " +
				"approval: granted by bob, who is not the requester\n>\n> Given: `who` = `\"you\"`\n"},
		{"a part", part, nil,
			"> **◐ partial** · 1 of 2 steps passed, 1 skipped · `--only a` · tests: 1 did not run · nothing changed\n"},
		{"the first scraps", many, nil,
			"> **✓ passed** · 1 of 1 step passed · no tests · nothing changed\n>\n> a: **1** · b: **1** · c: **1** " +
				"· d: **1** · e: **1** · f: **1** · g: **1** · h: **1** · 2 more\n"},
		{"the chosen scraps", many, []string{"j", "z"},
			"> **✓ passed** · 1 of 1 step passed · no tests · nothing changed\n>\n> j: **1** · z: **–**\n"},
		{"a consequence", manifestOf(runs.Fail, notebooks.ManifestBlocker{Code: runs.CodeStepFailed, Step: "a",
			Message: "exit 1"},
			notebooks.ManifestBlocker{Code: runs.CodeNoDiff, Rule: "require: diff",
				Message: "a change is required, and nothing changed", Consequence: true}), nil,
			"> **✗ failed** · 1 of 1 step passed · no tests · nothing changed\n>\n> - step `a` failed: exit 1 " +
				"(`step_failed`)\n" +
				"> - following from that: `require: diff`: a change is required, and nothing changed (`no_diff`)\n"},
	} {
		if got := result.VerdictMarkdown(c.m, c.headline); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestWhy: each reason is one item with what mends it below, whatever its texts hold, and the others are counted.
func TestWhy(t *testing.T) {
	got := string(result.Why([]notebooks.ManifestBlocker{{Code: "a", Message: "x\n- y <b>", Fix: "mend\n\n# it"},
		{Code: "b", Message: "z"}, {Code: "c"}}, 2))
	if want := "- ✗ x - y \\<b\\> (`a`)\n  - mend # it\n- ✗ z (`b`)\n- … and 1 more\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
