package convert

import (
	"strings"

	"markmill/notebooks"
)

// takeSteps has the text read as a run reads it: its mistakes are the errors, and what the options of other tools mean to a run stays with
// the cells, where Jupyter has no place for these options.
func (d *Document) takeSteps(t *text) error {
	name := d.Name
	if d.Form == Quarto || d.Form == RMarkdown {
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
		s := steps[c.at]
		if c.Type != "code" || s == nil {
			continue
		}
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
