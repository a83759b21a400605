package diff

import (
	"cmp"
	"slices"
	"strings"
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
		Was: old.Status, Now: new.Status, WasWords: old.Words, NowWords: new.Words,
		WasTests: old.Tests, NowTests: new.Tests}
	was, now := verdict(old), verdict(new)
	switch {
	case old.Status == new.Status && old.Words == new.Words && old.Tests.same(new.Tests):
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

// same reports whether two sides counted the same. An older output notebook does not say where its counts are from.
func (t *Tests) same(other *Tests) bool {
	if t == nil || other == nil {
		return t == other
	}
	was, now := *t, *other
	if was.From == "" || now.From == "" {
		was.From, now.From = "", ""
	}
	return was == now
}

// verdict returns 1 for a pass, -1 for a failure, 0 where nothing is known.
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
		n := map[Turn]int{Red: 0, Green: 2, "": 4}[r.Turned]
		if !r.Test {
			n++
		}
		return n
	}
	slices.SortStableFunc(c.d.Results, func(x, y ResultChange) int { return cmp.Compare(rank(x), rank(y)) })
}

// files compares what two steps did to the worktree, file by file.
func (c *comparing) files(step string, a, b []FilePatch) {
	for old, new := range matched(a, b, func(f *FilePatch) string { return f.Path }) {
		ch := FileChange{Step: step, Cell: c.cell, Path: cmp.Or(old, new).Path, What: Edited, Old: old, New: new}
		switch {
		case new == nil:
			ch.What = Removed
		case old == nil:
			ch.What = Added
		default:
			ch.Kind = changeOf(old.Status, new.Status)
			ch.Text = compareLines(WithEnds(old.Lines), WithEnds(new.Lines), withoutNumbers)
			if ch.Kind == nil && ch.Text == nil && old.Digest == new.Digest {
				continue
			}
		}
		c.d.Files = append(c.d.Files, ch)
	}
}

// withoutNumbers drops the line numbers of a hunk's header: they shift with the lines before the hunk.
func withoutNumbers(line string) string {
	if len(line) > 2 && line[:2] == "@@" {
		return "@@\n"
	}
	return line
}

// PatchPath returns the path of the new side in the line "diff --git a/old b/new" of a patch, without those first two
// words. Git quotes names with odd characters, and does not part two names with spaces: then the two are of one length,
// but for a rename, whose names are on lines of their own.
func PatchPath(names string) string {
	if i := strings.Index(names, `" "b/`); i >= 0 {
		return strings.TrimSuffix(names[i+5:], `"`)
	}
	if half := len(names) / 2; len(names)%2 == 1 && strings.HasPrefix(names, "a/") && names[half] == ' ' &&
		strings.HasPrefix(names[half+1:], "b/") && names[2:half] == names[half+3:] {
		return names[half+3:]
	}
	if i := strings.LastIndex(names, " b/"); i >= 0 {
		return names[i+3:]
	}
	return names
}
