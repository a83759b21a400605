package html

import (
	"html"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/lazyregexp"
	"markmill/render"
)

// state is how a step ended.
type state string

const (
	passed   state = "pass"
	failed   state = "fail"
	timedOut state = "timeout"
	skipped  state = "skip"
	unknown  state = "none" // it did not run, or it is not said
	changed  state = "edit" // of a comparison: it is another
)

// result is what an output notebook says of a step.
type result struct {
	state    state
	words    []string // "exit 0", "2 attempts", …, as the region has them
	shown    markup   // results, which stand open
	body     markup   // all else
	open     bool     // the region has it open, too
	tests    tests
	tested   bool
	files    []fileChange
	scraps   []scrap
	edited   bool
	broke    []*notebooks.ManifestBlocker // the rules of the run that it broke
	pictures int
}

// tests is what a runner counted.
type tests struct{ passed, failed, skipped int }

// scrap is a recorded value.
type scrap struct {
	name  string
	value codec.Raw
}

var (
	summaryLine = lazyregexp.New(`^(?:<details( open)?><summary>|<sub>)(?:(\S+) )?(?:<code>([^<]*)</code>)?(.*)(?:</summary>|</sub>)\s*$`)
	testWords   = lazyregexp.New(`^(\d{1,9}) passed(?:, (\d{1,9}) failed)?(?:, (\d{1,9}) skipped)?$`)
)

// readRegion reads the body of a region. Whatever in it is not as Markmill writes it is shown as Markdown is.
func (p *page) readRegion(r notebooks.FoundRegion) *result {
	res := &result{state: unknown, edited: r.Edited}
	src := r.Body
	p.line = r.Line
	root := p.markdown.Parser().Parse(text.NewReader(src))
	var shown, rest writer
	w := &shown
	var prose []ast.Node
	flush := func() {
		if len(prose) > 0 {
			w.put(`<div class="prose">%s</div>`, p.prose(prose, src))
			prose = nil
		}
	}
	summed := false
	sum := func(text string) bool {
		if summed || !res.readSummary(text) {
			return false
		}
		flush()
		summed, w = true, &rest
		return true
	}
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.HTMLBlock:
			block := htmlText(n, src)
			if sum(block) || n == root.LastChild() && strings.TrimSpace(block) == "</details>" {
				continue
			}
			if isScrapComment(block) { // what it holds is shown
				continue
			}
		case *ast.FencedCodeBlock:
			flush()
			w.put("%s", p.regionFence(res, infoOf(n, src), fenceText(n, src)))
			continue
		case *ast.Paragraph:
			if n == root.LastChild() && sum(blockText(n, src)) {
				continue
			}
			if words := plainText(n, src); words == "No output." {
				continue
			} else if strings.HasPrefix(words, "… ") && strings.Contains(words, " elided") {
				flush()
				w.put(`<div class="cut">%s</div>`, p.prose([]ast.Node{n}, src))
				continue
			}
			if img, ok := n.FirstChild().(*ast.Image); ok && img.NextSibling() == nil {
				flush()
				res.pictures++
				w.put(`<figure>%s</figure>`, p.pictures.tag(string(img.Destination), cleanLine(plainText(img, src)), ""))
				continue
			}
		}
		prose = append(prose, n)
	}
	flush()
	res.shown, res.body = shown.markup(), rest.markup()
	return res
}

// isScrapComment says whether a block holds the value of a scrap that is shown as a table or a picture.
func isScrapComment(block string) bool { return strings.HasPrefix(block, render.ScrapComment) }

// blockText is the source of a paragraph.
func blockText(n *ast.Paragraph, src []byte) string {
	var b strings.Builder
	lines := n.Lines()
	for i := range lines.Len() {
		at := lines.At(i)
		b.Write(at.Value(src))
	}
	return b.String()
}

// htmlText is the text of an HTML block.
func htmlText(n *ast.HTMLBlock, src []byte) string {
	b := fenceText(n, src)
	if n.HasClosure() {
		b += string(n.ClosureLine.Value(src))
	}
	return b
}

// readSummary reads the line that folds a region; false when it is another.
func (r *result) readSummary(block string) bool {
	m := summaryLine.FindStringSubmatch(strings.TrimRight(block, "\n"))
	if m == nil {
		return false
	}
	switch m[2] {
	case "✓":
		r.state = passed
	case "✗":
		r.state = failed
	case "⏱":
		r.state = timedOut
	case "○":
		r.state = skipped
	}
	r.open = m[1] != ""
	m[4], _, _ = strings.Cut(m[4], " · <strong>") // the manifest says which rules the step broke
	for _, word := range strings.Split(m[4], " · ") {
		word = cleanLine(html.UnescapeString(word))
		if word == "" || word == "exit 0" {
			continue
		}
		if t := testWords.FindStringSubmatch(word); t != nil {
			r.tests = tests{count(t[1]), count(t[2]), count(t[3])}
			r.tested = true
		}
		r.words = append(r.words, word)
	}
	return true
}

func count(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// fenceClass is the class of a block that Markmill writes: "text {.output}".
var fenceClass = lazyregexp.New(`^\S+ \{\.([a-z-]+)\}$`)

func (p *page) regionFence(res *result, info, body string) markup {
	lang, _, _ := strings.Cut(info, " ")
	class := ""
	if m := fenceClass.FindStringSubmatch(info); m != nil {
		class = m[1]
	}
	switch class {
	case "output", "result":
		return p.output("out", body, false)
	case "error":
		return p.output("err", body, true)
	case "tests":
		return p.output("tests", body, res.state == failed)
	case "diff":
		m, files := p.diff(body)
		res.files = append(res.files, files...)
		return m
	case "scraps":
		if m, ok := p.scraps(res, body); ok {
			return m
		}
	}
	return p.code(lang, body)
}

// ofManifest takes what the manifest says of a step, whatever its region says.
func (r *result) ofManifest(m *notebooks.Manifest, id notebooks.StepID) {
	if m == nil || m.Format < 2 {
		return
	}
	for i := range m.Steps {
		s := &m.Steps[i]
		if s.ID != id {
			continue
		}
		switch s.Status {
		case "pass", "allowed":
			r.state = passed
		case "fail":
			r.state = failed
		case "timeout":
			r.state = timedOut
		case "skip":
			r.state = skipped
		default:
			r.state = unknown
		}
		if r.tested = s.Tests != nil; r.tested {
			r.tests = tests{s.Tests.Passed, s.Tests.Failed, s.Tests.Skipped}
		}
	}
	for i := range m.Blockers {
		if b := &m.Blockers[i]; b.Step == id && b.Rule != "" {
			r.state = failed
			r.broke = append(r.broke, b)
		}
	}
}

// scraps reads the scraps of a step, and writes them as a table.
func (p *page) scraps(res *result, body string) (markup, bool) {
	var values map[string]codec.Raw
	if codec.Unmarshal([]byte(body), &values) != nil {
		return "", false
	}
	var w writer
	w.put(`<table class="facts scraps"><caption>Scraps</caption>`)
	for _, name := range sortedNames(values) {
		res.scraps = append(res.scraps, scrap{name, values[name]})
		w.put("<tr><th>%s</th><td>%s</td></tr>", cleanLine(name), p.value(values[name]))
	}
	w.put("</table>")
	return w.markup(), true
}

func sortedNames(values map[string]codec.Raw) []string {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// value is a JSON value, short ones on a line, long ones folded.
func (p *page) value(v codec.Raw) markup {
	var file struct{ File, MIME string }
	if codec.Unmarshal(v, &file) == nil && file.File != "" && file.MIME != "" {
		return sprintf(`<code>%s</code> <span class="tag">%s</span>`, cleanLine(file.File), cleanLine(file.MIME))
	}
	head, _, gone := p.budget.cut(string(v))
	if len(head) <= 120 && gone == "" {
		return sprintf("<code>%s</code>", highlight("json", cleanLines(head)))
	}
	if gone == "" {
		if pretty, err := codec.Indent(v); err == nil {
			head = string(pretty)
		}
	}
	m := sprintf(`<details class="more"><summary><code>%s…</code> %s</summary><pre>%s</pre></details>`,
		cleanLine(string([]rune(head)[:min(60, len([]rune(head)))])), size(len(v)), highlight("json", cleanLines(shortLines(head))))
	if gone != "" {
		m += elided(gone, p.where())
	}
	return m
}
