package sheet

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strings"

	"markmill/render/plain"
	"markmill/render/safe"
	"markmill/runs"
)

// kindWords are what a page calls the columns of a kind.
var kindWords = map[string]string{"parameter": "Parameters", "scrap": "Scraps", "tests": "Tests", "change": "Change",
	"cost": "Cost"}

// arrows say on a page which values of a column are better.
var arrows = map[Better]string{Lower: " ↓", Higher: " ↑"}

// Page is the comparison as the document of a page, and its title. The name of a column stands behind its kind.
func (t *Compared) Page() (title string, doc []byte) {
	title = "run"
	if len(t.Runs) > 0 && t.Runs[0].Attempt != "" {
		title = "attempt"
	}
	title = plain.Counted(len(t.Runs), title) + " compared"
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n", title)
	if !slices.ContainsFunc(t.Runs, func(c *ComparedRun) bool { return c.Notebook != t.Runs[0].Notebook }) {
		fmt.Fprintf(&b, "of %s\n\n", safe.CodeSpan(plain.OneLine(t.Runs[0].Notebook)))
	}
	if t.Note != "" {
		b.WriteString(safe.Inline(plain.OneLine(t.Note)) + "\n\n")
	}
	if len(t.Same) > 0 {
		b.WriteString("The same in all:")
		for _, words := range t.SameWords() {
			b.WriteString(" " + safe.CodeSpan(words))
		}
		b.WriteString("\n\n")
	}
	shown := Sheet{marks: t.Marks}
	for _, c := range t.Headings {
		name := c.Name
		if kind := kindWords[c.Kind]; kind != "" {
			name = kind + " · " + strings.TrimPrefix(name, "tests ")
		}
		if c.Marked {
			name += arrows[c.Better]
		}
		shown.Columns = append(shown.Columns, name)
	}
	for i, run := range t.Runs {
		row := slices.Clone(t.Rows[i])
		if run.Attempt == "" && !run.Started.IsZero() {
			row[0] = text(runs.RunID(run.Run).Short() + " · " + run.Started.UTC().Format("2006-01-02 15:04:05Z"))
		}
		shown.Rows = append(shown.Rows, row)
	}
	w := bufio.NewWriter(&b)
	shown.markdown(w)
	_ = w.Flush() // a buffer makes no error
	if legend := t.Legend(); legend != "" {
		fmt.Fprintf(&b, "\n%s. A run that did not pass is never the best.\n", legend)
	}
	return title, b.Bytes()
}
