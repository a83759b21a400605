package html

import (
	"bytes"
	_ "embed"
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"markmill/notebooks/lazyregexp"
)

// Formulas are found as Jupyter finds them, and stand on the page as they stand in the notebook, in an element of their
// own. On a page that has one, a script of the page typesets them as MathML: Temml, of the npm package temml, which
// takes 37 ms in Goja for the first formula, and Goja makes the program 12 MB larger and its start 0.5 ms longer. A
// formula that Temml cannot read, or a browser without scripts, leaves the text.

// The style and the script of pages with formulas.
var (
	//go:embed math.css
	mathStyle markup
	//go:embed temml.min.js
	temml markup
	//go:embed math.js
	mathScript markup
)

// mathBegin is how each formula begins. No text of a notebook can contain it, since "<" is escaped there.
const mathBegin = `<span class="math">`

// formula writes a formula, with its delimiters.
func (w *writer) formula(tex string) { w.put(mathBegin+"%s</span>", cleanLines(tex)) }

// maxFormula bounds a formula in bytes, maxTries how often in a paragraph the end of one is searched in vain.
const (
	maxFormula = 10_000
	maxTries   = 100
)

// span is where a formula is in its text, with its delimiters.
type span struct{ start, end int }

var (
	// opaque matches what hides dollars in Markdown: a fence up to its end, a tag, an autolink or a comment, where a
	// link leads, and the definition of a reference.
	opaque = lazyregexp.New("^(?:<(?:/?[A-Za-z][^<>]*>|!--(?s:.*?)-->)|\\]\\([^()\\s]*\\))")
	// begins matches the line that begins a fence, in a list or a quote as well; referred matches a definition.
	begins   = lazyregexp.New("^[ \t>]*(?:(?:[-+*]|[0-9]{1,9}[.)])[ \t>]+)*(`{3,}|~{3,})[^`\n]*(?:\n|$)")
	referred = lazyregexp.New(`^ {0,3}\[[^\]\n]+\]:[^\n]*`)
	environ  = lazyregexp.New(`^\\begin\{([A-Za-z]+\*?)\}`)
	word     = lazyregexp.New(`[A-Za-z]{3}`)
	settings = lazyregexp.New(`^(?::[a-z]+:[^\n]*\n)+`) // of MyST
	constant = lazyregexp.New(`[A-Z]{2}`)
)

// formulas returns where the formulas of a text are: $…$, $$…$$, environments, and \(…\) and \[…\], whose backslashes
// are doubled in Markdown. A formula does not go beyond its paragraph.
func formulas(src string, markdown bool) (list []span) {
	if !strings.ContainsAny(src, `$\`) {
		return nil
	}
	tries, line := 0, true // whether a line begins here
	for i := 0; i < len(src); {
		if line {
			line = false
			if blank(src[i:]) {
				tries = 0
			}
			if n := hidden(src[i:]); markdown && n > 0 {
				i, line = i+n, true
				continue
			}
		}
		n := 1
		switch c := src[i]; {
		case c == '\n':
			line = true
		case c == '`' && markdown:
			n = codeSpan(src[i:])
		case (c == '<' || c == ']') && markdown:
			n = max(1, len(opaque.FindString(src[i:min(len(src), i+maxFormula)])))
		case (c == '$' || c == '\\') && tries < maxTries:
			end, vain := formulaAt(src[i:], markdown)
			if vain {
				tries++
			}
			switch {
			case end > 0:
				list, n = append(list, span{i, i + end}), end
			case c == '\\' && !vain:
				n = 2
			}
		case c == '\\':
			n = 2
		}
		i += n
	}
	return list
}

// blank reports whether a text begins with a line without words.
func blank(src string) bool {
	line, _, _ := strings.Cut(src, "\n")
	return strings.Trim(line, " \t\r>") == ""
}

// hidden returns the length of the fence or the definition that a line begins, 0 if it begins neither.
func hidden(src string) int {
	if m := begins.FindStringSubmatchIndex(src[:min(len(src), maxFormula)]); m != nil {
		fence := src[m[2]:m[3]]
		for at := m[1]; at < len(src); {
			line, _, _ := strings.Cut(src[at:], "\n")
			at = min(len(src), at+len(line)+1)
			if mark := strings.Trim(line, " \t\r>"); strings.HasPrefix(mark, fence) &&
				strings.Trim(mark, fence[:1]) == "" {
				return at
			}
		}
		return len(src)
	}
	line, _, _ := strings.Cut(src, "\n")
	return len(referred.FindString(line[:min(len(line), maxFormula)]))
}

// codeSpan returns the length of the code that begins with backticks, or that of the backticks.
func codeSpan(src string) int {
	n := len(src) - len(strings.TrimLeft(src, "`"))
	for at := n; at < min(len(src), maxFormula); {
		switch {
		case src[at] == '\n' && blank(src[at+1:]):
			return n
		case src[at] != '`':
			at++
			continue
		}
		run := len(src[at:]) - len(strings.TrimLeft(src[at:], "`"))
		if at += run; run == n {
			return at
		}
	}
	return n
}

// formulaAt returns the length of the formula that a text begins with, 0 if it begins with none, and whether the
// search for its end was in vain.
func formulaAt(src string, markdown bool) (end int, vain bool) {
	slashes := `\`
	if markdown {
		slashes = `\\`
	}
	begin, closes := "", ""
	switch m := environ.FindStringSubmatch(src[:min(len(src), 100)]); {
	case m != nil:
		begin, closes = m[0], `\end{`+m[1]+"}"
	case strings.HasPrefix(src, "$$"):
		begin, closes = "$$", "$$"
	case src[0] == '$':
		begin, closes = "$", "$"
	case strings.HasPrefix(src, slashes+"("):
		begin, closes = slashes+"(", slashes+")"
	case strings.HasPrefix(src, slashes+"["):
		begin, closes = slashes+"[", slashes+"]"
	default:
		return 0, false
	}
	braces, nested, first := 0, 0, 0 // first is where it ends if its braces are not balanced
	for i := len(begin); i < min(len(src), maxFormula); i++ {
		rest := src[i:]
		switch {
		case strings.HasPrefix(rest, closes) && nested > 0:
			nested--
		case strings.HasPrefix(rest, closes) && (braces <= 0 || environment(begin)):
			if closes == "$" && !isInline(src[1:i], rest[1:]) {
				return 0, true
			}
			return i + len(closes), false
		case strings.HasPrefix(rest, closes) && first == 0:
			first = i + len(closes)
		case environment(begin) && strings.HasPrefix(rest, begin):
			nested++
		case rest[0] == '\\':
			i++
		case rest[0] == '{':
			braces++
		case rest[0] == '}':
			braces--
		case rest[0] == '\n' && (blank(rest[1:]) || begins.MatchString(rest[1:min(len(rest), maxFormula)])):
			return first, true
		}
	}
	return first, true
}

// environment reports whether a formula is an environment: these are nested, and braces in them do not count.
func environment(begin string) bool { return strings.HasPrefix(begin, `\begin`) }

// isInline reports whether the text between two dollars is a formula, and not one between two prices or two variables
// of a shell. behind is what follows the second.
func isInline(tex, behind string) bool {
	next := byte(' ')
	if behind != "" {
		next = behind[0]
	}
	letter := next|0x20 >= 'a' && next|0x20 <= 'z'
	trimmed := strings.TrimSpace(tex)
	switch signs := strings.ContainsAny(tex, `\^_={}`); {
	case trimmed == "" || next >= '0' && next <= '9':
		return false
	case trimmed != tex:
		return !letter && (signs || !strings.ContainsAny(trimmed, " \n"))
	case tex[0] >= '0' && tex[0] <= '9' && !signs && word.MatchString(tex):
		return false
	}
	return !letter || strings.Contains(tex, `\`) || !constant.MatchString(tex)
}

// parse parses Markdown. Goldmark reads a copy in which formulas have no character that means something to it, and
// each begins with a dollar. Offsets are those of the text itself.
func (p *page) parse(src []byte, ids parser.IDs) ast.Node {
	pc := parser.NewContext()
	if ids != nil {
		pc = parser.NewContext(parser.WithIDs(ids))
	}
	read := src
	if list := formulas(string(src), true); list != nil {
		read = bytes.Clone(src)
		ends := map[int]int{}
		for _, f := range list {
			ends[f.start] = f.end
			maskFormula(read, f)
		}
		pc.Set(formulaEnds, ends)
	}
	return p.markdown.Parser().Parse(text.NewReader(read), parser.WithContext(pc))
}

// maskFormula replaces the punctuation of a formula, but the marks of the quote that it stands in, and those that ids
// of headings keep.
func maskFormula(read []byte, f span) {
	begin := read[bytes.LastIndexByte(read[:f.start], '\n')+1 : f.start]
	quotes := bytes.Count(begin[:len(begin)-len(bytes.TrimLeft(begin, " \t>"))], []byte(">"))
	first, left := false, 0 // whether a line begins here, and how many marks of a quote may follow
	for i, c := range read[f.start:f.end] {
		switch {
		case c == '\n':
			first, left = true, quotes
		case c == ' ' || c == '\t' || c == '\r':
		case c == '>' && first && left > 0:
			left--
		case util.IsPunct(c) && (first || c != '_' && c != '-'):
			read[f.start+i], first = '\x01', false
		default:
			first = false
		}
	}
	read[f.start] = '$'
}

// formulaEnds is where the ends of a text's formulas are kept while it is parsed, by their beginnings.
var formulaEnds = parser.NewContextKey()

// formulaNode is a formula in Markdown, or a dollar that begins none.
type formulaNode struct {
	ast.BaseInline
	at []text.Segment
}

var formulaKind = ast.NewNodeKind("Formula")

func (*formulaNode) Kind() ast.NodeKind           { return formulaKind }
func (n *formulaNode) Dump(src []byte, level int) { ast.DumpHelper(n, src, level, nil, nil) }

func (n *formulaNode) text(src []byte) string {
	var b strings.Builder
	for _, s := range n.at {
		b.Write(s.Value(src))
	}
	return b.String()
}

// formulaParser makes the nodes.
type formulaParser struct{}

func (formulaParser) Trigger() []byte { return []byte(`$\`) }

func (formulaParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, at := block.PeekLine()
	ends, _ := pc.Get(formulaEnds).(map[int]int)
	end, ok := ends[at.Start]
	if line[0] == '\\' {
		if len(line) < 2 || line[1] != '$' {
			return nil
		}
		block.Advance(2)
		return &formulaNode{at: []text.Segment{text.NewSegment(at.Start+1, at.Start+2)}}
	}
	if !ok {
		block.Advance(1)
		return &formulaNode{at: []text.Segment{at.WithStop(at.Start + 1)}}
	}
	n := &formulaNode{}
	for ; line != nil; line, at = block.PeekLine() {
		if end <= at.Stop {
			n.at = append(n.at, at.WithStop(end))
			block.Advance(end - at.Start)
			return n
		}
		n.at = append(n.at, at)
		block.AdvanceLine()
	}
	return nil
}

// formulaHTML writes the nodes for the sanitizer. A dollar is apart from the text around it, in which the sanitizer
// then finds none.
type formulaHTML struct{}

func (formulaHTML) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(formulaKind, func(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		tex := n.(*formulaNode).text(src)
		if begin := mathBegin; tex != "$" {
			_, _ = w.WriteString(begin + html.EscapeString(tex) + "</span>")
		} else {
			_, _ = w.WriteString("<dollar>$</dollar>")
		}
		return ast.WalkContinue, nil
	})
}

// mathFence renders a fence that holds a formula, as GitHub and MyST write it; it returns "" for others.
func mathFence(f *ast.FencedCodeBlock, src []byte) markup {
	if lang := string(f.Language(src)); lang != "math" && lang != "{math}" {
		return ""
	}
	var w writer
	w.formula("$$" + settings.ReplaceAllString(linesOf(f, src), "") + "$$")
	return "<p>" + w.markup() + "</p>\n"
}

// words writes a text of HTML, which Jupyter searches for formulas as well.
func (s *sanitizer) words(src string) {
	at := 0
	if !s.verbatim {
		for _, f := range formulas(src, false) {
			s.put("%s", cleanLines(src[at:f.start]))
			s.formula(src[f.start:f.end])
			at = f.end
		}
	}
	s.put("%s", cleanLines(src[at:]))
}
