package diffview

import (
	"cmp"
	"fmt"
	"strings"

	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
	"markmill/render/plain"
	"markmill/render/result"
)

// Section is one heading of a comparison with its entries. Sections without entries are left out.
type Section struct {
	Name    string // "tests", "steps", …
	Words   string // beside the name: "1 added, 2 edited", "" without any
	Entries []Entry
}

// Entry is one change.
type Entry struct {
	Sign    string // one character: ✗ ✓ + - ~ ↕ !
	Subject string // what changed: a step, a parameter, a file
	Words   string
	Lines   []string // the change itself, as lines of a patch
}

// Names of the sections, in their order.
const (
	Status     = "status"
	Tests      = "tests"
	Parameters = "parameters"
	Steps      = "steps"
	Scraps     = "scraps"
	Worktree   = "worktree"
	Outputs    = "outputs"
	Notes      = "notes"
)

// Sections lists all changes, the most important first.
func Sections(d *diff.Diff) []Section { return sections(d, steps(d), countWords(d.Counts)) }

// Results lists all changes but those of cell texts, which another comparison shows.
func Results(d *diff.Diff) []Section { return sections(d, nil, "") }

func sections(d *diff.Diff, cells []Entry, counts string) []Section {
	var out []Section
	add := func(name, words string, entries []Entry) {
		if len(entries) > 0 {
			out = append(out, Section{name, words, entries})
		}
	}
	add(Status, "", status(d))
	tests, others := results(d)
	add(Tests, "", tests)
	add(Parameters, "", parameters(d))
	add(Steps, counts, append(others, cells...))
	add(Scraps, "", scraps(d))
	add(Worktree, "", files(d))
	add(Outputs, "", outputs(d))
	add(Notes, "", notes(d))
	return out
}

// entryOf begins the entry of something that came, went or changed.
func entryOf(what diff.What, subject string) Entry {
	switch what {
	case diff.Added:
		return Entry{Sign: "+", Subject: subject}
	case diff.Removed:
		return Entry{Sign: "-", Subject: subject}
	}
	return Entry{Sign: "~", Subject: subject}
}

func arrow(old, new string) string {
	return cmp.Or(old, "nothing") + " → " + cmp.Or(new, "nothing")
}

func status(d *diff.Diff) []Entry {
	if d.Status == nil {
		return nil
	}
	e := Entry{Sign: "~", Words: cmp.Or(d.Status.Old, "not run") + " → " + cmp.Or(d.Status.New, "not run")}
	switch {
	case d.Status.New == "pass":
		e.Sign = "✓"
	case d.Status.New != "":
		e.Sign = "✗"
	}
	return []Entry{e}
}

func notes(d *diff.Diff) []Entry {
	var out []Entry
	for _, doc := range []*diff.Document{d.Old, d.New} {
		for _, n := range doc.Notes {
			out = append(out, Entry{Sign: "!", Subject: doc.Name, Words: n})
		}
	}
	return out
}

// results separates the results of tests from those of other steps.
func results(d *diff.Diff) (tests, others []Entry) {
	for _, r := range d.Results {
		e := Entry{Sign: "~", Subject: r.Step, Words: ResultWords(r)}
		switch r.Turned {
		case diff.Red:
			e.Sign = "✗"
		case diff.Green:
			e.Sign = "✓"
		}
		if r.Test {
			tests = append(tests, e)
		} else {
			others = append(others, e)
		}
	}
	return tests, others
}

// ResultWords say how a step ended before, and how it does now.
func ResultWords(r diff.ResultChange) string {
	was, now := r.Was, r.Now
	if r.Test { // a test that is allowed to fail did not pass
		was, now = expected(was), expected(now)
	}
	return Ended(was, r.WasWords, r.WasTests) + " → " + Ended(now, r.NowWords, r.NowTests)
}

func expected(status string) string {
	if status == "allowed" {
		return "expected to fail"
	}
	return status
}

// Ended describes how a step ended: "fail, exit 1, 3 passed, 1 failed", or "not run".
func Ended(status, words string, t *diff.Tests) string {
	var parts []string
	if status != "" {
		parts = append(parts, status)
	}
	if words != "" && words != status {
		parts = append(parts, words)
	}
	if t != nil {
		parts = append(parts, result.TestWords(t.Passed, t.Failed, t.Skipped, t.From))
	}
	if parts == nil {
		return "not run"
	}
	return strings.Join(parts, ", ")
}

func parameters(d *diff.Diff) []Entry {
	var out []Entry
	for _, p := range d.Params {
		out = append(out, valueEntry(p))
	}
	for _, p := range d.Options {
		e := valueEntry(p)
		e.Subject = "metadata " + e.Subject
		out = append(out, e)
	}
	return out
}

func valueEntry(v diff.ValueChange) Entry {
	switch {
	case v.Old == nil:
		return Entry{"+", v.Name, shown(string(v.New)), nil}
	case v.New == nil:
		return Entry{"-", v.Name, "was " + shown(string(v.Old)), nil}
	}
	return Entry{"~", v.Name, shown(string(v.Old)) + " → " + shown(string(v.New)), nil}
}

// shown bounds a value to what fits a line.
func shown(text string) string { return plain.Cut(text, 100) }

// countWords says "1 added, 2 edited" of steps.
func countWords(n diff.Counts) string {
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{{n.Added, "added"}, {n.Removed, "removed"}, {n.Moved, "moved"}, {n.Renamed, "renamed"}, {n.Edited, "edited"},
		{n.Replaced, "replaced"}, {n.Split, "split"}, {n.Joined, "joined"}, {n.Same, "the same"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.word))
		}
	}
	return strings.Join(parts, ", ")
}

// Version is the version of the JSON. Members are only ever added to a version.
const Version = 1

// side describes one side of a comparison.
type side struct {
	Name   string   `json:"name"`
	Form   string   `json:"form"`
	Status string   `json:"status,omitzero"`
	Source string   `json:"source,omitzero"` // digest of the source notebook
	Cells  int      `json:"cells"`
	Notes  []string `json:"notes,omitempty"`
}

func sideOf(d *diff.Document) side {
	return side{d.Name, d.Form, d.Status, d.Source, len(d.Cells), d.Notes}
}

// JSON returns the comparison for programs (docs/review.md).
func JSON(d *diff.Diff) ([]byte, error) { return codec.Indent(Value(d)) }

// Value returns what JSON writes, to stand in a larger value.
func Value(d *diff.Diff) any {
	return struct {
		Version int  `json:"version"`
		A       side `json:"a"`
		B       side `json:"b"`
		*diff.Diff
	}{Version, sideOf(d.Old), sideOf(d.New), d}
}

// WithoutCells returns a comparison without its cells, where another one holds the same.
func WithoutCells(d *diff.Diff) *diff.Diff {
	short := *d
	short.Cells = []diff.CellChange{}
	return &short
}
