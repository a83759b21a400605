package html

import (
	"maps"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/lazyregexp"
	"markmill/notebooks/region"
	"markmill/render"
	"markmill/render/result"
	"markmill/runs"
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

// outcome is the result of a step on a page.
type outcome struct {
	state  state
	words  []string                 // how it ended: "exit 1", "2 attempts", …
	tests  *notebooks.ManifestTests // nil where no runner counted
	broke  []*notebooks.ManifestBlocker
	shown  markup // results, which stand open
	body   markup // all else
	open   bool   // the region has it open, too
	files  []fileChange
	scraps []scrap
	edited bool
}

// outcomeOf converts a manifest's step; s may be nil.
func outcomeOf(m *notebooks.Manifest, s *notebooks.ManifestStep) *outcome {
	if s == nil {
		return &outcome{state: unknown}
	}
	o := &outcome{state: stateOf(s.Status), tests: s.Tests, broke: result.Broken(m, s.ID)}
	if len(o.broke) > 0 {
		o.state = failed
	}
	for _, word := range result.Summary(s) {
		if word != "exit 0" {
			o.words = append(o.words, short(word))
		}
	}
	return o
}

// stateOf converts a step's status.
func stateOf(status string) state {
	switch s := state(status); {
	case s == passed, s == failed, s == timedOut, s == skipped:
		return s
	case status == string(runs.StepAllowed):
		return passed
	}
	return unknown
}

// scrap is a recorded value, and the step that recorded it where a list says so.
type scrap struct {
	name  string
	value codec.Raw
	step  string
}

// readRegion adds the outputs in the body of a region. Unknown content is rendered as Markdown.
func (p *page) readRegion(res *outcome, r region.FoundRegion) {
	res.edited = r.Edited
	src := r.Body
	p.line = r.Line
	root := p.parse(src, nil)
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
		if summed || !strings.HasPrefix(text, "<sub>") && !strings.HasPrefix(text, "<details") {
			return false
		}
		flush()
		res.open = strings.HasPrefix(text, "<details open>")
		summed, w = true, &rest
		return true
	}
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.HTMLBlock:
			block := linesOf(n, src)
			if sum(block) || n == root.LastChild() && strings.TrimSpace(block) == "</details>" {
				continue
			}
			if strings.HasPrefix(block, render.ScrapComment) { // what it holds is shown
				continue
			}
		case *ast.FencedCodeBlock:
			flush()
			w.put("%s", p.regionFence(res, infoOf(n, src), linesOf(n, src)))
			continue
		case *ast.Paragraph:
			if n == root.LastChild() && sum(linesOf(n, src)) {
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
				w.put(`<figure>%s</figure>`, p.pictures.tag(string(img.Destination),
					cleanLine(plainText(img, src)), ""))
				continue
			}
		}
		prose = append(prose, n)
	}
	flush()
	res.shown, res.body = shown.markup(), rest.markup()
}

// fenceClass matches the info strings that Markmill writes: "text {.output}".
var fenceClass = lazyregexp.New(`^\S+ \{\.([a-z-]+)\}$`)

func (p *page) regionFence(res *outcome, info, body string) markup {
	lang, _, _ := strings.Cut(info, " ")
	class := ""
	if m := fenceClass.FindStringSubmatch(info); m != nil {
		class = m[1]
	}
	switch class {
	case "output", "result":
		return p.output("out", body, false)
	case "turn":
		return p.turn(body, res.state == failed || res.state == timedOut)
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

// scraps reads the scraps of a step, and renders them as a table.
func (p *page) scraps(res *outcome, body string) (markup, bool) {
	var values map[string]codec.Raw
	if codec.Unmarshal([]byte(body), &values) != nil {
		return "", false
	}
	tables := map[bool]*writer{true: {}, false: {}} // of checks, and of other scraps
	for _, name := range slices.Sorted(maps.Keys(values)) {
		res.scraps = append(res.scraps, scrap{name: name, value: values[name]})
		words, check := strings.CutPrefix(name, runs.CheckPrefix)
		tables[check].put("<tr><th>%s</th><td>%s</td></tr>", cleanLine(words), p.scrapValue(name, values[name]))
	}
	var w writer
	for _, check := range []bool{true, false} {
		if rows := tables[check].markup(); rows != "" {
			caption := map[bool]markup{true: "Checks", false: "Scraps"}[check]
			w.put(`<table class="facts scraps"><caption>%s</caption>%s</table>`, caption, rows)
		}
	}
	return w.markup(), true
}

// scrapValue renders a scrap: what a check found in words.
func (p *page) scrapValue(name string, v codec.Raw) markup {
	c, err := runs.CheckOf(name, v)
	if err != nil {
		return p.value(v)
	}
	class := map[runs.CheckState]state{runs.CheckOK: passed, runs.CheckWarn: skipped}[c.State]
	if c.State.Failing() {
		class = failed
	}
	words, _, _ := p.budget.cut(strings.TrimPrefix(strings.TrimPrefix(c.Words(), string(c.State)), ": "))
	return sprintf(`<span class="count %s">%s</span> %s`, markup(class), markup(c.State), cleanLine(words))
}

// value renders a JSON value: short ones on a line, long ones folded.
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
		cleanLine(string([]rune(head)[:min(60, len([]rune(head)))])), size(len(v)), highlight("json",
			cleanLines(shortLines(head))))
	if gone != "" {
		m += elided(gone, p.where())
	}
	return m
}
