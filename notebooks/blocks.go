package notebooks

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	gmparser "github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Goldmark decides where the fences are; nothing here guesses at Markdown. Only its block parsers run: inlines
// cannot move a fence, and cost more than all the blocks.

const (
	// maxDepth bounds lists and quotes within each other. Goldmark's time grows with depth × lines, and with the
	// square of the depth that one line opens; text nested deeper is read as a paragraph.
	maxDepth = 16
	// maxReferenceLines bounds the paragraph in which link definitions are looked for, which is quadratic there.
	maxReferenceLines = 2000
)

// shallow is a container's parser that stops opening at maxDepth.
type shallow struct{ gmparser.BlockParser }

func (s shallow) Open(parent ast.Node, reader text.Reader, pc gmparser.Context) (ast.Node, gmparser.State) {
	if len(pc.OpenedBlocks()) >= 2*maxDepth { // a list level opens two blocks
		return nil, gmparser.NoChildren
	}
	return s.BlockParser.Open(parent, reader, pc)
}

// shortReferences takes link definitions out of paragraphs: a paragraph of nothing else is none, and the
// next line is then read in another way.
type shortReferences struct{}

func (shortReferences) Transform(node *ast.Paragraph, reader text.Reader, pc gmparser.Context) {
	if node.Lines().Len() <= maxReferenceLines {
		gmparser.LinkReferenceParagraphTransformer.Transform(node, reader, pc)
	}
}

// BlockParsers are goldmark's block parsers with the bounds above. A view that reads a notebook's Markdown takes
// these and ParagraphTransformers, so that it sees the fences that Parse sees.
func BlockParsers() []util.PrioritizedValue {
	return []util.PrioritizedValue{
		util.Prioritized(gmparser.NewSetextHeadingParser(), 100),
		util.Prioritized(gmparser.NewThematicBreakParser(), 200),
		util.Prioritized(shallow{gmparser.NewListParser()}, 300),
		util.Prioritized(gmparser.NewListItemParser(), 400),
		util.Prioritized(gmparser.NewCodeBlockParser(), 500),
		util.Prioritized(gmparser.NewATXHeadingParser(), 600),
		util.Prioritized(gmparser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(shallow{gmparser.NewBlockquoteParser()}, 800),
		util.Prioritized(gmparser.NewHTMLBlockParser(), 900),
		util.Prioritized(gmparser.NewParagraphParser(), 1000),
	}
}

// ParagraphTransformers look for link definitions, with the bound above.
func ParagraphTransformers() []util.PrioritizedValue {
	return []util.PrioritizedValue{util.Prioritized(shortReferences{}, 100)}
}

// newBlockParser makes a parser; more are block parsers to be tried besides goldmark's own.
func newBlockParser(more ...util.PrioritizedValue) gmparser.Parser {
	return gmparser.NewParser(gmparser.WithBlockParsers(append(BlockParsers(), more...)...),
		gmparser.WithParagraphTransformers(ParagraphTransformers()...))
}

// fence is a fenced code block of a source.
type fence struct {
	span   Span   // from the head of the opening line to the end of the closing one, its newline included
	info   Span   // the info string; empty when there is none
	body   Span   // the lines between
	tick   int    // offset of the first backtick or tilde
	inside string // "" at the top level, else what it stands in: "list", "quote"
	closed bool

	node *ast.FencedCodeBlock
	base int // offset of the text that goldmark read
}

// markup is an HTML block of a source.
type markup struct {
	span    Span
	comment bool
	open    bool   // it needs an end that never comes
	until   string // that end
}

// blocks is what a notebook is made of, as far as it matters here, in order.
type blocks struct {
	fences  []fence
	markups []markup
}

// scanBlocks finds the fences and HTML blocks of src from an offset on.
func scanBlocks(src []byte, from int) blocks {
	root := newBlockParser().Parse(text.NewReader(src[from:]))
	s := blockScan{src: src, base: from}
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		s.visit(n, "")
	}
	return s.blocks
}

type blockScan struct {
	src  []byte
	base int
	blocks
}

func (s *blockScan) visit(n ast.Node, inside string) {
	switch n := n.(type) {
	case *ast.FencedCodeBlock:
		s.fences = append(s.fences, s.fence(n, inside))
		return
	case *ast.HTMLBlock:
		s.markups = append(s.markups, s.markup(n))
		return
	case *ast.List:
		inside = "list"
	case *ast.Blockquote:
		inside = "quote"
	}
	if n.Type() == ast.TypeBlock {
		for c := n.FirstChild(); c != nil && c.Type() == ast.TypeBlock; c = c.NextSibling() {
			s.visit(c, inside)
		}
	}
}

func (s *blockScan) fence(n *ast.FencedCodeBlock, inside string) fence {
	f := fence{tick: n.Pos() + s.base, inside: inside, node: n, base: s.base}
	f.span.Start = bytes.LastIndexByte(s.src[:f.tick], '\n') + 1
	f.span.Start = max(f.span.Start, s.base)
	f.body.Start = lineEnd(s.src, f.tick)
	f.info = Span{f.body.Start, f.body.Start}
	if n.Info != nil {
		f.info = Span{n.Info.Segment.Start + s.base, n.Info.Segment.Stop + s.base}
	}
	f.body.End = f.body.Start
	if lines := n.Lines(); lines.Len() > 0 {
		f.body.End = lines.At(lines.Len()-1).Stop + s.base
	}
	f.closed = inside != "" || f.body.End < len(s.src)
	f.span.End = f.body.End
	if f.closed && inside == "" {
		f.span.End = lineEnd(s.src, f.body.End)
	}
	return f
}

// code is the text between the fences: without the indentation of the fence, lines ending with \n.
func (f *fence) code(src []byte) []byte {
	code := src[f.body.Start:f.body.End]
	if f.tick > f.span.Start {
		code = f.node.Lines().Value(src[f.base:])
	}
	if bytes.Contains(code, []byte("\r\n")) {
		code = bytes.ReplaceAll(code, []byte("\r\n"), []byte("\n"))
	}
	return code
}

func (s *blockScan) markup(n *ast.HTMLBlock) markup {
	lines := n.Lines()
	m := markup{comment: n.HTMLBlockType == ast.HTMLBlockType2}
	m.span = Span{lines.At(0).Start + s.base, lines.At(lines.Len()-1).Stop + s.base}
	if n.HasClosure() {
		m.span.End = n.ClosureLine.Stop + s.base
	}
	switch n.HTMLBlockType {
	case ast.HTMLBlockType1:
		m.until = "its closing tag"
	case ast.HTMLBlockType2:
		m.until = "-->"
	case ast.HTMLBlockType3:
		m.until = "?>"
	case ast.HTMLBlockType4:
		m.until = ">"
	case ast.HTMLBlockType5:
		m.until = "]]>"
	}
	// A block that is closed on its first line has no closure line, and one that is never closed goes to the end.
	m.open = m.until != "" && !n.HasClosure() && lines.Len() > 1 && m.span.End == len(s.src)
	if m.until != "" && lines.Len() == 1 && m.span.End == len(s.src) && m.comment {
		m.open = !bytes.Contains(s.src[m.span.Start:m.span.End], []byte("-->"))
	}
	return m
}
