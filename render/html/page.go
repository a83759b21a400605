package html

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"io/fs"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"

	"markmill/render/plain"
)

// The style and the script of every page.
var (
	//go:embed page.css
	style markup
	//go:embed page.js
	script markup
)

// page is a page under construction.
type page struct {
	name     string // of the notebook, as it was given
	markdown goldmark.Markdown
	pictures *pictures
	budget   budget
	looks    *looks          // of the HTML in it; nil for pages on which HTML has none
	anchors  names           // headings by id, steps by "#" and id
	used     map[string]bool // headings that are written: an id stands once
	line     int             // in the notebook, of what is being written; 0 where it has none
}

func newPage(name string, files fs.FS) *page {
	return &page{name: name, markdown: newMarkdown(), pictures: &pictures{files: files, left: maxPictures},
		budget: budget{maxPage}, anchors: newNames(), used: map[string]bool{}}
}

// newStyledPage makes a page on which the HTML of a notebook keeps its style.
func newStyledPage(name string, files fs.FS) *page {
	p := newPage(name, files)
	p.looks = &looks{}
	return p
}

// where says where the whole of a truncated text can be found.
func (p *page) where() markup {
	if p.line > 0 {
		return sprintf("<code>%s</code>, from line %d on", cleanLine(p.name), p.line)
	}
	return sprintf("<code>%s</code>", cleanLine(p.name))
}

// prose renders Markdown nodes as sanitized HTML.
func (p *page) prose(nodes []ast.Node, src []byte) markup {
	var b bytes.Buffer
	for _, n := range nodes {
		// a buffer makes no error, and no node is unknown
		if err := p.markdown.Renderer().Render(&b, src, n); err != nil {
			return pre(sprintf("%s", cleanLines(plainText(n, src))))
		}
	}
	s := sanitizer{page: p}
	return s.sanitize(b.String())
}

// digestOf returns the hash of a style or script for a Content-Security-Policy.
func digestOf(text markup) markup {
	sum := sha256.Sum256([]byte(text))
	return markup("'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'")
}

// frame assembles a page. The policy comes first, so that it applies to everything after it.
// looks are further styles, of what is in main.
func frame(title string, bar, outline, main, keys markup, looks ...markup) []byte {
	var w writer
	w.put("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	styles, scripts := []markup{style}, []markup{script}
	if strings.Contains(string(main), mathBegin) {
		styles, scripts = append(styles, mathStyle), append(scripts, temml+mathScript)
	}
	styles = append(styles, slices.DeleteFunc(looks, func(m markup) bool { return m == "" })...)
	w.put(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src%s; script-src%s; `+
		`img-src data:; base-uri 'none'; form-action 'none'">`+"\n",
		each(" %s", styles, digestOf), each(" %s", scripts, digestOf))
	w.put(`<meta name="viewport" content="width=device-width, initial-scale=1">` + "\n" +
		`<meta name="referrer" content="no-referrer">` + "\n" +
		`<meta name="color-scheme" content="light dark">` + "\n")
	w.put("<title>%s</title>\n%s</head>\n<body>\n", cleanLine(title), each("<style>%s</style>\n", styles, same))
	w.put(`<header class="bar">%s<span class="tools"><button type="button" id="theme" title="Light or dark (t)" `+
		`aria-label="Light or dark">◐</button>`+
		`<button type="button" id="keys" title="Keys (?)" aria-label="Keys">?</button></span></header>`+"\n", bar)
	w.put(`<div class="frame">`+"\n%s<main id=\"main\">\n%s</main>\n</div>\n", outline, main)
	w.put(`<dialog id="help"><h2>Keys</h2><table>%s</table><p>Esc closes this.</p></dialog>`+
		"\n%s</body>\n</html>\n", keys, each("<script>%s</script>\n", scripts, same))
	return []byte(w.String())
}

func same(m markup) markup { return m }

// each formats what of makes of each text.
func each(format markup, texts []markup, of func(markup) markup) markup {
	var w writer
	for _, m := range texts {
		w.put(format, of(m))
	}
	return w.markup()
}

// keyTable renders a list of keys and their actions.
func keyTable(rows ...[2]markup) markup {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(string(sprintf("<tr><td>%s</td><td>%s</td></tr>", r[0], r[1])))
	}
	return markup(b.String())
}

// markup is HTML that is safe on a page: a constant of this package, or made by its functions. A string from a
// notebook is not markup, so unescaped text does not compile.
type markup string

// writer builds HTML.
type writer struct{ strings.Builder }

// put writes a format. %s takes text, which is escaped, or markup, which is not; %d takes a number.
func (w *writer) put(format markup, args ...any) {
	for i, arg := range args {
		switch a := arg.(type) {
		case markup, int, int64:
		case string:
			args[i] = escape(a)
		case fmt.Stringer:
			args[i] = escape(a.String())
		default:
			args[i] = escape(fmt.Sprint(a))
		}
	}
	if len(args) == 0 {
		w.WriteString(string(format))
		return
	}
	fmt.Fprintf(w, string(format), args...)
}

func (w *writer) markup() markup { return markup(w.String()) }

// escape escapes text for use between tags and in quoted attributes.
func escape(s string) string { return html.EscapeString(strings.ToValidUTF8(s, "\uFFFD")) }

// sprintf is put as a function.
func sprintf(format markup, args ...any) markup {
	var w writer
	w.put(format, args...)
	return w.markup()
}

// size formats a number of bytes.
func size(n int) string {
	switch {
	case n < 10_000:
		return plain.Counted(n, "byte")
	case n < 10_000_000:
		return plain.Grouped((n+500)/1000) + " kB"
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// Style is the style of every page, for pages that a server makes.
func Style() []byte { return []byte(style) }
