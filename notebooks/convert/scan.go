package convert

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	gtext "github.com/yuin/goldmark/text"

	"markmill/notebooks"
)

// fenced is a fence of Markdown that stands in no list and no quote: lines from first to before next, its code between.
type fenced struct {
	first, next int
	info        string
	code        []line
	closed      bool
}

// fences finds the fences as a run does.
func (t *text) fences(from int) []fenced {
	p := parser.NewParser(parser.WithBlockParsers(notebooks.BlockParsers()...), parser.WithParagraphTransformers(notebooks.ParagraphTransformers()...))
	base := t.at(from)
	src := []byte(t.src[base:])
	var all []fenced
	i := from
	for n := p.Parse(gtext.NewReader(src)).FirstChild(); n != nil; n = n.NextSibling() {
		f, ok := n.(*ast.FencedCodeBlock)
		if !ok {
			continue
		}
		at := n.Pos() + base
		for i < len(t.lines) && t.at(i+1) <= at {
			i++
		}
		one := fenced{first: i, next: i + 1 + f.Lines().Len()}
		if f.Info != nil {
			one.info = strings.TrimSpace(string(f.Info.Segment.Value(src)))
		}
		indent := len(t.lines[i].text) - len(strings.TrimLeft(t.lines[i].text, " "))
		for _, l := range t.lines[min(i+1, len(t.lines)):min(one.next, len(t.lines))] {
			bare := strings.TrimLeft(l.text, " ")
			l.text = l.text[min(indent, len(l.text)-len(bare)):]
			one.code = append(one.code, l)
		}
		if one.next < len(t.lines) {
			one.next++
			one.closed = true
		}
		all = append(all, one)
	}
	return all
}

// trimmed is the range of lines without empty ones at both ends.
func (t *text) trimmed(first, next int) (int, int) {
	for first < next && blankLine.MatchString(t.lines[first].text) {
		first++
	}
	for next > first && blankLine.MatchString(t.lines[next-1].text) {
		next--
	}
	return first, next
}

// frontMatter is the YAML between two lines of --- at the head; next is the line after it.
func (t *text) frontMatter() (yaml string, next int) {
	if len(t.lines) == 0 || !ruleLine.MatchString(t.lines[0].text) {
		return "", 0
	}
	for i := 1; i < len(t.lines); i++ {
		if ruleLine.MatchString(t.lines[i].text) {
			return join(t.lines[1:i]) + "\n", i + 1
		}
	}
	return "", 0
}
