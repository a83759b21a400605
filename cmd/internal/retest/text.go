package retest

import (
	"fmt"
	"strings"

	"markmill/cmd/internal/files"
	"markmill/render/compare"
	"markmill/render/plain"
)

// Text is the report for people, with the differences as diffs; color adds escape sequences of terminals.
func (r *Report) Text(color bool) string {
	var b strings.Builder
	for _, n := range r.Notebooks {
		n.write(&b, color)
	}
	b.WriteString(r.counts() + "\n")
	return b.String()
}

func (n *Notebook) write(b *strings.Builder, color bool) {
	mark := "✗"
	switch n.Status {
	case Same, Updated:
		mark = "✓"
	case Skipped, Blocked:
		mark = "○"
	}
	fmt.Fprintf(b, "%s %s · %s\n", mark, plain.Escape(n.Notebook), n.summary())
	switch {
	case !n.Stale || n.Status == Updated:
	case n.job.output.merged():
		fmt.Fprintf(b, "%s: a merge made it from the outputs of two runs\n", plain.Escape(n.Stored))
	default:
		fmt.Fprintf(b, "%s: it is the output of another source than %s is now\n",
			plain.Escape(n.Stored), plain.Escape(slashed(n.job.path)))
	}
	for _, words := range n.Words {
		fmt.Fprintf(b, "%s\n", plain.Escape(words))
	}
	for _, s := range n.Steps {
		if s.Verdict != compare.Different && s.Verdict != compare.Failed {
			continue
		}
		where := plain.Escape(place(n.Notebook, s.Line))
		fmt.Fprintf(b, "%s: step %q: %s: %s\n", where, s.Step, s.Verdict, plain.Escape(s.Words))
		for line := range strings.Lines(s.Diff) {
			if color {
				line = paint(line)
			}
			b.WriteString(line)
		}
		if len(s.Normalize) > 0 {
			list := strings.Join(s.Normalize, ", ")
			fmt.Fprintf(b, "all of it varies from run to run: mask it with normalize: [%s] in the front matter, "+
				"or normalize=%s at the step\n", list, strings.ReplaceAll(list, ", ", ","))
		}
	}
	if len(n.dirty) > 0 && (n.Status == Different || n.Status == Failed) {
		fmt.Fprintf(b, "uncommitted, and so not in the run: %s; --dirty include adds it\n",
			plain.Escape(plain.Some(n.dirty, 3)))
	}
	if n.Run != "" && n.Status != Same && n.Status != Updated {
		fmt.Fprintf(b, "the run: %s\n", plain.Escape(files.Short(n.Run)))
	}
}

// paint colours a line of a diff.
func paint(line string) string {
	color := map[byte]string{'+': "32", '-': "31", '@': "36"}[line[0]]
	if color == "" {
		return line
	}
	return "\x1b[" + color + "m" + strings.TrimSuffix(line, "\n") + "\x1b[0m\n"
}

// summary counts the steps by their verdict.
func (n *Notebook) summary() string {
	if len(n.Steps) == 0 {
		return string(n.Status)
	}
	count := map[compare.Verdict]int{}
	for _, s := range n.Steps {
		count[s.Verdict]++
	}
	var parts []string
	for _, v := range []compare.Verdict{
		compare.Same, compare.Different, compare.Failed, compare.Unchecked, compare.Skipped,
	} {
		if c := count[v]; c > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c, v))
		}
	}
	words := strings.Join(parts, ", ")
	switch n.Status {
	case Updated:
		return "updated " + n.Stored + ": " + words
	case Same, Different, Failed:
		return words
	}
	return string(n.Status) + ": " + words
}

// counts is the last line: the notebooks by their status.
func (r *Report) counts() string {
	count := map[Status]int{}
	for _, n := range r.Notebooks {
		count[n.Status]++
	}
	var parts []string
	for _, status := range severity {
		if count[status] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[status], status))
		}
	}
	return strings.TrimSuffix(plain.Counted(len(r.Notebooks), "notebook")+": "+strings.Join(parts, ", "), ": ")
}
