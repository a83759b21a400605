package terminal

import (
	"fmt"
	"io"
	"math"
	"strings"

	"markmill/notebooks/diff"
	"markmill/render"
	"markmill/render/diffview"
	"markmill/render/plain"
	"markmill/render/review"
)

// Review prints a review: the first screen, the changed code, then the details of each notebook.
func Review(w io.Writer, v *review.View, color bool) error {
	return Document(w, v.Markdown(math.MaxInt32), 0, color)
}

// stateInks are the colors of the states of an output.
var stateInks = map[review.State]string{review.Current: green, review.Outdated: yellow, review.Unknown: yellow,
	review.Missing: dim, review.Unproven: dim}

// StatusLine prints one notebook with its output and its state. at turns a path from the root of the repository into
// one for the reader.
func StatusLine(w io.Writer, o *review.Output, at func(string) string, color bool) error {
	ink, known := stateInks[o.States[0]]
	if !known {
		ink = red
	}
	line := paint(fmt.Sprintf("%-9s", o.States[0]), ink, color) + " " + plain.Escape(at(o.Subject()))
	if o.Path != "" && o.Source != "" {
		line += paint(" → ", dim, color) + plain.Escape(at(o.Path))
	}
	if why := o.Why(); why != "" {
		line += ": " + plain.Escape(strings.TrimPrefix(why, string(o.States[0])+": "))
	}
	if others := o.States[1:]; len(others) > 0 {
		var words []string
		for _, s := range others {
			words = append(words, string(s))
		}
		line += paint(" ("+strings.Join(words, ", ")+", too)", dim, color)
	}
	_, err := io.WriteString(w, line+"\n")
	return err
}

// Diff prints a comparison, nothing if both sides are equal.
func Diff(w io.Writer, d *diff.Diff, color bool) error {
	if len(diffview.Sections(d)) == 0 {
		return nil
	}
	return Document(w, render.DiffMarkdown(d, math.MaxInt32), 0, color)
}
