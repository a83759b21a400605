package html

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"markmill/notebooks/lazyregexp"
)

// The style of HTML in a notebook: style= and, for tables of pandas, <style>. Both are resolved here, to declarations
// of the properties and values below, which cannot load, cover or move anything. Each different list of them becomes a
// class of the page's last style, whose hash the policy has. A rule selects only in its own piece.

// properties are those that are kept; of a name that ends with - all that begin so.
var properties = words(`color background background-color border border- padding padding- margin margin- width height
	min-width max-width line-height font-weight font-style font-size font-family text-align text-decoration
	text-transform vertical-align white-space display`)

var (
	safeValue = lazyregexp.New(`^(?:\s*(?:#[0-9a-f]{3,8}\b|(?:rgba?|hsla?|linear-gradient)\(|[),/]|[a-z][a-z-]*\b|` +
		`(?:\b\d{1,4}(?:\.\d+)?|\.\d+)(?:%|(?:px|pt|em|rem|ex|ch|deg)?\b)))+$`)
	displays  = words("block inline inline-block flex")
	comment   = lazyregexp.New(`(?s)/\*.*?\*/`)
	selection = lazyregexp.New(`^(?:\*|[a-zA-Z][a-zA-Z0-9]*)?(?:[#.][a-zA-Z_][\w-]*)*$`)
)

const (
	maxDeclared = 2000    // bytes of the declarations of an element
	maxLooks    = 1 << 20 // bytes of the styles of a page
	maxRules    = 100     // rules of a piece for one id, and those without
)

// declarations returns what of a list of declarations is kept.
func declarations(list string) string {
	var b strings.Builder
	for d := range strings.SplitSeq(strings.ToLower(list), ";") {
		name, value, _ := strings.Cut(d, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(strings.Replace(value, "!important", "", 1))
		family, _, _ := strings.Cut(name, "-")
		switch {
		case !properties[name] && !(properties[family+"-"] && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") == ""):
		case b.Len()+len(value) > maxDeclared || !safeValue.MatchString(value) || !balanced(value):
		case name == "display" && !displays[value]:
		default:
			b.WriteString(name + ":" + value + ";")
		}
	}
	return b.String()
}

// balanced reports whether all parentheses are closed: an open one would take the rules behind it away.
func balanced(value string) bool {
	open := 0
	for i := 0; i < len(value) && open >= 0; i++ {
		switch value[i] {
		case '(':
			open++
		case ')':
			open--
		}
	}
	return open == 0
}

// rule is one selector of a <style> with its declarations.
type rule struct {
	parts []string // compounds, the last one first
	text  string
}

// ruleset is the rules of a piece of HTML, by the id that the last compound names; "" without one.
type ruleset map[string][]rule

// read adds the rules of a <style>. Rules with an @, and selectors with more than elements, ids, classes and ancestors,
// are left out. Of several the last one counts, as if all were as specific; those that name the id of the element
// come last.
func (s ruleset) read(css string) {
	for css = comment.ReplaceAllString(css, ""); ; {
		head, rest, ok := strings.Cut(css, "{")
		if !ok {
			return
		}
		body, after, _ := strings.Cut(rest, "}")
		head = strings.TrimLeft(head, "} \t\n") // of a rule with an @
		if css = after; strings.ContainsAny(head, "@;") || strings.Contains(body, "{") {
			continue
		}
		text := declarations(body)
		if text == "" {
			continue
		}
		for one := range strings.SplitSeq(head, ",") {
			parts := strings.Fields(one)
			slices.Reverse(parts)
			if len(parts) == 0 || slices.ContainsFunc(parts, func(p string) bool { return !selection.MatchString(p) }) {
				continue
			}
			_, id, _ := strings.Cut(parts[0], "#")
			if id, _, _ = strings.Cut(id, "."); len(s[id]) < maxRules {
				s[id] = append(s[id], rule{parts, text})
			}
		}
	}
}

// selects reports whether a selector selects a node: it is the last compound, and the others are above it.
func (r rule) selects(n *html.Node) bool {
	if n.Type != html.ElementNode || !isA(n, r.parts[0]) {
		return false
	}
	found := 1
	for up := n.Parent; up != nil && found < len(r.parts); up = up.Parent {
		if isA(up, r.parts[found]) {
			found++
		}
	}
	return found == len(r.parts)
}

// isA reports whether a compound, as td.data#id, is of a node.
func isA(n *html.Node, compound string) bool {
	for at := strings.LastIndexAny(compound, "#."); at >= 0; at = strings.LastIndexAny(compound, "#.") {
		name := compound[at+1:]
		if compound[at] == '#' && attribute(n, "id") != name ||
			compound[at] == '.' && !slices.Contains(strings.Fields(attribute(n, "class")), name) {
			return false
		}
		compound = compound[:at]
	}
	return compound == "" || compound == "*" || strings.EqualFold(compound, n.Data)
}

// styles finds the declarations of each node of a piece that has any, and which nodes have colors in them.
func (s *sanitizer) styles(nodes []*html.Node) {
	if s.page.looks == nil {
		return
	}
	rules := ruleset{}
	each := func(do func(n *html.Node)) {
		for _, n := range nodes {
			do(n)
			for d := range n.Descendants() {
				do(d)
			}
		}
	}
	each(func(n *html.Node) {
		if n.DataAtom == atom.Style {
			rules.read(textIn(n))
		}
	})
	each(func(n *html.Node) {
		own, text := rules[""], ""
		if id := attribute(n, "id"); id != "" {
			own = slices.Concat(own, rules[id])
		}
		for _, r := range own {
			if len(text)+len(r.text) < maxDeclared && r.selects(n) {
				text += r.text
			}
		}
		if text += declarations(attribute(n, "style")); text == "" {
			return
		}
		if s.declared == nil {
			s.declared, s.colored = map[*html.Node]string{}, map[*html.Node]bool{}
		}
		s.declared[n] = text
		colored := strings.Contains(text, "color:") || strings.Contains(text, "background:")
		for ; colored && n != nil && !s.colored[n]; n = n.Parent {
			s.colored[n] = true
		}
	})
}

// looks are the classes of a page for declarations.
type looks struct {
	writer
	names map[string]markup
}

// class returns the class for declarations; "" when the page has too many.
func (l *looks) class(text string) markup {
	name, ok := l.names[text]
	if !ok && l.Len() < maxLooks {
		name = markup(fmt.Sprintf("x%d", len(l.names)))
		if l.names == nil {
			l.names = map[string]markup{}
		}
		l.names[text] = name
		// three times, so that it counts more than the rules of the page
		l.put(".%s.%s.%s{%s}\n", name, name, name, text)
	}
	return name
}
