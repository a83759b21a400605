package region

import (
	"sort"

	"github.com/yuin/goldmark/ast"
	gmparser "github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// regionParser is a block parser that passes over regions. Whatever a region's body leaves open, the text after it is
// read as if the region were not there.
type regionParser struct {
	s    *stripping
	base int // offset in src of the text that goldmark reads
}

// regionNode is a region in goldmark's tree. Nobody looks at it.
type regionNode struct {
	ast.BaseBlock
	end int // in src
}

var kindRegion = ast.NewNodeKind("MarkmillRegion")

func (n *regionNode) Kind() ast.NodeKind            { return kindRegion }
func (n *regionNode) IsRaw() bool                   { return true }
func (n *regionNode) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

func (p *regionParser) Trigger() []byte             { return []byte{'<'} }
func (p *regionParser) CanInterruptParagraph() bool { return true }
func (p *regionParser) CanAcceptIndentedLine() bool { return false }

func (p *regionParser) Open(parent ast.Node, reader text.Reader, _ gmparser.Context) (ast.Node, gmparser.State) {
	if parent.Kind() != ast.KindDocument {
		return nil, gmparser.NoChildren
	}
	line, segment := reader.PeekLine()
	at := p.base + segment.Start
	m, ok := parseMarker(line)
	if !ok {
		return nil, gmparser.NoChildren
	}
	if m.head == "" {
		p.s.strays = append(p.s.strays, at)
		return nil, gmparser.NoChildren
	}
	f, ok := p.s.read(at, m)
	if !ok {
		place := found{FoundRegion: FoundRegion{ID: m.id(), Line: sort.SearchInts(p.s.lines, at+1)}}
		p.s.problem(place, "the marker that ends this region is missing", "restore it, or delete the region's text")
		return nil, gmparser.NoChildren
	}
	p.s.found = append(p.s.found, f)
	reader.AdvanceToEOL()
	return &regionNode{end: f.span.End}, gmparser.NoChildren
}

func (p *regionParser) Continue(node ast.Node, reader text.Reader, _ gmparser.Context) gmparser.State {
	_, segment := reader.PeekLine()
	if p.base+segment.Start >= node.(*regionNode).end {
		return gmparser.Close
	}
	reader.AdvanceToEOL()
	return gmparser.Continue | gmparser.NoChildren
}

func (p *regionParser) Close(ast.Node, text.Reader, gmparser.Context) {}
