package blocks

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	gmparser "github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
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

// chunkedHTML ends an HTML block, such as <div>, at a chunk: knitr, Quarto and Jupytext run ```{r} behind any line. In
// comments, <pre> and <script> it stays text.
type chunkedHTML struct{ gmparser.BlockParser }

func (c chunkedHTML) Continue(n ast.Node, reader text.Reader, pc gmparser.Context) gmparser.State {
	line, _ := reader.PeekLine()
	if n.(*ast.HTMLBlock).HTMLBlockType >= ast.HTMLBlockType6 && opensChunk(string(line)) {
		return gmparser.Close
	}
	return c.BlockParser.Continue(n, reader, pc)
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
		util.Prioritized(chunkedHTML{gmparser.NewHTMLBlockParser()}, 900),
		util.Prioritized(gmparser.NewParagraphParser(), 1000),
	}
}

// ParagraphTransformers look for link definitions, with the bound above.
func ParagraphTransformers() []util.PrioritizedValue {
	return []util.PrioritizedValue{util.Prioritized(shortReferences{}, 100)}
}

// NewParser makes a parser; more are block parsers to be tried besides goldmark's own.
func NewParser(more ...util.PrioritizedValue) gmparser.Parser {
	return gmparser.NewParser(gmparser.WithBlockParsers(append(BlockParsers(), more...)...),
		gmparser.WithParagraphTransformers(ParagraphTransformers()...))
}

// Fence is a fenced code block of a source.
type Fence struct {
	Span   notebooks.Span // from the head of the opening line to the end of the closing one, its newline included
	Info   notebooks.Span // the info string; empty when there is none
	body   notebooks.Span // the lines between
	Tick   int            // offset of the first backtick or tilde
	Inside string         // "" at the top level, else what it stands in: "list", "quote"
	Closed bool

	node *ast.FencedCodeBlock
	base int // offset of the text that goldmark read
}

// Markup is an HTML block of a source.
type Markup struct {
	Span    notebooks.Span
	Comment bool
	Open    bool   // it needs an end that never comes
	Until   string // that end
}

// Scan finds the fences and the HTML blocks of src from an offset on, in order.
func Scan(src []byte, from int) ([]Fence, []Markup) {
	root := NewParser().Parse(text.NewReader(src[from:]))
	s := blockScan{src: src, base: from}
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		s.visit(n, "")
	}
	return s.fences, s.markups
}

type blockScan struct {
	src     []byte
	base    int
	fences  []Fence
	markups []Markup
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

func (s *blockScan) fence(n *ast.FencedCodeBlock, inside string) Fence {
	f := Fence{Tick: n.Pos() + s.base, Inside: inside, node: n, base: s.base}
	f.Span.Start = bytes.LastIndexByte(s.src[:f.Tick], '\n') + 1
	f.Span.Start = max(f.Span.Start, s.base)
	f.body.Start = LineEnd(s.src, f.Tick)
	f.Info = notebooks.Span{Start: f.body.Start, End: f.body.Start}
	if n.Info != nil {
		f.Info = notebooks.Span{Start: n.Info.Segment.Start + s.base, End: n.Info.Segment.Stop + s.base}
	}
	f.body.End = f.body.Start
	if lines := n.Lines(); lines.Len() > 0 {
		f.body.End = lines.At(lines.Len()-1).Stop + s.base
	}
	f.Closed = inside != "" || f.body.End < len(s.src)
	f.Span.End = f.body.End
	if f.Closed && inside == "" {
		f.Span.End = LineEnd(s.src, f.body.End)
	}
	return f
}

// Code returns the text between the fences: without the indentation of the fence, lines ending with \n.
func (f *Fence) Code(src []byte) []byte {
	code := src[f.body.Start:f.body.End]
	if f.Tick > f.Span.Start {
		code = f.node.Lines().Value(src[f.base:])
	}
	if bytes.Contains(code, []byte("\r\n")) {
		code = bytes.ReplaceAll(code, []byte("\r\n"), []byte("\n"))
	}
	return code
}

func (s *blockScan) markup(n *ast.HTMLBlock) Markup {
	lines := n.Lines()
	m := Markup{Comment: n.HTMLBlockType == ast.HTMLBlockType2}
	m.Span = notebooks.Span{Start: lines.At(0).Start + s.base, End: lines.At(lines.Len()-1).Stop + s.base}
	if n.HasClosure() {
		m.Span.End = n.ClosureLine.Stop + s.base
	}
	switch n.HTMLBlockType {
	case ast.HTMLBlockType1:
		m.Until = "its closing tag"
	case ast.HTMLBlockType2:
		m.Until = "-->"
	case ast.HTMLBlockType3:
		m.Until = "?>"
	case ast.HTMLBlockType4:
		m.Until = ">"
	case ast.HTMLBlockType5:
		m.Until = "]]>"
	}
	// A block that is closed on its first line has no closure line, and one that is never closed goes to the end.
	m.Open = m.Until != "" && !n.HasClosure() && lines.Len() > 1 && m.Span.End == len(s.src)
	if m.Until != "" && lines.Len() == 1 && m.Span.End == len(s.src) && m.Comment {
		m.Open = !bytes.Contains(s.src[m.Span.Start:m.Span.End], []byte("-->"))
	}
	return m
}

// MarkerHead begins the line of a marker, which begins or ends a region of an output notebook.
const MarkerHead = "<!-- markmill:"

// FrontMatter is where the front matter is, and where the Markdown begins.
type FrontMatter struct {
	Mark string         // "---", "+++" or ""
	Span notebooks.Span // with its two marks
	Text notebooks.Span // between them
	Body int            // offset of the first byte of Markdown
}

var (
	yamlKeyLine = lazyregexp.New(`(?m)^[\pL_][\pL\pN_.-]*:(?:[ \t\r]|$)`)
	tomlLine    = lazyregexp.New(`^(?:#|\[|[\w."'-]+[ \t]*=)`)
)

// FindFrontMatter looks for a block between two lines of --- or +++ at the head of the file. A single --- is a rule,
// and so is a first one with an empty line after it and no key before the second; +++ is TOML only if it looks like it,
// because MyST separates cells with +++. A marker of a region ends the search, so that the text of a region never turns
// a rule of the source into front matter: Strip and Parse agree.
func FindFrontMatter(src []byte) FrontMatter {
	var m FrontMatter
	if bytes.HasPrefix(src, []byte(notebooks.BOM)) {
		m.Body = len(notebooks.BOM)
	}
	first := LineEnd(src, m.Body)
	mark := string(bytes.TrimRight(src[m.Body:first], " \t\r\n"))
	if mark != "---" && mark != "+++" {
		return m
	}
	for at := first; at < len(src); {
		end := LineEnd(src, at)
		line := bytes.TrimRight(src[at:end], " \t\r\n")
		if bytes.HasPrefix(line, []byte(MarkerHead)) {
			return m
		}
		if string(line) == mark || mark == "---" && string(line) == "..." {
			text := src[first:at]
			if mark == "---" && startsBlank(text) && !yamlKeyLine.Match(text) ||
				mark == "+++" && !tomlLine.Match(bytes.TrimLeft(text, " \t\r\n")) {
				return m
			}
			return FrontMatter{mark, notebooks.Span{Start: m.Body, End: end},
				notebooks.Span{Start: first, End: at}, end}
		}
		at = end
	}
	return m
}

func startsBlank(text []byte) bool {
	return len(bytes.TrimSpace(text[:LineEnd(text, 0)])) == 0 && len(bytes.TrimSpace(text)) > 0
}

// Line is one line of a source, without its end.
type Line struct {
	Text string
	At   int // offset in the source
}

// Lines splits a source at its line ends, a byte order mark taken off. The last line has no end.
func Lines(src string) []Line {
	var all []Line
	at := len(src) - len(strings.TrimPrefix(src, notebooks.BOM))
	for at < len(src) {
		end, next := len(src), len(src)
		if n := strings.IndexByte(src[at:], '\n'); n >= 0 {
			end, next = at+n, at+n+1
		}
		all = append(all, Line{strings.TrimSuffix(src[at:end], "\r"), at})
		at = next
	}
	return all
}

// FenceMark reads the mark of a fence of Markdown that a line begins with, and what follows it; its length is 0 if the
// line has none.
func FenceMark(line string) (mark byte, length int, rest string) {
	bare := strings.TrimLeft(line, " ")
	if len(line)-len(bare) > 3 || bare == "" || bare[0] != '`' && bare[0] != '~' {
		return 0, 0, ""
	}
	rest = strings.TrimLeft(bare, bare[:1])
	if length = len(bare) - len(rest); length < 3 {
		return 0, 0, ""
	}
	return bare[0], length, rest
}

// OpensFence returns the mark of the fence that a line opens; its length is 0 if the line opens none.
func OpensFence(line string) (mark byte, length int) {
	mark, length, rest := FenceMark(line)
	if mark == '`' && strings.Contains(rest, "`") {
		return 0, 0
	}
	return mark, length
}

// opensChunk reports whether a line opens a fence as ```{r label}.
func opensChunk(line string) bool {
	_, length, rest := FenceMark(line)
	word, ok := strings.CutPrefix(strings.TrimLeft(rest, " \t"), "{")
	return length > 0 && ok && notebooks.IsLanguage(word[:strings.IndexAny(word+"}", " \t\r\n,}")])
}

// ClosesFence reports whether a line closes a fence.
func ClosesFence(line string, mark byte, length int) bool {
	sign, n, rest := FenceMark(line)
	return sign == mark && n >= length && strings.TrimSpace(rest) == ""
}

// LineEnd returns the offset just after the newline of the line that holds offset, or the end of src.
func LineEnd(src []byte, offset int) int {
	n := bytes.IndexByte(src[offset:], '\n')
	if n < 0 {
		return len(src)
	}
	return offset + n + 1
}

// The lines that Git puts around the sides of a conflict.

func IsConflictOpen(line []byte) bool { return bytes.HasPrefix(line, []byte("<<<<<<< ")) }
func IsConflictEnd(line []byte) bool  { return bytes.HasPrefix(line, []byte(">>>>>>> ")) }
func IsConflictPart(line []byte) bool {
	return bytes.Equal(bytes.TrimRight(line, "\r\n"), []byte("=======")) || bytes.HasPrefix(line, []byte("||||||| "))
}
