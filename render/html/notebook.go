package html

import (
	"bytes"
	"io/fs"
	"strings"

	"github.com/yuin/goldmark/ast"

	"markmill/notebooks"
	"markmill/notebooks/markdown"
	"markmill/notebooks/region"
	"markmill/render/plain"
	"markmill/render/result"
	"markmill/runs"
)

// notebookPage is the page of a notebook.
type notebookPage struct {
	book
	nb       *notebooks.Notebook
	problems notebooks.ErrorList
	results  map[notebooks.StepID]*outcome
	used     []notebooks.ManifestParam // by the run
}

// Notebook renders the page of a source or an output notebook. name is its name on the page; files is its folder,
// nil if its pictures are not available, and run the run that left it, nil where that is not known. Mistakes in the
// source are returned as markdown.Parse reports them; damaged outputs are reported on the page.
func Notebook(name string, src []byte, files fs.FS, run *runs.Run) (*Made, error) {
	stripped := region.Strip(name, src)
	nb, err := markdown.Parse(name, stripped.Source)
	if err != nil {
		return nil, err
	}
	p := notebookPage{book: book{page: newPage(name, files), run: run, title: nb.Front.Title,
		manifest: stripped.Manifest, steps: map[notebooks.StepID]string{}}, nb: nb,
		problems: stripped.Problems, results: map[notebooks.StepID]*outcome{}}
	for _, s := range nb.Steps {
		p.anchors.used["#"+string(s.ID)] = true
	}
	p.used = result.Parameters(stripped)
	steps := result.Steps(stripped)
	for _, r := range stripped.Regions {
		if p.anchors.used["#"+r.ID] {
			res := outcomeOf(p.manifest, steps[notebooks.StepID(r.ID)])
			p.readRegion(res, r)
			p.results[notebooks.StepID(r.ID)] = res
		}
	}
	p.write()
	st, words, source := unknown, "Not run", ""
	if p.manifest != nil {
		st, words = statusWords(p.manifest.Status)
		source = strings.TrimSpace(p.manifest.Source)
	} else if len(p.results) > 0 {
		words = "Incomplete"
	}
	return p.made(st, words, plain.Counted(len(nb.Steps), "step"), source, p.summary(st, words)), nil
}

func (p *notebookPage) write() {
	base := p.nb.Front.Span.End
	if base == 0 && bytes.HasPrefix(p.nb.Source, []byte("\xef\xbb\xbf")) {
		base = 3
	}
	src := p.nb.Source[base:]
	root := p.parse(src, headingIDs{p.anchors})
	steps := map[int]*notebooks.Step{} // by the offset of the line that the fence begins with
	for _, s := range p.nb.Steps {
		steps[s.Fence.Start] = s
	}
	p.findTitle(root, src)
	p.nameAsTitle()
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
			if p.heading(n, src) {
				flush()
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
				p.body.put("<div class=\"prose\">%s</div>\n", p.fence(n, src))
			}
			continue
		}
		if !p.isTitle(n, src) {
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
	p.line = s.CodeLine
	p.begin(stepLine{id: string(s.ID), lang: s.Lang, state: res.state, sign: signs[res.state], tags: s.Tags,
		options: options(s), words: res.words}, string(s.Code),
		s.Has(notebooks.TagHideInput) || p.manifest != nil && p.manifest.ReportMode)
	w := &p.body
	if res.edited {
		w.put(`<p class="warn">What stands here was edited after the run.</p>`)
	}
	p.broke(res.broke)
	if res.shown != "" {
		w.put(`<div class="result">%s</div>`, res.shown)
	}
	switch {
	case res.body == "":
	case res.shown == "" || res.open:
		w.put(`<div class="result">%s</div>`, res.body)
	default: // as in the notebook: the results are what is read
		words := markup("what it printed")
		if len(res.files) > 0 {
			words += " and changed"
		}
		w.put(`<details class="more"><summary>%s</summary><div class="result">%s</div></details>`, words, res.body)
	}
	p.end(string(s.ID))
}

// options lists the attributes of a step that readers want to see beside its name.
func options(s *notebooks.Step) []string {
	var out []string
	for _, a := range s.Attributes() {
		switch a.Name {
		case "needs", "if", "timeout":
			out = append(out, a.Name+" "+a.Text(", "))
		case "cwd":
			out = append(out, "in "+s.Cwd)
		}
	}
	return out
}
