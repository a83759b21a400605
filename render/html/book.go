package html

import (
	"cmp"
	"path"
	"strings"
	"time"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"markmill/notebooks"
	"markmill/render"
	"markmill/render/result"
	"markmill/runs"
)

// Made is the page of a notebook, and the parts of it that other pages show. All of it is safe on a page.
type Made struct {
	Page  []byte
	Title string
	Steps map[notebooks.StepID]string // the code of each step, and its results
	// Style has the styles of the HTML in Steps, "" for none, and StyleDigest the hash of them, as a
	// Content-Security-Policy has it.
	Style, StyleDigest string
}

// book is what the pages of notebooks of all forms share.
type book struct {
	*page
	run      *runs.Run           // nil where it is not known which run left the notebook
	manifest *notebooks.Manifest // nil without one, and where papermill ran the notebook since
	title    string
	titleAt  ast.Node // the heading that is the title already
	titled   markup   // that heading
	outline  []outlined
	body     writer
	steps    map[notebooks.StepID]string // see Made
	inner    int                         // where in body the code of the last step begins
}

// outlined is an entry of the outline.
type outlined struct {
	href, words string
	state       state // of a step
	sign        markup
	level       int // of a heading; 0 for a step
}

// nodesOf returns the blocks of a text.
func nodesOf(root ast.Node) (nodes []ast.Node) {
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		nodes = append(nodes, n)
	}
	return nodes
}

// findTitle takes the first level-one heading as the title, unless there is one. A heading that repeats the title is
// not written.
func (p *book) findTitle(root ast.Node, src []byte) {
	for _, n := range nodesOf(root) {
		h, ok := n.(*ast.Heading)
		if !ok || h.Level != 1 || p.titleAt != nil {
			continue
		}
		words := plainText(h, src)
		if p.title = cmp.Or(p.title, words); words == p.title {
			p.titleAt = n
		}
		return
	}
}

// nameAsTitle uses the notebook's name if it has no title.
func (p *book) nameAsTitle() {
	p.title = cmp.Or(p.title, strings.TrimSuffix(path.Base(p.name), path.Ext(p.name)))
}

// isTitle reports whether a node is the title, and renders it for the top of the page.
func (p *book) isTitle(n ast.Node, src []byte) bool {
	if n != p.titleAt {
		return false
	}
	p.titled = p.prose([]ast.Node{n}, src)
	return true
}

// heading adds a heading to the outline. It returns false for what the outline does not list.
func (p *book) heading(n ast.Node, src []byte) bool {
	h, ok := n.(*ast.Heading)
	if !ok || h.Level > 3 || n == p.titleAt {
		return false
	}
	if id, ok := h.AttributeString("id"); ok {
		p.outline = append(p.outline, outlined{href: string(id.([]byte)), words: plainText(h, src), level: h.Level})
	}
	return true
}

// fence writes a fence that is no step.
func (p *book) fence(f *ast.FencedCodeBlock, src []byte) markup {
	if m := mathFence(f, src); m != "" {
		return m
	}
	return p.code(string(f.Language(src)), linesOf(f, src))
}

// stepLine is the line above a step.
type stepLine struct {
	id, lang             string
	state                state
	sign                 markup
	tags, options, words []string
}

// begin writes the line of a step and its code.
func (p *book) begin(l stepLine, source string, folded bool) {
	p.outline = append(p.outline, outlined{href: stepPrefix + l.id, words: l.id, state: l.state, sign: l.sign})
	w := &p.body
	w.put(`<details class="step %s" id="%s" open><summary><span class="sign">%s</span><a class="name" `+
		`href="#%s">%s</a><span class="lang">%s</span>`,
		markup(l.state), stepPrefix+l.id, l.sign, stepPrefix+l.id, cleanLine(l.id), cleanLine(l.lang))
	for _, t := range l.tags {
		w.put(`<span class="tag">%s</span>`, cleanLine(t))
	}
	for _, o := range l.options {
		w.put(`<span class="opt">%s</span>`, cleanLine(o))
	}
	w.put(`<span class="words">`)
	for _, word := range append(l.words, p.took(l.id)...) {
		w.put(`<span>%s</span>`, word)
	}
	w.put("</span></summary>\n")
	p.inner = w.Len()
	code := p.code(l.lang, source)
	if l.lang == "agent" { // prose, as a rule
		code = sprintf(`<div class="prompt">%s</div>`, code)
	}
	switch {
	case strings.TrimSpace(source) == "":
	case folded:
		w.put(`<details class="more"><summary>code</summary>%s</details>`, code)
	default:
		w.put("%s", code)
	}
}

// end ends what begin began.
func (p *book) end(id string) {
	p.steps[notebooks.StepID(id)] = focusable(p.body.String()[p.inner:])
	p.body.put("</details>\n")
}

// took is how long a step of the run took, if that is known.
func (p *book) took(id string) (words []string) {
	if p.run != nil {
		for i := range p.run.Steps {
			s := &p.run.Steps[i]
			if string(s.Planned.ID) == id && s.Finished != nil && s.Step != nil {
				words = append(words, render.Duration(time.Duration(s.Finished.DurationNS)))
			}
		}
	}
	return words
}

// about says which run it was: when it began, how long it took, of which commit, and of which notebook.
func (p *book) about() markup {
	r := p.run
	if r == nil {
		return ""
	}
	var w writer
	w.put(`<p class="about"><time datetime="%s">%s</time>`, r.StartedAt.UTC().Format(time.RFC3339),
		r.StartedAt.UTC().Format("2006-01-02 15:04 UTC"))
	if !r.FinishedAt.IsZero() {
		w.put(" · took %s", render.Duration(r.FinishedAt.Sub(r.StartedAt)))
	}
	for _, fact := range [][2]string{{"", cmp.Or(r.Started.SourcePath, r.Started.Notebook)},
		{"commit ", r.Contract.BaseCommit[:min(10, len(r.Contract.BaseCommit))]}, {"run ", string(r.ID)}} {
		if fact[1] != "" {
			w.put(" · %s<code>%s</code>", fact[0], cleanLine(fact[1]))
		}
	}
	w.put("</p>")
	return w.markup()
}

// broke writes the rules that a step broke.
func (p *book) broke(list []*notebooks.ManifestBlocker) {
	for _, b := range list {
		p.body.put(`<div class="warn">%s</div>`, p.sentence(result.ReasonMarkdown(b)))
	}
}

// top renders the summary: the verdict with its reasons, and a table of facts. lead stands above the reasons, warning
// and below around the table.
func (p *book) top(st state, words string, lead, warning, rows, below markup) markup {
	reasons := markup("")
	if p.manifest != nil && len(p.manifest.Blockers) > 0 {
		why := newDocument(result.Why(p.manifest.Blockers, maxListed))
		reasons = sprintf(`<div class="reasons">%s</div>`, why.main())
	}
	var w writer
	facts := markup("")
	if p.manifest != nil {
		for _, fact := range result.Verdict(p.manifest)[1:] {
			facts += sprintf(" · %s", cleanLine(fact))
		}
	}
	if p.titled == "" {
		p.titled = sprintf("<h1>%s</h1>", cleanLine(p.title))
	}
	w.put(`<section class="top %s"><p class="verdict"><span class="sign">%s</span>%s%s</p>%s%s%s%s%s<table `+
		`class="facts">`, markup(st), verdictSign(st, words), words, facts, p.titled, lead, p.about(), reasons, warning)
	p.runRows(&w, p.manifest)
	w.put("%s</table>%s</section>\n", rows, below)
	return w.markup()
}

// made assembles the page. outline is the title of the outline, source the digest of the source, "" without one.
func (p *book) made(st state, words, outline, source string, top markup) *Made {
	bar := sprintf(`<span class="pill %s">%s %s</span><a class="doc" href="#main">%s</a>`, markup(st),
		verdictSign(st, words), words, cleanLine(p.title))
	foot := sprintf(`<footer>Made by Markmill of <code>%s</code>`, cleanLine(p.name))
	if source != "" {
		foot += sprintf(` · source <code>%s</code>`, cleanLine(source))
	}
	page := frame(p.title, bar, outlineOf(p.outline, outline), top+p.body.markup()+foot+"</footer>\n", keyTable(
		[2]markup{"<kbd>j</kbd> <kbd>k</kbd>", "next, previous step"},
		[2]markup{"<kbd>e</kbd>", "next step that failed"},
		[2]markup{"<kbd>f</kbd>", "fold or open this step"}, [2]markup{"<kbd>a</kbd>", "fold or open all steps"},
		[2]markup{"<kbd>t</kbd>", "light or dark"}, [2]markup{"<kbd>?</kbd>", "these keys"}), p.looks.markup())
	return &Made{Page: page, Title: p.title, Steps: p.steps, Style: string(p.looks.markup()),
		StyleDigest: string(digestOf(p.looks.markup()))}
}

// sentence renders a line of Markdown.
func (p *page) sentence(line string) markup {
	src := []byte(line)
	return p.prose([]ast.Node{p.markdown.Parser().Parse(text.NewReader(src))}, src)
}
