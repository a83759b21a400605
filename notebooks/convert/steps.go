package convert

import (
	"slices"

	"markmill/notebooks"
	"markmill/notebooks/markdown"
)

// ReadRun reads a notebook as a run of it does: its cells of code are the steps, in their order, and the blocks of
// parameters; everything else is text. It differs from Read where other tools take a fence for a cell that does not
// run, as one without attributes in a file without a header of Jupytext's.
func ReadRun(nb *notebooks.Notebook) (*Document, error) {
	form := nb.Form
	if form.Markdown() {
		form = conversionForm(nb)
	}
	d, err := Read(form, nb.Name, nb.Source)
	if err != nil || !d.examples {
		return d, err
	}
	t := textOfSource(nb.Source)
	if t.crlf {
		if nb, err = markdown.ParseAs(form, nb.Name, []byte(t.src)); err != nil {
			return nil, err
		}
	}
	return t.readNative(d, nb)
}

// readNative reads the text, which was read as d, as Markmill's own form: every step is a cell of code, and every other
// fence is text. Of the header, which becomes a raw cell, it keeps what names the language.
func (t *text) readNative(d *Document, nb *notebooks.Notebook) (*Document, error) {
	own, err := t.read(&Document{Name: d.Name, Form: notebooks.FormNative}, nb)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{keyKernelspec, "language_info"} {
		if v := d.Metadata.Get(name); v != nil {
			own.Metadata.Set(name, v)
		}
	}
	return own, nil
}

// takeSteps finds the steps among the cells of code. What the options of other tools mean to a run stays with the
// cells, because Jupyter has no place for these options.
func (d *Document) takeSteps(nb *notebooks.Notebook) {
	d.nest()
	steps := map[int]*notebooks.Step{}
	for _, s := range nb.Steps {
		steps[s.Fence.Start] = s
	}
	for i := range d.Cells {
		c := &d.Cells[i]
		if c.Type != "code" {
			continue
		}
		s := steps[c.at]
		if s == nil {
			d.examples = true
			continue
		}
		delete(steps, c.at)
		if _, _, _, ok := magic(c.Source, d.Language()); ok && s.Lang != "" && !sameLanguage(s.Lang, d.Language()) {
			c.Metadata.setOwn(keyLanguage, quoted(s.Lang))
		}
		var implied []string
		for _, tag := range s.Tags {
			switch tag {
			case notebooks.TagSkip, notebooks.TagAllowFailure, notebooks.TagRaises, notebooks.TagInterrupt:
				if !means(c.tags(), tag) {
					implied = append(implied, tag)
				}
			}
		}
		if len(implied) > 0 {
			c.Metadata.setOwn("tags", textList(implied))
		}
	}
	d.hidden = len(steps) > 0
}

// means reports whether one of the tags as typed translates to a tag of Markmill's.
func means(typed []string, tag string) bool {
	return slices.ContainsFunc(typed, func(t string) bool { return slices.Contains(markdown.TagsOf(t), tag) })
}
