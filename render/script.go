package render

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/markdown"
	"markmill/notebooks/percent"
	"markmill/render/safe"
)

// Script converts a percent script to Markdown: text as prose, code cells as steps with the same ids. Text that
// Markdown would read as a step, or that would not end with its cell, is fenced.
func Script(nb *notebooks.Notebook) (*notebooks.Notebook, error) {
	s, err := percent.Parse(nb.Name, nb.Source)
	if err != nil {
		return nil, err
	}
	out, err := cellsAs(nb, "---\n%s---\n\n", s.Header.Text, s.Cells)
	if err != nil { // other tools have anything there
		out, err = cellsAs(nb, "```yaml\n%s```\n\n", s.Header.Text, s.Cells)
	}
	if err != nil {
		return nil, fmt.Errorf("the script as Markdown: %w", err)
	}
	return out, nil
}

// cellsAs writes cells as Markdown. The code cells are the steps of nb; head is the format of the front matter.
func cellsAs(nb *notebooks.Notebook, head, front string, cells []percent.Cell) (*notebooks.Notebook, error) {
	var b bytes.Buffer
	if front = withoutJupyter(front); strings.TrimSpace(front) != "" {
		fmt.Fprintf(&b, head, front)
	}
	n := 0
	for i := range cells {
		c := &cells[i]
		if c.Title != "" {
			b.WriteString("**" + safe.Inline(c.Title) + "**\n\n")
		}
		switch c.Kind {
		case percent.Code:
			safe.Fence(&b, nb.Steps[n].Info(), string(nb.Steps[n].Code))
			n++
		case percent.Raw:
			safe.Fence(&b, "text", c.Source)
		default:
			top := len(bytes.TrimSpace(b.Bytes())) == 0
			if b.Len() == 0 {
				b.WriteString("\n") // a first line of --- would begin a front matter
			}
			writeProse(&b, c.Source, top)
		}
	}
	if text := b.Bytes(); bytes.HasSuffix(text, []byte("\n\n")) {
		b.Truncate(b.Len() - 1)
	}
	out, err := markdown.Parse("output.md", b.Bytes())
	if err != nil {
		return nil, err
	}
	same := func(a, b *notebooks.Step) bool {
		return a.ID == b.ID && bytes.Equal(bytes.TrimSuffix(a.Code, []byte("\n")),
			bytes.TrimSuffix(b.Code, []byte("\n")))
	}
	if !slices.EqualFunc(out.Steps, nb.Steps, same) {
		return nil, fmt.Errorf("its steps are other ones")
	}
	span := out.Front.Span
	out.Front, out.Params = nb.Front, nb.Params
	out.Front.Span = span
	return out, nil
}

// withoutJupyter removes Jupyter's keys from a front matter: in Markdown they would make a step of every fence.
func withoutJupyter(text string) string {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		if line[0] != ' ' && line[0] != '\t' && strings.TrimSpace(line) != "" {
			inside = strings.HasPrefix(line, "jupyter:") || strings.HasPrefix(line, "jupytext:")
		}
		if !inside {
			b.WriteString(line)
		}
	}
	return b.String()
}

// writeProse writes text as it is if it is only prose.
func writeProse(b *bytes.Buffer, text string, top bool) {
	switch {
	case strings.TrimSpace(text) == "":
	case isProse(text, top):
		b.WriteString(text + "\n\n")
	default:
		safe.Fence(b, "markdown", text)
	}
}

// isProse reports whether a Markdown notebook would read text, at its top or not, as only prose that ends where the
// text ends. Text that begins with an indented line may continue a list of the cell before it.
func isProse(text string, top bool) bool {
	before := "\n"
	if !top {
		if lead := text[:len(text)-len(strings.TrimLeft(text, " \t\r\n"))]; strings.TrimRight(lead, " \t") != lead {
			return false
		}
		before = "words\n\n"
	}
	nb, err := markdown.Parse("text.md", []byte(before+text+"\n\n```bash {.step}\n```\n"))
	return err == nil && len(nb.Steps) == 1 && nb.Steps[0].Fence.Start > len(text) && !nb.Declares() &&
		!strings.Contains(text, "<!-- markmill:")
}
