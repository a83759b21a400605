package html

import (
	"bytes"
	"io/fs"
	"path"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/render/result"
)

// notebookPage is the page of a notebook.
type notebookPage struct {
	*page
	nb       *notebooks.Notebook
	manifest *notebooks.Manifest
	problems notebooks.ErrorList
	results  map[notebooks.StepID]*outcome
	used     []notebooks.ManifestParam // by the run
	params   *notebooks.FoundRegion    // the region that shows the given values, until it is written
	title    string
	titleAt  ast.Node // the heading that is the title already
	outline  []outlined
	body     writer
}

// outlined is an entry of the outline.
type outlined struct {
	href, words string
	state       state // of a step
	sign        markup
	level       int // of a heading; 0 for a step
}

// Notebook renders the page of a source or an output notebook. name is its name on the page; files is its folder,
// nil if its pictures are not available. Mistakes in the source are returned as notebooks.Parse reports them;
// damaged outputs are reported on the page.
func Notebook(name string, src []byte, files fs.FS) ([]byte, error) {
	stripped := notebooks.Strip(name, src)
	nb, err := notebooks.Parse(name, stripped.Source)
	if err != nil {
		return nil, err
	}
	p := notebookPage{page: newPage(name, files), nb: nb, manifest: stripped.Manifest, problems: stripped.Problems,
		results: map[notebooks.StepID]*outcome{}}
	for _, s := range nb.Steps {
		p.anchors.used["#"+string(s.ID)] = true
	}
	p.used = result.Parameters(stripped)
	steps := result.Steps(stripped)
	for i, r := range stripped.Regions {
		if p.anchors.used["#"+r.ID] {
			res := outcomeOf(p.manifest, steps[notebooks.StepID(r.ID)])
			p.readRegion(res, r)
			p.results[notebooks.StepID(r.ID)] = res
		} else if p.params == nil {
			p.params = &stripped.Regions[i]
		}
	}
	p.write()
	return frame(p.title, p.bar(), outlineOf(p.outline, plain.Counted(len(nb.Steps), "step")),
		p.top()+p.body.markup()+p.foot(), notebookKeys()), nil
}

// notebookKeys lists the keys of a notebook page.
func notebookKeys() markup {
	return keyTable(
		[2]markup{"<kbd>j</kbd> <kbd>k</kbd>", "next, previous step"}, [2]markup{"<kbd>e</kbd>", "next step that failed"},
		[2]markup{"<kbd>f</kbd>", "fold or open this step"}, [2]markup{"<kbd>a</kbd>", "fold or open all steps"},
		[2]markup{"<kbd>t</kbd>", "light or dark"}, [2]markup{"<kbd>?</kbd>", "these keys"})
}

func (p *notebookPage) write() {
	base := p.nb.Front.Span.End
	if base == 0 && bytes.HasPrefix(p.nb.Source, []byte("\xef\xbb\xbf")) {
		base = 3
	}
	src := p.nb.Source[base:]
	pc := parser.NewContext(parser.WithIDs(headingIDs{p.anchors}))
	root := p.markdown.Parser().Parse(text.NewReader(src), parser.WithContext(pc))
	steps := map[int]*notebooks.Step{} // by the offset of the line that the fence begins with
	for _, s := range p.nb.Steps {
		steps[s.Fence.Start] = s
	}
	p.findTitle(root, src)
	var prose []ast.Node
	flush := func() {
		if len(prose) > 0 {
			p.body.put("<div class=\"prose\">%s</div>\n", p.prose(prose, src))
			prose = nil
		}
	}
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level <= 3 && ast.Node(n) != p.titleAt {
				flush()
				if id, ok := n.AttributeString("id"); ok {
					p.outline = append(p.outline, outlined{href: string(id.([]byte)), words: plainText(n, src), level: n.Level})
				}
			}
		case *ast.FencedCodeBlock:
			flush()
			start := 0
			if n.Info != nil {
				start = base + bytes.LastIndexByte(src[:n.Info.Segment.Start], '\n') + 1
			}
			if s := steps[start]; s != nil && n.Info != nil {
				p.step(s)
			} else {
				p.line, _ = p.nb.Position(base + fenceStart(n))
				p.body.put("<div class=\"prose\">%s</div>\n", p.code(string(n.Language(src)), linesOf(n, src)))
			}
			p.givenParams(base+fenceStart(n), linesOf(n, src))
			continue
		}
		if n != p.titleAt {
			prose = append(prose, n)
		}
	}
	flush()
}

// fenceStart returns an offset within a fence.
func fenceStart(n *ast.FencedCodeBlock) int {
	if n.Info != nil {
		return n.Info.Segment.Start
	}
	if n.Lines().Len() > 0 {
		return n.Lines().At(0).Start
	}
	return 0
}

// findTitle takes the title from the front matter, else the first level-one heading, else the name. A heading that
// repeats the title is not written.
func (p *notebookPage) findTitle(root ast.Node, src []byte) {
	p.title = p.nb.Front.Title
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok || h.Level != 1 {
			continue
		}
		words := plainText(h, src)
		if p.title == "" {
			p.title = words
		}
		if words == p.title {
			p.titleAt = n
		}
		break
	}
	if p.title == "" {
		p.title = strings.TrimSuffix(path.Base(p.name), path.Ext(p.name))
	}
}

// givenParams writes the given values after the block that declares them.
func (p *notebookPage) givenParams(at int, body string) {
	if p.params == nil || p.nb.ParamsAt < 0 || at > p.nb.ParamsAt || p.nb.ParamsAt-at > len(body)+200 {
		return
	}
	r := p.params
	p.params = nil
	given := 0
	for _, param := range p.used {
		if param.Given {
			given++
		}
	}
	var res outcome
	p.readRegion(&res, *r)
	p.body.put(`<div class="given"><p>%d of %d given for this run</p>%s</div>`+"\n", given, len(p.used),
		res.shown+res.body)
}

// signs of states, as in the regions.
var signs = map[state]markup{passed: "✓", failed: "✗", timedOut: "⏱", skipped: "○", unknown: "·"}

func (p *notebookPage) step(s *notebooks.Step) {
	res := p.results[s.ID]
	if res == nil {
		res = &outcome{state: unknown}
		if p.manifest != nil {
			res.words = []string{"not reached"}
		}
	}
	id := string(s.ID)
	p.outline = append(p.outline, outlined{href: stepPrefix + id, words: id, state: res.state, sign: signs[res.state]})
	w := &p.body
	w.put(`<details class="step %s" id="%s" open><summary><span class="sign">%s</span><a class="name" `+
		`href="#%s">%s</a><span class="lang">%s</span>`,
		markup(res.state), stepPrefix+id, signs[res.state], stepPrefix+id, cleanLine(id), cleanLine(s.Lang))
	for _, t := range s.Tags {
		w.put(`<span class="tag">%s</span>`, cleanLine(t))
	}
	for _, o := range options(s) {
		w.put(`<span class="opt">%s</span>`, cleanLine(o))
	}
	w.put(`<span class="words">`)
	for _, word := range res.words {
		w.put(`<span>%s</span>`, word)
	}
	w.put("</span></summary>\n")
	p.line = s.CodeLine
	code := p.code(s.Lang, string(s.Code))
	switch {
	case len(bytes.TrimSpace(s.Code)) == 0:
	case s.Has(notebooks.TagHideInput) || p.manifest != nil && p.manifest.ReportMode:
		w.put(`<details class="more"><summary>code</summary>%s</details>`, code)
	default:
		w.put("%s", code)
	}
	if res.edited {
		w.put(`<p class="warn">What stands here was edited after the run.</p>`)
	}
	for _, b := range res.broke {
		w.put(`<div class="warn">%s</div>`, p.sentence(result.ReasonMarkdown(b)))
	}
	if res.shown != "" {
		w.put(`<div class="result">%s</div>`, res.shown)
	}
	switch {
	case res.body == "":
	case res.shown == "" || res.open:
		w.put(`<div class="result">%s</div>`, res.body)
	default: // as in the notebook: the results are what is read
		w.put(`<details class="more"><summary>%s</summary><div class="result">%s</div></details>`, foldedWords(res), res.body)
	}
	w.put("</details>\n")
}

// foldedWords describes what is folded below the results of a step.
func foldedWords(res *outcome) markup {
	if len(res.files) > 0 {
		return "what it printed and changed"
	}
	return "what it printed"
}

// sentence renders a line of Markdown.
func (p *page) sentence(line string) markup {
	src := []byte(line)
	return p.prose([]ast.Node{p.markdown.Parser().Parse(text.NewReader(src))}, src)
}

// options lists the attributes of a step that readers want to see beside its name.
func options(s *notebooks.Step) []string {
	var out []string
	if len(s.Needs) > 0 {
		list := make([]string, len(s.Needs))
		for i, n := range s.Needs {
			list[i] = string(n)
		}
		out = append(out, "needs "+strings.Join(list, ", "))
	}
	if s.If != "" {
		out = append(out, "if "+s.If)
	}
	if s.Timeout > 0 {
		out = append(out, "timeout "+s.Timeout.String())
	}
	if s.Cwd != "" {
		out = append(out, "in "+s.Cwd)
	}
	return out
}
