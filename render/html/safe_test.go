package html

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// look is the style of HTML of a notebook: classes, and values that load, cover and move nothing.
var look = regexp.MustCompile(`^(\.x\d+\.x\d+\.x\d+\{((color|(background|border|padding|margin|font|text)(-[a-z-]+)?|` +
	`(min-|max-)?width|height|line-height|vertical-align|white-space|display):([a-z0-9#%.,() /-]*[a-z0-9)%])?;)+\}\n)+$`)

// unsafe returns what could run, load or mislead in a page: the page's rules, implemented independently of the writer.
func unsafe(page []byte) (found []string) {
	bad := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return []string{err.Error()}
	}
	ids := map[string]bool{}
	counts := map[atom.Atom]int{}
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.CommentNode {
			bad("a comment: %q", n.Data)
		}
		if n.Type == html.ElementNode {
			counts[n.DataAtom]++
			if n.Namespace != "" {
				bad("an element of %s: <%s>", n.Namespace, n.Data)
			}
			switch n.DataAtom {
			case atom.Html, atom.Head, atom.Body, atom.Meta, atom.Title, atom.Style, atom.Script, atom.Header, atom.Nav,
				atom.Main, atom.Section,
				atom.Footer, atom.Button, atom.Dialog:
			default:
				if !allowed[n.Data] {
					bad("<%s>", n.Data)
				}
			}
			if own := []string{string(script), string(temml + mathScript)}; n.DataAtom == atom.Script &&
				n.FirstChild.Data != own[min(counts[atom.Script], len(own))-1] {
				bad("a script: %.200q", n.FirstChild.Data)
			}
			if own := []string{string(style), string(mathStyle)}; n.DataAtom == atom.Style &&
				n.FirstChild.Data != own[min(counts[atom.Style], len(own))-1] && !look.MatchString(n.FirstChild.Data) {
				bad("a style: %.200q", n.FirstChild.Data)
			}
			for _, a := range n.Attr {
				checkAttribute(n, a, ids, bad)
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(root)
	own := 1 // script and style
	if bytes.Contains(page, []byte(mathBegin)) {
		own = 2
	}
	styles := own
	if bytes.Contains(page, []byte("<style>.x0.x0.x0{")) {
		styles++
	}
	if counts[atom.Script] != own || counts[atom.Style] != styles {
		bad("%d scripts and %d styles, not %d and %d", counts[atom.Script], counts[atom.Style], own, styles)
	}
	for _, one := range []atom.Atom{atom.Title, atom.Main, atom.Body, atom.Head, atom.Dialog,
		atom.Header} {
		if counts[one] != 1 {
			bad("%d of <%s>", counts[one], one)
		}
	}
	for _, r := range string(page) {
		if r != '\n' && r != '\t' && r < 0x20 || r >= 0x7f && r <= 0x9f || r >= 0x202a && r <= 0x202e || r >= 0x2066 &&
			r <= 0x2069 {
			bad("the character %U", r)
		}
	}
	return found
}

func checkAttribute(n *html.Node, a html.Attribute, ids map[string]bool, bad func(string, ...any)) {
	switch {
	case strings.HasPrefix(strings.ToLower(a.Key), "on"), a.Key == "style", a.Key == "srcset", a.Key == "srcdoc",
		a.Key == "action", a.Key == "formaction", a.Key == "background":
		bad("%s=%q", a.Key, a.Val)
	case a.Key == "id":
		if ids[a.Val] {
			bad("id %q stands twice", a.Val)
		}
		ids[a.Val] = true
	case a.Key == "src":
		if n.DataAtom != atom.Img || !strings.HasPrefix(a.Val, "data:image/") {
			bad("<%s src=%.80q>", n.Data, a.Val)
		}
	case a.Key == "href":
		u, err := url.Parse(a.Val)
		if n.DataAtom != atom.A || err != nil || !strings.HasPrefix(a.Val, "#") && u.Scheme != "http" &&
			u.Scheme != "https" && u.Scheme != "mailto" {
			bad("<%s href=%q>", n.Data, a.Val)
		}
		if strings.HasPrefix(u.Scheme, "http") && attribute(n, "rel") != "noopener noreferrer" {
			bad("%q without rel", a.Val)
		}
	case a.Key == "http-equiv" && (a.Val != "Content-Security-Policy" || n.NextSibling == nil):
		bad("<meta http-equiv=%q>", a.Val)
	}
}

// checkSafe fails the test if something in a page could run, load or mislead.
func checkSafe(t interface {
	Helper()
	Fatalf(string, ...any)
}, page []byte) {
	t.Helper()
	if found := unsafe(page); len(found) > 0 {
		t.Fatalf("the page holds:\n%s", strings.Join(found, "\n"))
	}
}

// TestUnsafeSees tests the check above.
func TestUnsafeSees(t *testing.T) {
	good, err := plainPage("x.md", []byte("# T\n\nA.\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	checkSafe(t, good)
	for _, evil := range []string{"<script>1</script>", "<p onclick=1>", "<img src=x>",
		"<img src=https://example.org/x.png>", `<a href="javascript:1">`, "<svg></svg>",
		"<style>p{}</style>", "<iframe></iframe>", `<p style="x">`, "<!-- c -->", "\u202e",
		`<a href="https://example.org">`, `<p id="main">`, `<meta http-equiv="refresh" content="0">`} {
		page := bytes.Replace(good, []byte("A."), []byte(evil), 1)
		if len(unsafe(page)) == 0 {
			t.Errorf("%s was not seen", evil)
		}
	}
}
