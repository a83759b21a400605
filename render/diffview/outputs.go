package diffview

import (
	"fmt"
	"strconv"
	"strings"

	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
	"markmill/render/plain"
)

// scraps tells how the recorded values changed.
func scraps(d *diff.Diff) []Entry {
	var out []Entry
	for _, s := range d.Scraps {
		e := entryOf(s.What, s.Name)
		old, new := scrapWords(s.Old, s.OldDigest), scrapWords(s.New, s.NewDigest)
		switch s.What {
		case diff.Added:
			e.Words = new
		case diff.Removed:
			e.Words = "was " + old
		default:
			e.Words = old + " → " + new
			if s.Text != nil {
				e.Words = fmt.Sprintf("+%d −%d", s.Text.Added, s.Text.Removed)
				e.Lines = textLines(s.Text, "")
			}
			if len(s.Values) > 0 {
				e.Words = plain.Counted(len(s.Values), "value")
				e.Lines = valueLines(s.Values)
			}
			if change := changeWords(s); change != "" {
				e.Words += " (" + change + ")"
			}
		}
		e.Words += ", of " + s.Step
		out = append(out, e)
	}
	return out
}

// valueLines show values with their places.
func valueLines(values []diff.CellValue) []string {
	var out []string
	for _, v := range values {
		out = append(out, position(v.At))
		if v.Old != nil {
			out = append(out, "-"+shown(string(v.Old)))
		}
		if v.New != nil {
			out = append(out, "+"+shown(string(v.New)))
		}
	}
	return out
}

func scrapWords(v codec.Raw, digest string) string {
	if v == nil {
		return shortDigest(digest)
	}
	return shown(string(v))
}

func shortDigest(digest string) string {
	if digest == "" {
		return "nothing"
	}
	const most = len("sha256:") + 12
	return digest[:min(most, len(digest))]
}

// changeWords says "+0.02, +2.2 %, within the tolerance".
func changeWords(s diff.ScrapChange) string {
	var parts []string
	if s.Difference != nil {
		parts = append(parts, signed(*s.Difference, 4))
	}
	if s.Relative != nil {
		percent := signed(*s.Relative*100, 3) + " %"
		if s.Difference == nil {
			percent = "at most " + percent
		}
		parts = append(parts, percent)
	}
	if s.Within {
		parts = append(parts, "within the tolerance")
	}
	return strings.Join(parts, ", ")
}

// signed returns a number with its sign, to so many digits that count.
func signed(f float64, digits int) string {
	text := strconv.FormatFloat(f, 'g', digits, 64)
	if f >= 0 {
		text = "+" + text
	}
	return text
}

// maxWhole bounds the lines of an output that only one side has.
const maxWhole = 20

// outputs tells what the steps print and show in another way.
func outputs(d *diff.Diff) []Entry {
	var out []Entry
	for _, o := range d.Outputs {
		e := entryOf(o.What, o.Step)
		words := []string{o.Name}
		for _, v := range o.Options {
			words = append(words, v.Name+" "+valueEntry(v).Words)
		}
		for i := range o.Data {
			name := ""
			if len(o.Data) > 1 || o.Name == diff.Display {
				name = o.Data[i].MIME + " "
			}
			what, lines := datum(&o.Data[i])
			words = append(words, name+what)
			e.Lines = append(e.Lines, lines...)
		}
		e.Words = strings.Join(words, "; ")
		out = append(out, e)
	}
	return out
}

// datum tells how one representation of an output changed.
func datum(c *diff.DatumChange) (words string, lines []string) {
	switch {
	case c.Text != nil:
		words = fmt.Sprintf("+%d −%d", c.Text.Added, c.Text.Removed)
		switch c.What {
		case diff.Added:
			return words, whole("+", c.New.Text, maxWhole)
		case diff.Removed:
			return words, whole("-", c.Old.Text, maxWhole)
		}
		return words, textLines(c.Text, c.Old.Text)
	case c.What == diff.Edited:
		return contentWords(c.Old) + " → " + contentWords(c.New), nil
	case c.What == diff.Added:
		return contentWords(c.New), nil
	}
	return "was " + contentWords(c.Old), nil
}

// contentWords describes content that is not compared by lines.
func contentWords(d *diff.Datum) string {
	if d.IsText() {
		return "text"
	}
	if d.Digest == "" {
		return d.File
	}
	if n := len(d.Bytes); n > 0 {
		return fmt.Sprintf("%d bytes, %s", n, shortDigest(d.Digest))
	}
	return shortDigest(d.Digest)
}
