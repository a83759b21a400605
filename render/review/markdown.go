package review

import (
	"bytes"
	"fmt"
	"strings"

	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
	"markmill/render"
	"markmill/render/diffview"
	"markmill/render/safe"
)

// Marker begins the comment, so that a bot can find its own comment again.
const Marker = "<!-- markmill:review -->"

// LeastLimit is the smallest useful limit of a comment, in bytes.
const LeastLimit = 2000

// Markdown renders the review as a pull request comment of at most limit bytes: findings, a line for each notebook,
// then details.
func (r *Review) Markdown(limit int) []byte {
	c := render.NewComment(limit, "`markmill review` with `--html FILE` or `--max-bytes` shows all")
	c.Put(Marker + "\n## " + r.VerdictSign() + " " + r.VerdictWords() + "\n\n")
	base, head := r.Title()
	c.Put(render.CodeSpan(base) + " → " + render.CodeSpan(head))
	if words := r.OutputWords(); words != "" {
		c.Put(" · outputs: " + words)
	}
	if words := r.ProofWords(); words != "" {
		c.Put(" · proof: " + words)
	}
	if words := r.ReadsWords(); words != "" {
		c.Put(" · what the tests read is not known: " + render.Words(words))
	}
	c.Put(" · fails on: " + r.failWords() + "\n\n")
	r.judged(c)
	if len(r.Findings) > 0 {
		r.findings(c)
	}
	// The list may use half of the room.
	half := c.Left() / 2
	for _, n := range r.Notebooks {
		if !n.Leads() {
			continue
		}
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

// judged adds what the base's tests came to, as a table and a line of what it cost.
func (r *Review) judged(c *render.Comment) {
	if r.Judged == nil {
		return
	}
	if rows := r.Judged.Table(); len(rows) > 0 {
		var b strings.Builder
		fmt.Fprintf(&b, "| %s |\n| --- | --- | --- | --- |\n", strings.Join(JudgedColumns[:], " | "))
		for _, row := range rows {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", render.CodeSpan(row[0]), cellWords(row[1]), cellWords(row[2]),
				cellWords(row[3]))
		}
		if b.Len() > c.Left()/3 || !c.Put(b.String()+"\n") {
			c.Omit("judged notebooks")
		}
	}
	c.Put(r.Judged.CostWords() + "\n\n")
}

func cellWords(words string) string { return strings.ReplaceAll(render.Words(words), "|", "\\|") }

// Bounds of a finding's words, in bytes, tried in turn until all findings fit.
var findingWords = []int{600, 120, 0}

// findings adds the findings. They are never cut in favor of what follows. If they do not fit, each becomes shorter;
// the rest is counted by condition, objections first.
func (r *Review) findings(c *render.Comment) {
	const title, rest = "**What to look at first:**\n\n", 300
	c.Put(title)
	var lines []string
	for _, most := range findingWords {
		size := 0
		lines = lines[:0]
		for i := range r.Findings {
			lines = append(lines, findingLine(&r.Findings[i], most))
			size += len(lines[i])
		}
		if size < c.Left()-rest {
			break
		}
	}
	for i, line := range lines {
		if len(line) < c.Left()-rest {
			c.Put(line)
			continue
		}
		left := map[Condition]int{}
		for _, f := range r.Findings[i:] {
			left[f.Condition]++
		}
		c.Put("- " + r.Findings[i].Sign() + " " + fmt.Sprintf("%d more: %s\n",
			len(lines)-i, countWords(left, Conditions)))
		break
	}
	c.Put("\n")
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Diff == "" {
			continue
		}
		var b bytes.Buffer
		b.WriteString("<details open><summary>" + safe.HTML(f.Words) + "</summary>\n\n")
		safe.Fence(&b, "diff", f.Diff)
		b.WriteString("\n</details>\n\n")
		if b.Len() > c.Left()/4 || !c.Put(b.String()) {
			c.Omit("changes of tests")
		}
	}
}

// findingLine formats a finding with at most the given number of bytes of words.
func findingLine(f *Finding, most int) string {
	line := "- " + f.Sign() + " " + render.CodeSpan(f.Path)
	if f.Step != "" {
		line += " " + render.CodeSpan(f.Step)
	}
	words := f.Words
	if most == 0 {
		words = string(f.Condition)
	} else if len(words) > most {
		words = strings.ToValidUTF8(words[:most], "") + "…"
	}
	line += ": " + render.Words(words)
	if f.ID != "" && most > 0 {
		line += " · " + render.CodeSpan(f.ID)
	}
	return line + "\n"
}

// summary is Summary with paths as code.
func summary(n *Notebook) string {
	words := render.Words(n.Summary())
	if n.From != "" {
		words = strings.Replace(words, render.Words(n.From), render.CodeSpan(n.From), 1)
	}
	for _, m := range n.members {
		words = strings.Replace(words, ", with "+render.Words(m.Path), ", with "+render.CodeSpan(m.Path), 1)
	}
	return words
}

// notebook appends the details of one notebook. It may use half of the room, so that those after it fit, too.
func (r *Review) notebook(c *render.Comment, n *Notebook, toCome int) {
	notes := n.Notes()
	if len(notes) == 0 && (n.Change == Removed || n.Diff != nil && n.Diff.Same) { // the list says it
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s %s %s\n", n.heading(), r.Sign(n), render.CodeSpan(n.Path))
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
	if words, at := n.textWords(); words != "" {
		b.WriteString("\n" + words + " " + render.CodeSpan(at) + ".\n")
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
	c.Sections(n.Sections(), n.heading()+"#", most)
}

// heading returns the heading marks of a notebook: one level deeper below its source.
func (n *Notebook) heading() string {
	if n.Leads() {
		return "###"
	}
	return "####"
}

// Sections returns the comparison of a notebook: without its text if another notebook shows that, and without marks
// of approval on what is only claimed.
func (n *Notebook) Sections() []diffview.Section {
	list := diffview.Sections
	if n.TextAt != "" {
		list = diffview.Results
	}
	out := list(n.Diff)
	if n.Claimed() {
		for i := range out {
			for j := range out[i].Entries {
				if e := &out[i].Entries[j]; e.Sign == signWell {
					e.Sign, e.Tone = signClaimed, diffview.Neutral
				}
			}
		}
	}
	return out
}

// textWords says where the text of a notebook is compared, if elsewhere.
func (n *Notebook) textWords() (words, at string) {
	if n.TextAt == "" || n.Diff == nil || n.Diff.Counts == (diff.Counts{Same: n.Diff.Counts.Same}) &&
		n.Diff.Prose == (diff.Counts{Same: n.Diff.Prose.Same}) {
		return "", ""
	}
	return "Its text is that of", n.TextAt
}

// JSON returns the review for programs (docs/schemas/review.json). If most is not 0, the comparisons of the least
// important notebooks are dropped until it fits.
func (r *Review) JSON(most int) ([]byte, error) {
	text, err := codec.Indent(r)
	for i := len(r.Notebooks); err == nil && most > 0 && len(text) > most && i > 0; {
		for over := len(text) - most; over > 0 && i > 0; {
			i--
			n := r.Notebooks[i]
			if n.Comparison == nil {
				continue
			}
			part, err := codec.Marshal(n.Comparison) // which is less than it takes when it is indented
			if err != nil {
				return nil, err
			}
			over -= len(part)
			n.Comparison, n.Cut = nil, true
		}
		text, err = codec.Indent(r)
	}
	if err != nil {
		return nil, err
	}
	// A workflow log on GitHub takes this for a command anywhere. In JSON it can only occur within a string.
	return []byte(strings.ReplaceAll(string(text), "##[", `\u0023#[`)), nil
}
