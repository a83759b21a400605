package review

import (
	"fmt"
	"strings"

	"markmill/notebooks/codec"
	"markmill/render"
)

// Marker begins the comment, so that a bot finds its own again.
const Marker = "<!-- markmill:review -->"

// LeastLimit is the least room that a comment makes sense in, in bytes.
const LeastLimit = 2000

// Markdown is the review as a comment on a pull request, of at most limit bytes: a line for each notebook, what matters most first, and
// then what became of each.
func (r *Review) Markdown(limit int) []byte {
	c := render.NewComment(limit, "`markmill review` with `--html FILE` or `--limit` shows all")
	sign := "✓"
	if r.Verdict == "fail" {
		sign = "✗"
	}
	c.Put(Marker + "\n## " + sign + " " + r.VerdictWords() + "\n\n")
	base, head := r.Title()
	c.Put(render.CodeSpan(base) + " → " + render.CodeSpan(head))
	if words := r.OutputWords(); words != "" {
		c.Put(" · outputs: " + words)
	}
	c.Put(" · fails on: " + r.failWords() + "\n\n")
	// The list may take half of the room.
	half := c.Left() / 2
	for _, n := range r.Notebooks {
		line := fmt.Sprintf("- %s %s: %s\n", r.Sign(n), render.CodeSpan(n.Path), summary(n))
		if c.Left()-len(line) < half || !c.Put(line) {
			c.Omit("notebooks")
		}
	}
	for i, n := range r.Notebooks {
		r.notebook(c, n, len(r.Notebooks)-i)
	}
	return c.Bytes()
}

// summary is Summary with paths of others as code.
func summary(n *Notebook) string {
	words := render.Words(n.Summary())
	if n.From != "" {
		words = strings.Replace(words, render.Words(n.From), render.CodeSpan(n.From), 1)
	}
	return words
}

// notebook appends what became of one notebook. It may take half of what is left, so that those after it are told, too.
func (r *Review) notebook(c *render.Comment, n *Notebook, toCome int) {
	notes := n.Notes()
	if n.Change == Removed && len(notes) == 0 { // the list says it
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s %s\n", r.Sign(n), render.CodeSpan(n.Path))
	if len(notes) > 0 {
		b.WriteByte('\n')
	}
	for _, note := range notes {
		subject := ""
		if note.Subject != "" && note.Subject != n.Path {
			subject = render.CodeSpan(note.Subject) + ": "
		}
		fmt.Fprintf(&b, "- %s %s%s\n", note.Sign, subject, render.Words(note.Words))
	}
	if n.at != "" {
		b.WriteString("\nCompared at " + render.CodeSpan(n.at) + ", which holds it.\n")
	} else if n.Diff != nil && n.Diff.Same {
		b.WriteString("\nNo difference in what is compared.\n")
	}
	if b.Len() > max(c.Left()/2, 500) || !c.Put(b.String()) {
		c.Omit("notebooks in full")
		return
	}
	if !n.Compared() {
		return
	}
	most := c.Left()
	if toCome > 1 {
		most /= 2
	}
	c.Diff(n.Diff, "####", most)
}

// JSON is the review for programs (docs/review.md).
func (r *Review) JSON() ([]byte, error) {
	text, err := codec.Indent(r)
	if err != nil {
		return nil, err
	}
	// The log of a GitHub workflow takes this for a command wherever it stands; in JSON it can only stand in a string.
	return []byte(strings.ReplaceAll(string(text), "##[", `\u0023#[`)), nil
}
