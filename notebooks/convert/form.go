package convert

import (
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/forms"
)

// FormOf is the form of a source: by the ending of its name, and where that names none, by what it says. The error is
// that of a text that is no notebook.
func FormOf(name string, src []byte) (Form, error) {
	if form := Ending(name); form != "" {
		return form, nil
	}
	switch {
	case forms.IsJupyter(name, src):
		return Jupyter, nil
	case forms.IsPercent(name, src):
		return Percent, nil
	}
	nb, err := notebooks.Parse(name, src)
	if err != nil {
		return "", err
	}
	switch nb.Form {
	case notebooks.FormJupytext:
		return Jupytext, nil
	case notebooks.FormMyST:
		return MyST, nil
	case notebooks.FormQuarto:
		return Quarto, nil
	}
	return Native, nil
}

// Ending is the form that the ending of a file's name means; "" for .md, which three forms have, and for others.
func Ending(name string) Form {
	lower := strings.ToLower(name)
	for ending, form := range map[string]Form{".ipynb": Jupyter, ".qmd": Quarto, ".rmd": RMarkdown, ".myst": MyST, ".mystnb": MyST, ".mnb": MyST} {
		if strings.HasSuffix(lower, ending) {
			return form
		}
	}
	if forms.IsPercent(name, nil) && name != "-" {
		return Percent
	}
	return ""
}

// MarkdownForm is the form that a .md file of the notebook has: the one that it was converted from, as its metadata
// say, or else Markmill's own.
func (d *Document) MarkdownForm() Form {
	switch own := d.Metadata.own(); {
	case d.Form == Native, own.text(keyForm) == string(Native):
		return Native
	case d.Form == Jupytext || d.Form == MyST:
		return d.Form
	}
	switch d.Metadata.object(keyJupytext).object("text_representation").text("format_name") {
	case "markdown":
		return Jupytext
	case "myst":
		return MyST
	}
	for _, form := range []Form{Jupytext, MyST} {
		if _, ok := d.Metadata.spelling(form); ok {
			return form
		}
	}
	return Native
}
