package markdown

import (
	"cmp"
	"strconv"

	"go.yaml.in/yaml/v4"

	"markmill/notebooks"
	"markmill/notebooks/params"
)

// FromCells makes a notebook of a file that another package has read. Like Parse it gives every mistake there is, in
// order of place, and the notebook as far as it could be read.
//
// An id that a step cannot have is changed, and a repeated id gets a number: other programs accept both, and so must a
// run.
func FromCells(b notebooks.CellFile) (*notebooks.Notebook, error) {
	nb := notebooks.New(b.Name, b.Source, b.Form)
	r := parser{nb: nb, optionAt: map[option]int{}}
	taken := map[notebooks.StepID]bool{}
	for _, c := range b.Cells {
		if notebooks.IsID(c.ID) {
			taken[notebooks.StepID(c.ID)] = false // the cell whose id it is has it
		}
	}
	ids := freeIDs{taken, map[string]int{}}
	for i := range b.Cells {
		r.addCell(&b.Cells[i], ids)
	}
	for _, m := range b.FrontMatter {
		r.readMatter(m)
	}
	if b.Head != nil {
		r.checkHead(*b.Head)
	}
	r.nameSteps()
	r.checkNeeds()
	r.checkParams()
	r.checkConditions()
	r.checkStepConflicts()
	return r.result()
}

// addCell makes a step of a cell.
func (r *parser) addCell(c *notebooks.Cell, ids freeIDs) {
	nb := r.nb
	s := &notebooks.Step{Index: len(nb.Steps), Lang: notebooks.KernelLanguage(c.Lang), Code: []byte(c.Code),
		CodeLine: c.CodeLine, Line: c.Line, Fence: c.At, Apart: c.Apart}
	nb.Steps = append(nb.Steps, s)
	if c.ID != "" || c.Place > 0 {
		s.ID, s.Explicit = ids.of(c), notebooks.IsID(c.ID)
		ids.taken[s.ID] = true
	}
	for _, tag := range c.Tags {
		r.checkTag(s, mark{tag, c.At.Start}, "")
		addTag(s, tag)
	}
	attrs := make([]attr, len(c.Options))
	for i, o := range c.Options {
		attrs[i] = jsonAttr(o.Name, string(o.Value), o.At)
		if o.Name == "name" { // which its author gave, and a program the id
			s.Explicit = false
		}
	}
	spelled := notebooks.FormJupytext
	if c.Strict {
		spelled = notebooks.FormNative
	}
	r.applyAll(s, attrs, spelled)
	if s.Has(notebooks.TagParameters) {
		r.declare(s, c.Block)
	}
}

// freeIDs are the ids of steps in the making.
type freeIDs struct {
	taken map[notebooks.StepID]bool // false of one that waits for the cell whose own it is
	next  map[string]int            // the number that is tried next behind an id; a step with each smaller one is there
}

// of returns a unique step id for a cell.
func (f freeIDs) of(c *notebooks.Cell) notebooks.StepID {
	base := cmp.Or(notebooks.Slug(c.ID), "cell-"+strconv.Itoa(c.Place))
	id := notebooks.StepID(base)
	for n := max(f.next[base], 2); ; n++ {
		used, known := f.taken[id]
		if !known || !used && string(id) == c.ID {
			return id
		}
		id = notebooks.StepID(base + "-" + strconv.Itoa(n))
		f.next[base] = n
	}
}

// declare reads the parameters of a step of code that declares them.
func (r *parser) declare(s *notebooks.Step, block string) {
	s.Parameters = true
	r.blockAt = cmp.Or(r.blockAt, s.Fence.End)
	if block != "" {
		params, errs := params.ParseBlock(r.nb.Name, []byte(block), s.Line)
		r.nb.Params, r.errs = append(r.nb.Params, params...), append(r.errs, errs...)
		return
	}
	r.nb.Params = append(r.nb.Params, params.ParseCode(s.Lang, s.Code, s.CodeLine)...)
}

// SetDefaultLanguage sets the language of steps that name none and of the values that a run is given, for a source that
// does not say it. Such steps with the tag parameters then declare what they assign. "" changes nothing.
func SetDefaultLanguage(nb *notebooks.Notebook, lang string) {
	nb.DefaultLanguage = notebooks.KernelLanguage(lang)
	declared := map[string]bool{}
	for _, p := range nb.Params {
		declared[p.Name] = true
	}
	for _, s := range nb.Steps {
		if s.Lang != "" {
			continue
		}
		s.Lang = nb.DefaultLanguage
		if !s.Parameters {
			continue
		}
		for _, p := range params.ParseCode(s.Lang, s.Code, s.CodeLine) {
			if !declared[p.Name] {
				nb.Params = append(nb.Params, p)
			}
			declared[p.Name] = true
		}
	}
}

// readMatter reads a front matter. Positions in messages are those of the file.
func (r *parser) readMatter(m notebooks.FrontMatter) {
	if r.nb.Front.Span == (notebooks.Span{}) {
		r.nb.Front.Span = m.At
	}
	node := params.JSONNode(m.Text)
	if node == nil {
		var line, col int
		var msg string
		if node, line, col, msg = YAMLMapping(m.Text); msg != "" {
			line, col = m.Place(line, col)
			r.header.invalid = &slip{r.offset(0, line, col), "the front matter cannot be read: " + msg,
				"write it as YAML, key: value"}
		}
	}
	relocate(node, m.Place)
	r.header.node = node
	r.readFront(frontPlace{end: m.At.End}, m.Strict)
	r.header.invalid = nil
}

// relocate moves the places of a node and of all in it.
func relocate(n *yaml.Node, place func(line, col int) (int, int)) {
	if n == nil {
		return
	}
	n.Line, n.Column = place(n.Line, n.Column)
	for _, c := range n.Content {
		relocate(c, place)
	}
}
