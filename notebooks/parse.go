package notebooks

import (
	"fmt"
	"sort"
	"strings"
)

// Parse reads a source without regions. Every mistake is in the error, an ErrorList in order of
// place; the notebook is returned as far as it could be read, and is never nil.
func Parse(name string, src []byte) (*Notebook, error) { return ParseAs(FormOfName(name), name, src) }

// ParseAs is Parse for a source of a form, whatever its name. The form matters for Quarto and R Markdown only; the
// other forms of Markdown may be mixed in one file.
func ParseAs(form Form, name string, src []byte) (*Notebook, error) {
	nb := &Notebook{Name: name, Source: src, Form: FormNative, ParamsAt: -1}
	if err := CheckText(name, src); err != nil {
		return nb, ErrorList{err.(*Error)}
	}
	nb.places = NewPlaces(src)
	if w := WarnOfReturns(name, src); w != nil {
		nb.Warnings = append(nb.Warnings, w)
	}
	r := parser{nb: nb, needsAt: map[*Step]int{}}
	matter := findFrontMatter(src)
	r.readHeader(matter)
	r.checkLostMatter(matter)
	if form == FormQuarto || form == FormRMarkdown { // a bare fence is an example there, whatever wrote the header
		r.header.form, r.header.jupytext = FormQuarto, false
	}
	r.blocks = scanBlocks(src, matter.body)
	r.textCells = findTextCells(src, r.blocks.markups)
	for i := range r.blocks.fences {
		r.readFence(&r.blocks.fences[i])
	}
	for _, m := range r.blocks.markups {
		r.checkMarkup(m)
	}
	r.decideForm()
	r.readFront(frontPlace{matter.text.Start, 1, matter.body}, nb.Form == FormNative)
	r.nameSteps()
	r.checkNeeds()
	r.checkParams()
	r.checkConflicts()
	r.checkStepConflicts()
	return r.result()
}

// result is the notebook, with its warnings and the mistakes in order of place.
func (r *parser) result() (*Notebook, error) {
	sort.SliceStable(r.nb.Warnings, before(r.nb.Warnings))
	if len(r.errs) == 0 {
		return r.nb, nil
	}
	sort.SliceStable(r.errs, before(r.errs))
	return r.nb, r.errs
}

// Step finds a step by its id; nil if there is none.
func (nb *Notebook) Step(id StepID) *Step {
	for _, s := range nb.Steps {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// parser is the state of Parse.
type parser struct {
	nb        *Notebook
	errs      ErrorList
	blocks    blocks
	header    header
	textCells []Span          // Markdown and raw cells of Jupytext
	needsAt   map[*Step]int   // the offset of its needs=
	foreign   Form            // of the first step that is spelled in another form
	guessed   bool            // a language was guessed, and the warning given
	blockAt   int             // end of the first parameters block, 0 without one
	frontKeys map[string]bool // that were read
	frontAt   int             // end of a front matter that declares parameters, 0 without one
}

func before(list []*Error) func(i, j int) bool {
	return func(i, j int) bool {
		a, b := list[i], list[j]
		return a.Line < b.Line || a.Line == b.Line && a.Col < b.Col
	}
}

func (r *parser) mistake(kind Kind, at int, id StepID, msg, hint string) {
	line, col := r.nb.Position(at)
	r.errs = append(r.errs, &Error{Kind: kind, File: r.nb.Name, Line: line, Col: col, Step: id, Msg: msg, Hint: hint})
}

func (r *parser) warn(at int, id StepID, msg, hint string) {
	line, col := r.nb.Position(at)
	r.nb.Warnings = append(r.nb.Warnings,
		&Error{Kind: KindOption, File: r.nb.Name, Line: line, Col: col, Step: id, Msg: msg, Hint: hint})
}

// readFence makes a step or a parameters block of a fence, or leaves it as prose.
func (r *parser) readFence(f *fence) {
	if f.info.End-f.info.Start > maxInfo {
		r.mistake(KindSyntax, f.tick, "", fmt.Sprintf("the info string is longer than %d KiB", maxInfo>>10),
			"close the fence before it")
		return
	}
	text := string(r.nb.Source[f.info.Start:f.info.End])
	in := parseInfo(text, f.info.Start)
	role := r.roleOf(f, &in)
	if f.inside != "" {
		if role != prose {
			r.mistake(KindSyntax, f.tick, "", "a step stands inside a "+f.inside+", where it is not run",
				"put its fence at the left margin, outside of the "+f.inside)
		}
		return
	}
	if !f.closed {
		line, _ := r.nb.Position(f.tick)
		mark := r.nb.Source[f.tick : f.tick+fenceLength(r.nb.Source, f.tick)]
		r.mistake(KindSyntax, f.tick, "", fmt.Sprintf("the fence that opens in line %d is never closed", line),
			fmt.Sprintf("write a line of %s after its last line", mark))
	}
	if r.header.form == "" {
		r.checkOutputTag(&in)
	}
	r.nb.Fences = append(r.nb.Fences, Fence{Span: f.span, Info: text, Form: in.form, Lang: in.lang,
		Code: f.code(r.nb.Source)})
	switch role {
	case prose:
		if r.header.form == "" {
			r.checkAlmostStep(&in)
			r.checkAlmostLanguage(f)
		}
	case step:
		r.addStep(f, &in)
		r.nb.Fences[len(r.nb.Fences)-1].Step = r.nb.Steps[len(r.nb.Steps)-1]
	case parameters:
		r.addParameters(f, &in)
	}
}

// maxInfo bounds an info string, in bytes, and so the time to find a position in it.
const maxInfo = 16 << 10

func fenceLength(src []byte, at int) int {
	n := 1
	for at+n < len(src) && src[at+n] == src[at] {
		n++
	}
	return n
}

// checkMarkup looks for steps that an HTML block hides, and for blocks that hide all the rest.
func (r *parser) checkMarkup(m markup) {
	src := r.nb.Source
	if m.open {
		r.mistake(KindSyntax, m.span.Start, "", "the HTML that opens here is never closed, and hides all that follows",
			"write "+m.until+" where it ends")
	}
	if m.comment {
		return
	}
	for at := m.span.Start; at < m.span.End; at = lineEnd(src, at) {
		line := strings.TrimRight(string(src[at:min(lineEnd(src, at), m.span.End)]), "\r\n")
		text := strings.TrimLeft(line, " \t")
		tick := at + len(line) - len(text)
		if !strings.HasPrefix(text, "```") && !strings.HasPrefix(text, "~~~") {
			continue
		}
		n := fenceLength(src, tick)
		info := strings.TrimSpace(text[n:])
		if len(info) > maxInfo {
			continue
		}
		in := parseInfo(info, tick+len(text)-len(strings.TrimLeft(text[n:], " \t")))
		if in.form != "" && r.roleOf(&fence{span: Span{at, at}}, &in) != prose {
			r.mistake(KindSyntax, tick, "", "a step stands inside an HTML block, where it is not run",
				"leave a blank line before its fence")
		}
	}
}

// decideForm names the spelling of the whole: that of the header or the file name, or that of the first step that is
// not spelled in Markmill's own way.
func (r *parser) decideForm() {
	switch {
	case r.header.form != "":
		r.nb.Form = r.header.form
	case r.foreign != "":
		r.nb.Form = r.foreign
	}
}
