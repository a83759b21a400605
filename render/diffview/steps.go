package diffview

import (
	"fmt"
	"strings"

	"markmill/notebooks/diff"
)

// steps describes the changes of steps and of the prose between them, in notebook order.
func steps(d *diff.Diff) []Entry {
	var out []Entry
	for i := range d.Cells {
		if ch := &d.Cells[i]; ch.Changed() && ch.What != diff.Part {
			out = append(out, stepEntry(ch))
		}
	}
	return out
}

func stepEntry(ch *diff.CellChange) Entry {
	e := entryOf(ch.What, ch.Label())
	if ch.Kind == diff.Markdown {
		e.Subject = "text “" + e.Subject + "”"
	}
	var words []string
	switch ch.What {
	case diff.Added:
		words = append(words, "added")
		e.Lines = whole("+", ch.New.Source, 0)
	case diff.Removed:
		words = append(words, "removed")
		e.Lines = whole("-", ch.Old.Source, 0)
	case diff.Replaced:
		words = append(words, "replaced: the id stayed, the text is another")
	case diff.Split:
		words = append(words, "split: also "+refNames(ch.Parts))
	case diff.Joined:
		words = append(words, "joined with "+refNames(ch.Parts))
	case diff.Edited:
		words = append(words, "edited")
	}
	if ch.Renamed {
		words = append(words, "renamed from "+ch.A.Label)
	}
	if ch.Moved {
		if ch.What == diff.Same {
			e.Sign = "↕"
		}
		words = append(words, fmt.Sprintf("moved from place %d to %d", ch.A.Place+1, ch.B.Place+1))
	}
	if ch.Lang != nil {
		words = append(words, "language "+arrow(ch.Lang.Old, ch.Lang.New))
	}
	if t := ch.Tags; t != nil {
		var tags []string
		for _, tag := range t.Added {
			tags = append(tags, "+"+tag)
		}
		for _, tag := range t.Removed {
			tags = append(tags, "-"+tag)
		}
		words = append(words, "tags "+strings.Join(tags, " "))
	}
	for _, o := range ch.Options {
		v := valueEntry(o)
		if v.Sign != "~" { // it came or went
			v.Subject = v.Sign + v.Subject
		}
		words = append(words, v.Subject+" "+v.Words)
	}
	if ch.Count != nil {
		words = append(words, "execution count "+arrow(ch.Count.Old, ch.Count.New))
	}
	if ch.Took != nil {
		words = append(words, "took "+arrow(ch.Took.Old, ch.Took.New))
	}
	e.Words = strings.Join(words, "; ")
	if ch.Source != nil {
		e.Lines = textLines(ch.Source, oldText(ch))
	}
	return e
}

// oldText returns the text around the changed lines of a cell, none for a joined cell, whose old text was spread
// over several.
func oldText(ch *diff.CellChange) string {
	switch ch.What {
	case diff.Joined:
		return ""
	case diff.Split:
		return strings.Trim(ch.Old.Source, "\n") + "\n"
	}
	return ch.Old.Source
}

func refNames(refs []diff.Ref) string {
	names := make([]string, len(refs))
	for i, r := range refs {
		names[i] = r.Label
	}
	return strings.Join(names, ", ")
}

// files shows how the patches of the steps changed.
func files(d *diff.Diff) []Entry {
	var out []Entry
	for _, f := range d.Files {
		e := entryOf(f.What, f.Path)
		switch f.What {
		case diff.Added:
			e.Words = fmt.Sprintf("is now %s by %s (%s)", f.New.Status, f.Step, plusMinus(f.New))
			e.Lines = patch("+", f.New)
		case diff.Removed:
			e.Words = fmt.Sprintf("is no longer %s by %s (was %s)", f.Old.Status, f.Step, plusMinus(f.Old))
			e.Lines = patch("-", f.Old)
		default:
			e.Words = fmt.Sprintf("is changed by %s in another way (%s → %s)", f.Step,
				plusMinus(f.Old), plusMinus(f.New))
			if f.Kind != nil {
				e.Words += ", " + arrow(f.Kind.Old, f.Kind.New)
			}
			e.Lines = textLines(f.Text, strings.Join(f.Old.Lines, "\n"))
		}
		out = append(out, e)
	}
	return out
}

func plusMinus(f *diff.FilePatch) string {
	plus, minus := 0, 0
	for _, l := range f.Lines {
		switch {
		case strings.HasPrefix(l, "+"):
			plus++
		case strings.HasPrefix(l, "-"):
			minus++
		}
	}
	if plus+minus == 0 && f.Digest != "" {
		return "binary"
	}
	return fmt.Sprintf("+%d −%d", plus, minus)
}

func patch(mark string, f *diff.FilePatch) []string {
	return whole(mark, strings.Join(f.Lines, "\n"), 0)
}

// context is how many unchanged lines are shown before and after changed ones.
const context = 3

// textLines shows a change with surrounding lines from old. Without old there is no context.
func textLines(t *diff.Text, old string) []string {
	if t == nil {
		return nil
	}
	lines := diff.Lines(old)
	if old == "" {
		lines = nil
	}
	var out []string
	hunks := t.Hunks
	for len(hunks) > 0 {
		n := 1
		for n < len(hunks) && hunks[n].A-(hunks[n-1].A+len(hunks[n-1].Old)) <= 2*context {
			n++
		}
		out = append(out, group(hunks[:n], lines)...)
		hunks = hunks[n:]
	}
	return out
}

// group shows hunks that share context.
func group(hunks []diff.Hunk, old []string) []string {
	first := hunks[0]
	at := fmt.Sprint(first.B)
	if first.A != first.B {
		at = fmt.Sprintf("%d → %d", first.A, first.B)
	}
	out := []string{position("line " + at)}
	same := func(from, to int) {
		for i := max(from, 0); i < min(to, len(old)); i++ {
			out = append(out, " "+trimmed(old[i]))
		}
	}
	done := first.A - 1 - context
	for _, h := range hunks {
		for _, words := range cellWords(h, old) {
			out = append(out, position(words))
		}
		same(done, h.A-1)
		for _, l := range h.Old {
			out = append(out, "-"+trimmed(l))
		}
		for _, l := range h.New {
			out = append(out, "+"+trimmed(l))
		}
		done = h.A - 1 + len(h.Old)
	}
	same(done, done+context)
	return out
}

// position is the line that says where in a text the following ones are.
func position(words string) string { return "@@ " + words + " @@" }

func trimmed(line string) string { return strings.TrimSuffix(line, "\n") }

// whole shows a text that only one side has, at most most lines of it (0: all).
func whole(mark, text string, most int) []string {
	lines := diff.Lines(text)
	cut := 0
	if most > 0 && len(lines) > most {
		lines, cut = lines[:most], len(lines)-most
	}
	out := make([]string, 0, len(lines)+1)
	for _, l := range lines {
		out = append(out, mark+trimmed(l))
	}
	if cut > 0 {
		out = append(out, fmt.Sprintf("# … %d lines more", cut))
	}
	return out
}
