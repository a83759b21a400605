package markdown

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
)

// Parse reads a source without regions. Every mistake is in the error, an ErrorList in order of
// place; the notebook is returned as far as it could be read, and is never nil.
func Parse(name string, src []byte) (*notebooks.Notebook, error) {
	return ParseAs(notebooks.FormOfName(name), name, src)
}

// ParseAs is Parse for a source of a form, whatever its name. The form matters for Quarto and R Markdown only; the
// other forms of Markdown may be mixed in one file.
func ParseAs(form notebooks.Form, name string, src []byte) (*notebooks.Notebook, error) {
	nb := notebooks.New(name, src, notebooks.FormNative)
	if err := notebooks.CheckText(name, src); err != nil {
		return nb, notebooks.ErrorList{err.(*notebooks.Error)}
	}
	if w := notebooks.WarnOfReturns(name, src); w != nil {
		nb.Warnings = append(nb.Warnings, w)
	}
	r := parser{nb: nb, optionAt: map[option]int{}}
	matter := blocks.FindFrontMatter(src)
	r.readHeader(matter)
	r.checkLostMatter(matter)
	// a bare fence is an example there, whatever wrote the header
	if form == notebooks.FormQuarto || form == notebooks.FormRMarkdown {
		r.header.form, r.header.jupytext = notebooks.FormQuarto, false
		r.header.magics = r.header.magics || form == notebooks.FormRMarkdown
	}
	r.fences, r.markups = blocks.Scan(src, matter.Body)
	r.textCells = findTextCells(src, r.markups)
	for i := range r.fences {
		r.readFence(&r.fences[i])
	}
	for _, m := range r.markups {
		r.checkMarkup(m)
	}
	// The form of the file is that of its header or its name, or else of the first step that is not in Markmill's own
	// form.
	nb.Form = cmp.Or(r.header.form, r.foreign, nb.Form)
	r.readFront(frontPlace{matter.Text.Start, 1, matter.Body}, nb.Form == notebooks.FormNative)
	if nb.Form == notebooks.FormMarimo {
		r.warn(matter.Span.Start, "", MarimoOrder, "")
	}
	r.nameSteps()
	r.checkNeeds()
	r.checkParams()
	r.checkConditions()
	r.checkConflicts()
	r.checkStepConflicts()
	return r.result()
}

// result returns the notebook, with its warnings and the mistakes in order of place.
func (r *parser) result() (*notebooks.Notebook, error) {
	r.refuse()
	notebooks.ErrorList(r.nb.Warnings).Sort()
	if len(r.errs) == 0 {
		return r.nb, nil
	}
	r.errs.Sort()
	return r.nb, r.errs
}

// parser is the state of Parse.
type parser struct {
	nb        *notebooks.Notebook
	errs      notebooks.ErrorList
	fences    []blocks.Fence
	markups   []blocks.Markup
	header    header
	textCells []notebooks.Span   // Markdown and raw cells of Jupytext
	optionAt  map[option]int     // the offset of an option of a step
	near      []*notebooks.Error // near misses, which are warnings, too
	foreign   notebooks.Form     // of the first step that is spelled in another form
	guessed   bool               // a language was guessed, and the warning given
	blockAt   int                // end of the first parameters block, 0 without one
	frontKeys map[string]bool    // that were read
	frontAt   int                // end of a front matter that declares parameters, 0 without one
}

// option is an option of a step.
type option struct {
	step *notebooks.Step
	key  string
}

func (r *parser) mistake(kind notebooks.Kind, at int, id notebooks.StepID, msg, hint string) {
	line, col := r.nb.Position(at)
	r.errs = append(r.errs, &notebooks.Error{Kind: kind, File: r.nb.Name, Line: line, Col: col, Step: id, Msg: msg,
		Hint: hint})
}

func (r *parser) warn(at int, id notebooks.StepID, msg, hint string) {
	line, col := r.nb.Position(at)
	r.nb.Warnings = append(r.nb.Warnings,
		&notebooks.Error{Kind: notebooks.KindOption, File: r.nb.Name, Line: line, Col: col,
			Step: id, Msg: msg, Hint: hint})
}

// readFence makes a step or a parameters block of a fence, or leaves it as prose.
func (r *parser) readFence(f *blocks.Fence) {
	if f.Info.End-f.Info.Start > maxInfo {
		r.mistake(notebooks.KindSyntax, f.Tick, "", fmt.Sprintf("the info string is longer than %d KiB", maxInfo>>10),
			"close the fence before it")
		return
	}
	text := string(r.nb.Source[f.Info.Start:f.Info.End])
	in := parseInfo(text, f.Info.Start)
	role := r.roleOf(f, &in)
	if f.Inside != "" {
		if role != prose {
			r.hidden(f.Tick, &in, "a "+f.Inside, "put its fence at the left margin, outside of the "+f.Inside)
		}
		return
	}
	if !f.Closed {
		line, _ := r.nb.Position(f.Tick)
		mark := r.nb.Source[f.Tick : f.Tick+fenceLength(r.nb.Source, f.Tick)]
		r.mistake(notebooks.KindSyntax, f.Tick, "",
			fmt.Sprintf("the fence that opens in line %d is never closed", line),
			fmt.Sprintf("write a line of %s after its last line", mark))
	}
	r.nb.Fences = append(r.nb.Fences, notebooks.Part{Span: f.Span, Info: text, Form: in.form,
		Code: f.Code(r.nb.Source)})
	part := &r.nb.Fences[len(r.nb.Fences)-1]
	switch role {
	case prose:
		if r.header.form == "" {
			r.checkAlmostStep(&in)
			r.checkAlmostLanguage(f)
		}
	case step:
		r.addStep(f, &in)
		part.Kind, part.Step = notebooks.PartStep, r.nb.Steps[len(r.nb.Steps)-1]
	case parameters:
		r.addParameters(f, &in)
		part.Kind = notebooks.PartParameters
	}
}

// hidden reports a step that stands where none is run: in Markmill's own form a mistake, in others text, as their tools
// have it.
func (r *parser) hidden(at int, in *info, inside, hint string) {
	const msg = Inside + " %s, where it is not run"
	if in.form == notebooks.FormNative {
		r.mistake(notebooks.KindSyntax, at, "", fmt.Sprintf(msg, inside), hint)
		return
	}
	r.warn(at, "", fmt.Sprintf(msg, inside)+"; it is taken for text", hint)
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
func (r *parser) checkMarkup(m blocks.Markup) {
	src := r.nb.Source
	if m.Open {
		r.mistake(notebooks.KindSyntax, m.Span.Start, "",
			"the HTML that opens here is never closed, and hides all that follows",
			"write "+m.Until+" where it ends")
	}
	inside, hint := "an HTML block", "leave a blank line before its fence"
	if m.Comment {
		inside, hint = "an HTML comment", "take it out of the comment"
	}
	for at := m.Span.Start; at < m.Span.End; at = blocks.LineEnd(src, at) {
		line := strings.TrimRight(string(src[at:min(blocks.LineEnd(src, at), m.Span.End)]), "\r\n")
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
		// knitr runs chunks in comments; elsewhere a comment is what everybody takes for text
		if m.Comment && (in.form != notebooks.FormQuarto || r.header.form != notebooks.FormQuarto) {
			continue
		}
		if in.form != "" && r.roleOf(&blocks.Fence{Span: notebooks.Span{Start: at, End: at}}, &in) != prose {
			r.hidden(tick, &in, inside, hint)
		}
	}
}

// checkConflicts refuses a source with unresolved merge conflicts: a conflict in prose, or around steps, which would
// otherwise run, both of its sides. One inside a fence is that fence's text, and its language's to refuse.
func (r *parser) checkConflicts() {
	src := r.nb.Source
	if !bytes.Contains(src, []byte("\n>>>>>>> ")) {
		return
	}
	open, parted := -1, false
	for at, f := 0, 0; at < len(src); at = blocks.LineEnd(src, at) {
		for f < len(r.fences) && r.fences[f].Span.End <= at {
			f++
		}
		line := src[at:blocks.LineEnd(src, at)]
		switch inside := f < len(r.fences) && r.fences[f].Span.Start < at; {
		case blocks.IsConflictOpen(line) && !inside:
			open, parted = at, false
		case open >= 0 && blocks.IsConflictPart(line):
			parted = true
		case open >= 0 && parted && blocks.IsConflictEnd(line):
			end, _ := r.nb.Position(at)
			r.mistake(notebooks.KindSyntax, open, "",
				fmt.Sprintf("a conflict of a merge begins here, and ends in line %d", end),
				"keep what is right, and delete Git's lines")
			open = -1
		}
	}
}

// TypedTags returns the tags of a step as its author typed them in the braces of Markmill's own form; in other forms,
// the tags that the step has. The tag step, which only makes one, is not among them.
func TypedTags(nb *notebooks.Notebook, s *notebooks.Step) []string {
	tags := s.Tags
	line := string(nb.Source[s.Fence.Start:blocks.LineEnd(nb.Source, s.Fence.Start)])
	info := strings.TrimSpace(strings.TrimLeft(strings.TrimLeft(line, " \t"), "`~"))
	if in := parseInfo(info, 0); in.form == notebooks.FormNative {
		tags = nil
		for _, t := range in.tags {
			tags = append(tags, t.text)
		}
		if a, ok := in.attr("tags"); ok {
			tags = append(tags, a.words()...)
		}
	}
	return slices.DeleteFunc(slices.Clone(tags), func(t string) bool { return t == "step" })
}

// FrontKey reports whether a key of a front matter is Markmill's.
func FrontKey(key string) bool {
	_, ok := frontKeys[key]
	return ok || key == "params"
}
