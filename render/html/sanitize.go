package html

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"markmill/notebooks/lazyregexp"
	"markmill/render/plain"
)

// HTML of a notebook is never passed through. It is parsed as a browser would, and the tree is written again with
// the elements and attributes listed below only. The result is well-formed, and cannot close what it did not open.
//
// A policy of microcosm-cc/bluemonday would not do: its result would have to be parsed again, to embed pictures, to
// give ids their prefix, and to keep only links that lead somewhere on the page.

// allowed are the elements that are written, voids those of them without content, literal those without formulas, and
// dropped those that are removed with their content. Other elements lose only their tags.
var (
	allowed = words(`p h1 h2 h3 h4 h5 h6 ul ol li dl dt dd blockquote pre code kbd samp ` +
		`var em strong b i u s del ins sub
		sup small mark abbr cite q span div a table thead tbody tfoot tr th td caption details summary figure figcaption
		br hr wbr img input`)
	voids   = words("br hr wbr")
	literal = words("pre code kbd samp")
	dropped = words(`script style template noscript iframe object embed svg math title ` +
		`textarea select head link meta base
		xmp plaintext noembed noframes frameset frame applet audio video canvas dialog datalist`)
)

// directions are the values that the attributes of layout may have.
var directions = map[string]map[string]bool{"dir": words("ltr rtl auto"), "align": words("left right center")}

// numeric is a cell of a table whose numbers stand below each other.
var numeric = lazyregexp.New(`^\s*[-−+]?[0-9][0-9., ]*%?\s*$`)

// sanitizer rewrites one piece of HTML.
type sanitizer struct {
	writer
	page     *page
	verbatim bool // no formula is looked for in text

	declared map[*html.Node]string // what remains of their style
	colored  map[*html.Node]bool   // those with a color, and their ancestors
	paper    bool                  // within an element on paper
}

// sanitize returns what of a piece of HTML may appear on a page.
func (s *sanitizer) sanitize(src string) markup {
	context := &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div}
	nodes, err := html.ParseFragment(strings.NewReader(strings.ToValidUTF8(src, "\uFFFD")), context)
	if err != nil || deeper(nodes, deepest) { // nested deeper than a page is: its text is shown
		return pre(sprintf("%s", cleanLines(src)))
	}
	s.styles(nodes)
	for _, n := range nodes {
		s.node(n)
	}
	return s.markup()
}

// deepest bounds the nesting of elements. Parsers allow 512, including the elements around the piece.
const deepest = 256

// deeper reports whether nodes are nested deeper than most.
func deeper(nodes []*html.Node, most int) bool {
	if most < 0 {
		return true
	}
	return slices.ContainsFunc(nodes, func(n *html.Node) bool {
		return deeper(slices.Collect(n.ChildNodes()), most-1)
	})
}

func (s *sanitizer) node(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		s.words(n.Data)
		return
	case html.ElementNode:
	default: // comments and doctypes
		return
	}
	name := n.DataAtom.String()
	switch {
	case n.Namespace != "" || dropped[name]:
		return
	case !allowed[name]:
		s.children(n)
		return
	case n.DataAtom == atom.Img:
		s.image(n)
		return
	case n.DataAtom == atom.Input:
		s.checkbox(n)
		return
	case n.DataAtom == atom.Span && attribute(n, "class") == "math":
		s.formula(textIn(n))
		return
	}
	if before := s.verbatim; !before {
		s.verbatim = literal[name] || strings.Contains(attribute(n, "class"), "tex2jax_ignore")
		defer func() { s.verbatim = before }()
	}
	s.put("<%s", markup(name))
	s.attributes(n)
	if before := s.paper; !before {
		s.paper = s.colored[n]
		defer func() { s.paper = before }()
	}
	s.put(">")
	if n.DataAtom == atom.Pre {
		s.put("\n") // a parser drops the first one
	}
	if voids[name] {
		return
	}
	s.children(n)
	s.put("</%s>", markup(name))
}

func (s *sanitizer) children(n *html.Node) {
	for c := range n.ChildNodes() {
		s.node(c)
	}
}

func (s *sanitizer) attributes(n *html.Node) {
	var classes []markup
	if text := s.declared[n]; text != "" {
		classes = append(classes, s.page.looks.class(text))
	}
	if s.colored[n] && !s.paper { // whose colors are made for it
		classes = append(classes, "paper")
	}
	if c := n.FirstChild; n.DataAtom == atom.Td && c != nil && c.NextSibling == nil && numeric.MatchString(c.Data) {
		classes = append(classes, "num")
	}
	for _, a := range n.Attr {
		if a.Namespace != "" {
			continue
		}
		switch a.Key {
		case "href":
			if n.DataAtom == atom.A {
				s.link(a.Val)
			}
		case "title":
			s.put(` title="%s"`, cleanLine(a.Val))
		case "dir", "align":
			if v := strings.ToLower(a.Val); directions[a.Key][v] {
				s.put(` %s="%s"`, markup(a.Key), v)
			}
		case "colspan", "rowspan", "start":
			if v, err := strconv.Atoi(a.Val); err == nil && v > 0 && v <= 1000 {
				s.put(` %s="%d"`, markup(a.Key), v)
			}
		case "open":
			if n.DataAtom == atom.Details {
				s.put(" open")
			}
		case "id": // of headings, as Markdown's are made here
			if id, ok := strings.CutPrefix(a.Val, headingPrefix); ok && s.page.anchors.used[id] && !s.page.used[id] {
				s.page.used[id] = true
				s.put(` id="%s"`, a.Val)
			}
		case "class": // of the colours of code
			if n.DataAtom == atom.Span && isTokenClass(a.Val) {
				classes = append(classes, sprintf("%s", a.Val))
			}
		}
	}
	if len(classes) > 0 {
		s.put(` class="%s"`, strings.TrimSpace(string(each("%s ", classes, same))))
	}
}

// link writes a link to the web, a mail address, or a heading or step of this page.
func (s *sanitizer) link(href string) {
	href = strings.TrimSpace(href)
	if name, ok := strings.CutPrefix(href, "#"); ok {
		if decoded, err := url.PathUnescape(name); err == nil {
			name = decoded
		}
		switch {
		case s.page.anchors.used[name]:
			s.put(` href="#%s"`, headingPrefix+name)
		case s.page.anchors.used["#"+name]:
			s.put(` href="#%s"`, stepPrefix+name)
		}
		return
	}
	u, err := url.Parse(href)
	if err != nil {
		return
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		if u.Host == "" {
			return
		}
		s.put(` href="%s" target="_blank" rel="noopener noreferrer"`, u.String())
	case "mailto":
		s.put(` href="%s"`, u.String())
	}
}

// image writes a picture if it is available, else words.
func (s *sanitizer) image(n *html.Node) {
	src, alt := attribute(n, "src"), cleanLine(attribute(n, "alt"))
	s.put("%s", s.page.pictures.tag(src, alt, attribute(n, "width")))
}

// checkbox writes the box of a task list.
func (s *sanitizer) checkbox(n *html.Node) {
	if attribute(n, "type") != "checkbox" {
		return
	}
	checked := markup("")
	if slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "checked" }) {
		checked = " checked"
	}
	s.put(`<input type="checkbox" disabled%s>`, checked)
}

// textIn returns the text in an element.
func textIn(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Namespace == "" && a.Key == key {
			return a.Val
		}
	}
	return ""
}

// cleanLine puts text on one line, with hidden characters visible.
func cleanLine(s string) string { return plain.OneLine(s) }

// short is cleanLine with bounded length.
func short(s string) string { return cleanLine(plain.Cut(s, 200)) }

// cleanLines makes hidden characters visible, except line ends.
func cleanLines(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, l := range lines {
		lines[i] = plain.Escape(l)
	}
	return strings.Join(lines, "\n")
}
