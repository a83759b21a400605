package review

import (
	"fmt"
	"slices"

	"markmill/notebooks"
	"markmill/notebooks/diff"
	"markmill/render/plain"
)

// tally counts the tests of one side of a comparison.
type tally struct {
	steps, ran, skipped int // steps with the tag test; tests that their runners counted
}

func tallyOf(d *diff.Document) (t tally) {
	for i := range d.Cells {
		c := &d.Cells[i]
		if slices.Contains(c.Tags, notebooks.TagTest) {
			t.steps++
		}
		if c.Tests != nil {
			t.ran += c.Tests.Passed + c.Tests.Failed
			t.skipped += c.Tests.Skipped
		}
	}
	return t
}

// fewer reports lost tests, with numbers. It ignores runs that did not pass, because a failure skips tests.
func (r *reviewer) fewer(n *Notebook, say func(step, words string)) {
	old, now := tallyOf(n.Diff.Old), tallyOf(n.Diff.New)
	if n.Change == Removed {
		if n.Kind != KindOutput && old.steps > 0 {
			words := "removed, and with it " + plain.Counted(old.steps, "test step")
			if old.ran > 0 {
				words += fmt.Sprintf(" (%s)", plain.Counted(old.ran, "test"))
			}
			say("", words)
		}
		return
	}
	for i := range n.Diff.Cells {
		ch := &n.Diff.Cells[i]
		if ch.New == nil && ch.Old != nil && slices.Contains(ch.Old.Tags, notebooks.TagTest) && n.TextAt == "" {
			say(ch.Label(), "the test was removed")
		}
	}
	o := n.outputOf(n.Path)
	if status := n.Diff.New.Status; status != "pass" && (o == nil || !o.Has(Partial)) {
		return
	}
	if n.Diff.Old.Status != "" && old.ran > 0 && now.ran < old.ran {
		say("", fmt.Sprintf("%d tests ran before, %d now", old.ran, now.ran))
	}
	if now.skipped > old.skipped {
		words := plain.Counted(now.skipped, "test") + " skipped"
		if n.Diff.Old.Status != "" {
			words += fmt.Sprintf(", %d before", old.skipped)
		}
		say("", words)
	}
	for i := range n.Diff.Cells {
		ch := &n.Diff.Cells[i]
		if ch.New == nil || !notebooks.Judge(ch.New.Tags) || !leftOut(ch.New) || ch.Old != nil && leftOut(ch.Old) {
			continue
		}
		words := "the test did not run"
		if ch.New.Words != "" {
			words += " (" + ch.New.Words + ")"
		}
		if ch.Old != nil && ch.Old.Status != "" {
			words += ", before: " + ch.Old.Status
		}
		say(ch.Label(), words)
	}
}

func leftOut(c *diff.Cell) bool { return c.Status == "skip" || c.Status == "pending" }
