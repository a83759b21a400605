package terminal

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"golang.org/x/term"

	"markmill/notebooks/diff"
	"markmill/render/plain"
	"markmill/render/view"
)

// Document prints the document of a view. Items are wrapped and tables cut to width columns; 0 leaves them.
func Document(w io.Writer, doc []byte, width int, color bool) error {
	d := document{src: doc, width: width, color: color}
	d.blocks(view.Parse(doc), "")
	_, err := io.WriteString(w, d.String())
	return err
}

// document prints a document.
type document struct {
	strings.Builder
	src   []byte
	width int
	rows  int // that are shown of a table; 0: all
	color bool
	after ast.NodeKind // of the block above; that of folds below the title of one
}

func (d *document) paint(text, state string) string {
	return paint(text, inks[state], d.color && inks[state] != "")
}

// sign prints a sign, and the space behind it.
func (d *document) sign(sign string) string {
	if sign == "" {
		return ""
	}
	return d.paint(sign, view.State(sign)) + " "
}

// blocks prints the blocks below a node. A paragraph follows without an empty line, and so does what a title is of.
func (d *document) blocks(parent ast.Node, indent string) {
	for _, n := range view.Children(parent) {
		titled := d.after == view.KindFold || d.after == ast.KindHeading && n.Kind() != ast.KindHeading
		if n.Kind() != ast.KindParagraph && parent.Kind() != ast.KindListItem && !titled && d.Len() > 0 {
			d.WriteByte('\n')
		}
		d.after = n.Kind()
		switch n := n.(type) {
		case *ast.Heading:
			d.heading(view.Spans(n, d.src), indent)
		case *view.Fold:
			if parent.Kind() == ast.KindListItem { // which is its title
				d.blocks(n, indent)
			} else {
				d.heading([]view.Span{{Text: n.Title}}, indent)
				d.blocks(n, indent+"  ")
			}
			d.after = ast.KindParagraph
		case *ast.Paragraph:
			d.paragraph(indent, view.Spans(n, d.src))
		case *ast.List:
			d.list(n, indent)
		case *ast.FencedCodeBlock:
			d.fence(n, indent)
		case *extast.Table:
			d.table(n, indent)
		}
	}
}

// heading prints a title: a verdict in the color of its sign, else a name in bold and what is said of it.
func (d *document) heading(spans []view.Span, indent string) {
	sign, rest := view.SignOf(spans)
	words := view.Text(rest)
	name, aside := words, ""
	if at := strings.Index(words, ": "); at >= 0 {
		name, aside = words[:at], words[at:]
	} else if at := strings.Index(words, " · "); at >= 0 && sign == "" {
		name, aside = words[:at], paint(words[at:], dim, d.color)
	} else {
		name = d.paint(name, view.State(sign))
	}
	d.line(indent + d.sign(sign) + bold(name, d.color) + aside)
}

// paragraph prints words that say more of what stands above them.
func (d *document) paragraph(indent string, spans []view.Span) {
	sign, rest := view.SignOf(spans)
	if sign != "" {
		d.line(indent + d.sign(sign) + d.spans(rest))
	} else {
		d.line(indent + paint(view.Text(rest), dim, d.color))
	}
}

// spans prints a line with its names in bold. Code behind " · " is what shows more.
func (d *document) spans(spans []view.Span) string {
	var b strings.Builder
	for _, s := range spans {
		switch {
		case s.Code && strings.HasSuffix(b.String(), " · "):
			b.WriteString(paint(s.Text, dim, d.color))
		case s.Code || s.Strong:
			b.WriteString(bold(s.Text, d.color))
		default:
			b.WriteString(s.Text)
		}
	}
	return b.String()
}

func (d *document) line(text string) { d.WriteString(strings.TrimRight(text, " ") + "\n") }

// wrapped prints a line behind a lead, wrapped between words.
func (d *document) wrapped(lead, text string) {
	if d.width > 0 {
		text = ansi.Wrap(text, max(d.width-lipgloss.Width(lead), leastWidth/2), "")
	}
	for i, line := range strings.Split(text, "\n") {
		if i == 1 {
			lead = strings.Repeat(" ", lipgloss.Width(lead))
		}
		d.line(lead + line)
	}
}

func (d *document) list(list *ast.List, indent string) {
	if indent == "" && !list.IsOrdered() {
		indent = "  "
	}
	for i, item := range view.Children(list) {
		lead := indent
		if list.IsOrdered() {
			lead = fmt.Sprintf("%s%d. ", indent, list.Start+i)
		}
		if first := item.FirstChild(); first != nil {
			sign, rest := view.SignOf(view.Spans(first, d.src))
			d.wrapped(lead, d.sign(sign)+d.spans(rest))
			item.RemoveChild(item, first)
		}
		d.blocks(item, indent+"  ")
	}
	d.after = ast.KindList
}

// fence prints lines; those of a patch in their colors, with the changed words in reverse video.
func (d *document) fence(n *ast.FencedCodeBlock, indent string) {
	var lines []string
	for i := range n.Lines().Len() {
		at := n.Lines().At(i)
		lines = append(lines, plain.Escape(strings.TrimSuffix(string(at.Value(d.src)), "\n")))
	}
	if string(n.Language(d.src)) != "diff" {
		for _, l := range lines {
			d.line(indent + l)
		}
		return
	}
	for i := 0; i < len(lines); {
		var h diff.Hunk
		for ; i < len(lines) && strings.HasPrefix(lines[i], "-"); i++ {
			h.Old = append(h.Old, lines[i][1:]+"\n")
		}
		for ; i < len(lines) && strings.HasPrefix(lines[i], "+"); i++ {
			h.New = append(h.New, lines[i][1:]+"\n")
		}
		old, new, words := diff.Words(h)
		if !words {
			old, new = nil, nil
		}
		d.changed(indent, "-", red, h.Old, old)
		d.changed(indent, "+", green, h.New, new)
		if i < len(lines) && !strings.HasPrefix(lines[i], "-") {
			mark, text, ink := "", lines[i], ""
			switch {
			case strings.HasPrefix(text, "@@"):
				ink = cyan
			case strings.HasPrefix(text, " "):
				mark, text = "  ", text[1:]
			default: // what is left out
				ink = dim
			}
			d.line(indent + mark + paint(text, ink, d.color && ink != ""))
			i++
		}
	}
}

// changed prints lines that only one side has.
func (d *document) changed(indent, mark, ink string, lines []string, words [][]diff.Segment) {
	style := lipgloss.NewStyle().Foreground(lipgloss.Color(ink)).TabWidth(lipgloss.NoTabConversion)
	for i, l := range lines {
		line := indent + paint(mark+" ", ink, d.color)
		segments := []diff.Segment{{Text: l}}
		if words != nil {
			segments = words[i]
		}
		for _, s := range segments {
			if text := strings.TrimSuffix(s.Text, "\n"); d.color && text != "" {
				line += style.Reverse(s.Changed).Render(text)
			} else {
				line += text
			}
		}
		d.line(line)
	}
}

func (d *document) table(n *extast.Table, indent string) {
	var t table
	rows := view.Children(n)
	left := len(rows) - 1 - d.rows
	if d.rows > 0 && left > 0 {
		rows = rows[:1+d.rows]
	}
	for i, row := range rows {
		cells := make([]cell, 0, len(n.Alignments))
		for k, c := range view.Children(row) {
			one := cell{text: view.Text(view.Spans(c, d.src))}
			if view.IsStrip(one.text) {
				t.whole = append(t.whole, k)
			}
			if one.color = inks[view.State(one.text)]; i == 0 || k == 0 && len(t.rows) == i-1 {
				one.color = dim // the titles, or in a table without titles the first column
			}
			cells = append(cells, one)
		}
		if i > 0 || slices.ContainsFunc(cells, func(c cell) bool { return c.text != "" }) {
			t.add(cells...)
		}
	}
	for i, a := range n.Alignments {
		if a == extast.AlignRight {
			t.right = append(t.right, i)
		}
	}
	if d.width > 0 {
		t.fit(d.width - lipgloss.Width(indent))
	}
	_ = t.write(d, indent, d.color) // a builder makes no error
	if d.rows > 0 && left > 0 {
		d.line(indent + paint("… "+plain.Counted(left, "more row"), dim, d.color))
	}
}

// Colors are the terminal's own sixteen, which its user made readable.
const (
	green  = "2"
	red    = "1"
	yellow = "3"
	cyan   = "6"
	dim    = "8"
)

func paint(s, color string, on bool) string {
	if !on || s == "" {
		return s
	}
	return lipgloss.NewStyle().Foreground(lipgloss.Color(color)).Render(s)
}

func bold(s string, on bool) string {
	if !on {
		return s
	}
	return lipgloss.NewStyle().Bold(true).Render(s)
}

// inks are the colors of states.
var inks = map[string]string{"pass": green, "fail": red, "timeout": yellow, "skip": yellow, "edit": yellow}

// inkOf is the color of a run or a step by its status.
func inkOf(status string) string { return cmp.Or(inks[view.State(status)], yellow) }

// Detect chooses how to show progress on f. getenv reads the environment: a nonempty NO_COLOR (no-color.org)
// disables color; CI and TERM=dumb disable color and the live line.
func Detect(f *os.File, getenv func(string) string) Options {
	fd := int(f.Fd())
	tty := term.IsTerminal(fd) && getenv("TERM") != "dumb" && getenv("CI") == "" && enable(f)
	return Options{
		Terminal: tty,
		Color:    tty && getenv("NO_COLOR") == "",
		Width: func() int {
			if w, _, err := term.GetSize(fd); err == nil && w > 0 {
				return w
			}
			return 80
		},
	}
}
