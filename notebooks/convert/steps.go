package convert

import (
	"strings"

	"markmill/notebooks"
)

// ReadRun reads a text notebook as a run of it does: its cells of code are the steps, in their order, and the blocks of
// parameters, and what is no step is text. A fence may be a cell to other tools and no step, as one without attributes
// where no header of Jupytext's stands; and in Jupyter's Markdown a step may stand in what is a cell of text there.
func ReadRun(nb *notebooks.Notebook) (*Document, error) {
	form, err := FormOf(nb.Name, nb.Source)
	if err != nil {
		return nil, err
	}
	d, err := Read(form, nb.Name, nb.Source)
	if err != nil || !d.stray {
		return d, err
	}
	run, err := Read(notebooks.FormNative, nb.Name, nb.Source)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{keyKernelspec, "language_info"} { // those of the header, which stays a raw cell
		if v := d.Metadata.Get(name); v != nil {
			run.Metadata.Set(name, v)
		}
	}
	return run, nil
}

// takeSteps has the text read as a run reads it: its mistakes are the errors, and what the options of other tools mean
// to a run stays with the cells, where Jupyter has no place for these options.
func (d *Document) takeSteps(t *text) error {
	name := d.Name
	if d.Form == notebooks.FormQuarto || d.Form == notebooks.FormRMarkdown {
		if lower := strings.ToLower(name); !strings.HasSuffix(lower, ".qmd") && !strings.HasSuffix(lower, ".rmd") {
			name += ".qmd"
		}
	}
	nb, err := notebooks.Parse(name, []byte(t.src))
	if err != nil {
		return err
	}
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
			d.stray = true
			continue
		}
		delete(steps, c.at)
		if _, _, _, ok := magic(c.Source, d.Language()); ok && s.Lang != "" && !sameLanguage(s.Lang, d.Language()) {
			c.Metadata.setOwn(keyLanguage, quoted(s.Lang))
		}
		var implied []string
		for _, tag := range s.Tags {
			switch tag {
			case notebooks.TagSkip, notebooks.TagAllowFailure, notebooks.TagRaises:
				if !means(c.tags(), tag) {
					implied = append(implied, tag)
				}
			}
		}
		if len(implied) > 0 {
			c.Metadata.setOwn("tags", textList(implied))
		}
	}
	d.stray = d.stray || len(steps) > 0
	return nil
}

// means says whether one of the tags that an author typed is a tag of Markmill's.
func means(typed []string, tag string) bool {
	for _, t := range typed {
		for _, own := range notebooks.TagsOf(t) {
			if own == tag {
				return true
			}
		}
	}
	return false
}
