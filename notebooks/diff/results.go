package diff

import (
	"cmp"
	"slices"
)

// inside compares what came out of a cell, and what it did.
func (c *comparing) inside(i int) {
	c.cell = i
	ch := &c.d.Cells[i]
	old, new := ch.Old, ch.New
	if old == nil {
		old = &Cell{}
	}
	if new == nil {
		new = &Cell{}
	}
	c.result(ch, old, new)
	c.scraps(ch.Label(), old.Scraps, new.Scraps)
	c.files(ch.Label(), old.Files, new.Files)
	if c.opt.All || !hasTag(old, new, "volatile") {
		c.outputs(ch.Label(), old.Outputs, new.Outputs)
	}
}

func hasTag(old, new *Cell, tag string) bool {
	return slices.Contains(old.Tags, tag) || slices.Contains(new.Tags, tag)
}

func (c *comparing) result(ch *CellChange, old, new *Cell) {
	r := ResultChange{Step: ch.Label(), Cell: c.cell, Test: hasTag(old, new, "test") || old.Tests != nil ||
		new.Tests != nil,
		Was: old.Status, Now: new.Status, WasWords: old.Words, NowWords: new.Words, WasTests: old.Tests, NowTests: new.Tests}
	was, now := verdict(old), verdict(new)
	switch {
	case old.Status == new.Status && old.Words == new.Words && testsOf(old) == testsOf(new) &&
		(old.Tests == nil) == (new.Tests == nil):
		return
	// an added or removed step is reported with the steps
	case was >= 0 && now >= 0 && (ch.Old == nil || ch.New == nil) && !r.Test:
		return
	// one of the two did not run
	case ch.Old != nil && ch.New != nil && (old.Status == "" || new.Status == "") && was >= 0 && now >= 0 &&
		old.Tests == nil && new.Tests == nil:
		return
	// a test that fails as expected has not passed
	case now < 0 && was >= 0, r.Test && old.Status == "pass" && new.Status == "allowed":
		r.Turned = Red
	case was < 0 && now > 0, r.Test && old.Status == "allowed" && new.Status == "pass":
		r.Turned = Green
	}
	c.d.Results = append(c.d.Results, r)
}

func testsOf(c *Cell) Tests {
	if c.Tests == nil {
		return Tests{}
	}
	return *c.Tests
}

// verdict is 1 for a pass, -1 for a failure, 0 where nothing is known.
func verdict(c *Cell) int {
	switch {
	case c.Status == "fail" || c.Status == "timeout" || c.Tests != nil && c.Tests.Failed > 0 && c.Status != "allowed":
		return -1
	case c.Status == "pass" || c.Status == "allowed":
		return 1
	}
	return 0
}

// sortResults puts first what turned red, tests before other steps.
func (c *comparing) sortResults() {
	rank := func(r ResultChange) int {
		n := 4
		switch r.Turned {
		case Red:
			n = 0
		case Green:
			n = 2
		}
		if !r.Test {
			n++
		}
		return n
	}
	slices.SortStableFunc(c.d.Results, func(x, y ResultChange) int { return cmp.Compare(rank(x), rank(y)) })
}

// files compares what two steps did to the worktree, file by file.
func (c *comparing) files(step string, a, b []FilePatch) {
	at := make(map[string]int, len(b))
	for j := range b {
		at[b[j].Path] = j
	}
	met := map[string]bool{}
	for i := range a {
		f := &a[i]
		met[f.Path] = true
		j, ok := at[f.Path]
		if !ok {
			c.d.Files = append(c.d.Files, FileChange{Step: step, Cell: c.cell, Path: f.Path, What: Removed, Old: f})
			continue
		}
		g := &b[j]
		ch := FileChange{Step: step, Cell: c.cell, Path: f.Path, What: Edited, Kind: changeOf(f.Status, g.Status), Old: f,
			New: g}
		if f.Digest != g.Digest || !slices.Equal(f.Lines, g.Lines) {
			ch.Text = compareLines(withEnds(f.Lines), withEnds(g.Lines), withoutNumbers)
		}
		if ch.Kind != nil || ch.Text != nil || f.Digest != g.Digest {
			c.d.Files = append(c.d.Files, ch)
		}
	}
	for j := range b {
		if !met[b[j].Path] {
			c.d.Files = append(c.d.Files, FileChange{Step: step, Cell: c.cell, Path: b[j].Path, What: Added, New: &b[j]})
		}
	}
}

func withEnds(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l + "\n"
	}
	return out
}

// withoutNumbers drops the line numbers of a hunk's header: they shift with the lines before the hunk.
func withoutNumbers(line string) string {
	if len(line) > 2 && line[:2] == "@@" {
		return "@@\n"
	}
	return line
}
