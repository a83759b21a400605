package review

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
	"markmill/render"
	"markmill/render/diffview"
	"markmill/render/plain"
	"markmill/render/view"
)

// Marker begins the comment, so that a bot can find its own comment again.
const Marker = "<!-- markmill:review -->"

// LeastLimit is the smallest useful limit of a comment, in bytes.
const LeastLimit = 2000

// Markdown renders the view as a pull request comment of at most limit bytes: the first screen, then the changed code
// and, folded, each notebook.
func (v *View) Markdown(limit int) []byte { return v.markdown(limit, nil) }

// Page is the view as the document of a page, which shows each comparison itself: a fence of the language view.Island
// has its place in compared.
func (v *View) Page() (doc []byte, compared []*Fold) {
	doc = v.markdown(math.MaxInt32, &compared)
	return doc, compared
}

// markdown writes the comparisons, or, into compared, those that stand on islands.
func (v *View) markdown(limit int, compared *[]*Fold) []byte {
	c := render.NewComment(limit, "`markmill review` with `--html FILE` or `--max-bytes` shows all")
	c.Put(Marker + "\n## " + v.Sign + " " + render.Words(v.Verdict) + "\n\n")
	head := render.CodeSpan(v.Base) + " → " + render.CodeSpan(v.Head)
	for _, words := range v.Facts {
		head += " · " + render.Words(words)
	}
	c.Put(head + "\n\n")
	v.findings(c)
	if table := tableText(v.Table); len(table) > c.Left()/2 || !c.Put(table) {
		c.Omit("the table")
	}
	for _, words := range v.Notes {
		c.Put(render.Words(words) + "\n\n")
	}
	if len(v.More) > 0 {
		body := render.NewComment(c.Left()/2+render.LastLine, "")
		for i := range v.More {
			if !body.Put("- " + v.More[i].markdown(findingWords[0])) {
				body.Omit("findings")
			}
		}
		c.Join(body)
		if !fold(c, "", plain.Counted(len(v.More), "more finding")+": "+v.MoreWords, string(body.Text())) {
			c.Omit("findings")
		}
	}
	for _, p := range v.Changed {
		var b bytes.Buffer
		render.FenceLines(&b, "diff", p.Text)
		if b.Len() > c.Left()/2 || !fold(c, " open", p.Title, b.String()) {
			c.Omit("changed code")
		}
	}
	if v.Unshown != nil {
		c.Put(render.Words(v.Unshown[0]) + ": " + render.CodeSpan(v.Unshown[1]) + "\n\n")
	}
	for i := range v.Folds {
		v.Folds[i].markdown(c, len(v.Folds)-i, compared)
	}
	return c.Bytes()
}

// fold adds folded Markdown if it fits.
func fold(c *render.Comment, open, title, body string) bool {
	return c.Put("<details" + open + "><summary>" + render.HTML(title) + "</summary>\n\n" + strings.TrimSpace(body) +
		"\n\n</details>\n\n")
}

// tableText is a table whose first column has names; "" without rows.
func tableText(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		cells := make([]string, len(row))
		for k, words := range row {
			cells[k] = strings.ReplaceAll(render.Words(words), "|", "\\|")
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
		if i == 0 {
			b.WriteString(strings.Repeat("| --- ", len(row)) + "|\n")
		}
	}
	if len(rows) > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

// Bounds of a finding's words, in bytes, tried in turn until all findings fit.
var findingWords = []int{600, 120, 0}

// findings adds the numbered findings. They are never cut in favor of what follows: if they do not fit, each becomes
// shorter, and the rest is counted.
func (v *View) findings(c *render.Comment) {
	if len(v.Findings) == 0 {
		return
	}
	const rest = 300
	var lines []string
	for _, most := range findingWords {
		size := 0
		lines = lines[:0]
		for i := range v.Findings {
			lines = append(lines, fmt.Sprintf("%d. %s", i+1, v.Findings[i].markdown(most)))
			size += len(lines[i])
		}
		if size < c.Left()-rest {
			break
		}
	}
	more, words := len(v.More), v.MoreWords
	for i, line := range lines {
		if len(line) < c.Left()-rest {
			c.Put(line)
			continue
		}
		left := slices.Concat(v.Findings[i:], v.More)
		more, words = len(left), countLines(left)
		break
	}
	if more > 0 {
		c.Put(fmt.Sprintf("\nand %d more: %s\n", more, words))
	}
	c.Put("\n")
}

// markdown formats a finding with at most the given number of bytes of words; the others of its name go last.
func (l *Line) markdown(most int) string {
	line := l.Sign + " " + render.CodeSpan(l.Path)
	if l.Others > 0 {
		line += " and " + plain.Counted(l.Others, "other")
	}
	if l.Step != "" {
		line += ", step " + render.CodeSpan(l.Step)
	}
	words := l.Words
	if most == 0 {
		words = string(l.on)
	} else if len(words) > most {
		words = strings.ToValidUTF8(words[:most], "") + "…"
	}
	line += ": " + render.Words(words)
	if most > findingWords[1] {
		line += " · " + render.CodeSpan(l.Command)
	}
	if l.ID != "" && most > 0 {
		line += " · " + render.CodeSpan(l.ID)
	}
	return line + "\n"
}

// markdown adds the details of a notebook, folded. It may use half of the room, so that those after it fit, too.
func (f *Fold) markdown(c *render.Comment, toCome int, compared *[]*Fold) {
	most := c.Left()
	if toCome > 1 {
		most /= 2
	}
	body := render.NewComment(max(most, 500)+render.LastLine, "")
	f.body(body, compared)
	c.Join(body)
	title := f.Sign + " " + f.Path + ": " + f.Summary()
	if !fold(c, "", title, string(body.Text())) {
		c.Omit("notebooks")
	}
}

// body adds what a fold holds.
func (f *Fold) body(c *render.Comment, compared *[]*Fold) {
	var b strings.Builder
	for _, note := range f.Notes() {
		subject := ""
		if note.Subject != "" && note.Subject != f.Path {
			subject = render.CodeSpan(note.Subject) + ": "
		}
		fmt.Fprintf(&b, "- %s %s%s\n", note.Sign, subject, render.Words(note.Words))
	}
	if f.Table != nil {
		b.WriteString("\n" + tableText(f.Table))
	}
	if words, at := f.TextWords(); words != "" {
		b.WriteString("\n" + words + " " + render.CodeSpan(at) + ".\n")
	}
	if !c.Put(strings.TrimPrefix(b.String(), "\n")) {
		c.Omit("notebooks in full")
		return
	}
	switch {
	case !f.Compared():
	case compared != nil:
		c.Put(fmt.Sprintf("\n```%s\n%d\n```\n", view.Island, len(*compared)))
		*compared = append(*compared, f)
	default:
		c.Sections(f.Sections(), "####", c.Left())
	}
	for i := range f.Members {
		c.Put("\n")
		f.Members[i].markdown(c, len(f.Members)-i, compared)
	}
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
					e.Sign = signClaimed
				}
			}
		}
	}
	return out
}

// TextWords says where the text of a notebook is compared, if elsewhere.
func (n *Notebook) TextWords() (words, at string) {
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
