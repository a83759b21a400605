package render

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/percent"
)

// Script makes a Markdown notebook of a percent script: its text as prose, its cells of code as the same steps with the same ids, its front matter.
// What of the text Markdown would take for a step, or for something that does not end with its cell, is shown in a fence.
func Script(nb *notebooks.Notebook) (*notebooks.Notebook, error) {
	s, err := percent.Parse(nb.Name, nb.Source)
	if err != nil {
		return nil, err
	}
	out, err := scriptAs(nb, s, "---\n%s---\n\n")
	if err != nil { // other tools have anything there
		out, err = scriptAs(nb, s, "```yaml\n%s```\n\n")
	}
	if err != nil {
		return nil, fmt.Errorf("the script as Markdown: %w", err)
	}
	span := out.Front.Span
	out.Front, out.Params = nb.Front, nb.Params
	out.Front.Span = span
	return out, nil
}

// scriptAs is Script with the front matter written in a way.
func scriptAs(nb *notebooks.Notebook, s *percent.Script, head string) (*notebooks.Notebook, error) {
	var b bytes.Buffer
	if front := withoutJupyter(s.Header.Text); strings.TrimSpace(front) != "" {
		fmt.Fprintf(&b, head, front)
	}
	n := 0
	for i := range s.Cells {
		c := &s.Cells[i]
		if c.Title != "" {
			b.WriteString("**" + inline(c.Title) + "**\n\n")
		}
		switch c.Kind {
		case percent.Code:
			fence(&b, nb.Steps[n].Info(), string(nb.Steps[n].Code))
			n++
		case percent.Raw:
			fence(&b, "text", c.Source)
		default:
			if b.Len() == 0 {
				b.WriteString("\n") // a first line of --- would begin a front matter
			}
			writeProse(&b, c.Source)
		}
	}
	if text := b.Bytes(); bytes.HasSuffix(text, []byte("\n\n")) {
		b.Truncate(b.Len() - 1)
	}
	out, err := notebooks.Parse("output.md", b.Bytes())
	if err != nil {
		return nil, err
	}
	same := func(a, b *notebooks.Step) bool { return a.ID == b.ID && string(a.Code) == string(b.Code) }
	if !slices.EqualFunc(out.Steps, nb.Steps, same) {
		return nil, fmt.Errorf("its steps are other ones")
	}
	return out, nil
}

// withoutJupyter is a front matter without the key of Jupyter's: in Markdown it would make a step of every fence.
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

// writeProse writes a text as it is, where it is nothing but prose.
func writeProse(b *bytes.Buffer, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	nb, err := notebooks.Parse("text.md", []byte("\n"+text+"\n"))
	if err != nil || len(nb.Steps)+len(nb.Declared) > 0 || strings.Contains(text, "<!-- markmill:") {
		fence(b, "markdown", text)
		return
	}
	b.WriteString(text + "\n\n")
}
