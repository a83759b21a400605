package region

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sort"
	"strings"

	"github.com/yuin/goldmark/ast"
	gmparser "github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
	"markmill/notebooks/params"
)

// Region is one block of output to be put into a source.
type Region struct {
	ID   string
	At   int    // offset in the source: the end of a top-level fence (its newline included), or Notebook.ParamsAt
	Body []byte // Markdown
	// Verdict makes it the region at the top that says how the run came out: it has no ID, and is at VerdictAt.
	Verdict bool
}

// VerdictAt returns the offset of the verdict in a source: right after the front matter, at the top without one.
func VerdictAt(source []byte) int { return blocks.FindFrontMatter(source).Body }

// FoundRegion is a region that stood in an output notebook.
type FoundRegion struct {
	ID     string
	Digest string // 16 hexadecimal digits, as its marker has it
	Body   []byte // with LF line ends
	Line   int    // of its first marker, from 1
	Edited bool   // the body has another digest
}

// A region is an empty line, a marker, the body, an empty line and the end marker, each line with the line end of the
// place it is in:
//
//	<!-- markmill:out change c0d06e62adccde6c -->
//	…
//
//	<!-- markmill:end c0d06e62adccde6c -->
//
// The markers of the verdict and of the manifest are "<!-- markmill:verdict c0d06e62adccde6c -->" and the same with
// manifest. There is no empty line before a verdict at the very top of a file. The digest is the head of the SHA-256 of
// what the marker names, the length of the body, and the body; a body cannot hold its own digest, so the first end
// marker with the digest of the first is the end.
const (
	markerOut    = "out "
	markerEnd    = "end "
	markerTail   = " -->"
	markManifest = "manifest"
	markVerdict  = "verdict"
	digestLen    = 16
)

// digest is that of a body with LF line ends. The head is "out <id>", "verdict" or "manifest".
func digest(head string, body []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%d\n", head, len(body))
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))[:digestLen]
}

// canonical makes of any bytes what a region may hold: valid UTF-8 without NUL, lines that end with LF, one at the end.
// So the file stays a text whatever a step printed, and a change of all line ends, as Git makes it, is no edit.
func canonical(body []byte) []byte {
	body = bytes.ToValidUTF8(body, []byte("\uFFFD"))
	body = bytes.ReplaceAll(body, []byte{0}, []byte("\uFFFD"))
	body = bytes.ReplaceAll(body, []byte("\r\n"), []byte{'\n'})
	body = bytes.ReplaceAll(body, []byte{'\r'}, []byte{'\n'})
	return append(bytes.TrimRight(body, "\n"), '\n')
}

// marker is one line that begins or ends a region.
type marker struct {
	head   string // "out <id>", "verdict", "manifest"; "" for an end
	digest string
}

func (m marker) id() string {
	id, _ := strings.CutPrefix(m.head, markerOut)
	if id == m.head {
		return ""
	}
	return id
}

// parseMarker reads a line. It must be exactly a marker.
func parseMarker(line []byte) (marker, bool) {
	text, ok := bytes.CutPrefix(line, []byte(blocks.MarkerHead))
	if !ok {
		return marker{}, false
	}
	text = bytes.TrimSuffix(text, []byte{'\n'})
	text = bytes.TrimSuffix(text, []byte{'\r'})
	if text, ok = bytes.CutSuffix(text, []byte(markerTail)); !ok || len(text) < digestLen+1 {
		return marker{}, false
	}
	head, sum := string(text[:len(text)-digestLen]), string(text[len(text)-digestLen:])
	for _, c := range sum {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return marker{}, false
		}
	}
	switch {
	case head == markerEnd:
		return marker{"", sum}, true
	case head == markManifest+" ":
		return marker{markManifest, sum}, true
	case head == markVerdict+" ":
		return marker{markVerdict, sum}, true
	case len(head) > len(markerOut)+1 && head[:len(markerOut)] == markerOut && head[len(head)-1] == ' ' &&
		notebooks.IsID(head[len(markerOut):len(head)-1]):
		return marker{head[:len(head)-1], sum}, true
	}
	return marker{}, false
}

// Given returns the names of the parameters that were given to the run, as the region of the given values lists them;
// false without that region. A value that is given may be the default's.
func (s Stripped) Given() (names []string, listed bool) {
	for _, r := range s.Regions {
		if r.ID != notebooks.TagInjected {
			continue
		}
		var text []byte
		in := false
		for line := range bytes.Lines(r.Body) {
			switch fence := bytes.HasPrefix(line, []byte("```")); {
			case fence && in:
				in = false
			case fence:
				in = true
			case in:
				text = append(text, line...)
			}
		}
		values, err := params.ParseGiven("manifest", "", text)
		if err != nil {
			return nil, false
		}
		for _, v := range values {
			names = append(names, v.Name)
		}
		return names, true
	}
	return nil, false
}

// Two branches that ran the same notebook disagree about its regions, and Git puts its conflict lines into them or
// around them. Where nothing but regions stands between the lines, all of it goes: the source was never in conflict.

// holdsConflict reports whether one of the lines is Git's.
func holdsConflict(text []byte) bool {
	for at := 0; at < len(text); {
		end := blocks.LineEnd(text, at)
		if line := text[at:end]; blocks.IsConflictOpen(line) || blocks.IsConflictEnd(line) {
			return true
		}
		at = end
	}
	return false
}

// settleConflicts widens the first region of a conflict to the whole of it, and reports the end markers that
// belong to nothing.
func (s *stripping) settleConflicts() {
	done := 0 // all before is settled
	for i := range s.found {
		f := &s.found[i]
		if f.span.Start < done {
			f.told = true
			continue
		}
		open := s.lineBefore(f.span.Start)
		if open < 0 || !blocks.IsConflictOpen(s.src[open:]) {
			continue
		}
		end, ok := s.conflictEnd(i)
		f.conflict = f.conflict || ok || holdsConflict(s.src[min(f.span.End, s.limit):s.limit])
		if !ok {
			continue
		}
		if f.span.Start == f.markerStart(s) { // its empty line is before Git's line
			open = s.emptyLineBefore(open)
		}
		f.span = notebooks.Span{Start: open, End: end}
		done = end
	}
	for _, at := range s.strays {
		if i := sort.Search(len(s.found), func(i int) bool { return s.found[i].span.End > at }); i < len(s.found) &&
			s.found[i].span.Start <= at {
			continue
		}
		s.problem(found{FoundRegion: FoundRegion{Line: sort.SearchInts(s.lines, at+1)}},
			"a marker ends a region that does not begin", "delete the line, or restore the region")
	}
}

func (f *found) markerStart(s *stripping) int { return s.lines[f.Line-1] }

// lineBefore is where the line before an offset begins; -1 at the head.
func (s *stripping) lineBefore(at int) int {
	if at == 0 {
		return -1
	}
	return bytes.LastIndexByte(s.src[:at-1], '\n') + 1
}

// conflictEnd finds the end of the conflict that region i begins. It is false if anything else is in it.
func (s *stripping) conflictEnd(i int) (int, bool) {
	at := s.found[i].span.End
	for i++; at < len(s.src); {
		end := blocks.LineEnd(s.src, at)
		line := s.src[at:end]
		switch {
		case i < len(s.found) && at >= s.found[i].span.Start:
			end = max(end, s.found[i].span.End)
			i++
		case blocks.IsConflictEnd(line):
			return end, true
		case blocks.IsConflictPart(line), isEndMarker(line), len(bytes.TrimSpace(line)) == 0:
		default:
			return 0, false
		}
		at = end
	}
	return 0, false
}

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
