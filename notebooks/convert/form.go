package convert

import "markmill/notebooks"

// conversionForm returns the form of a Markdown notebook as conversions distinguish them.
func conversionForm(nb *notebooks.Notebook) notebooks.Form {
	if named := notebooks.FormOfName(nb.Name); named.Markdown() && named != notebooks.FormNative {
		return named
	}
	switch nb.Form {
	case notebooks.FormJupytext, notebooks.FormMyST, notebooks.FormQuarto:
		return nb.Form
	}
	return notebooks.FormNative
}

// FormFor returns the form of a file by its name, where several forms share its extension.
func (d *Document) FormFor(name string) notebooks.Form {
	if !notebooks.FormOfName(name).Script() {
		return d.MarkdownForm()
	}
	written := d.Metadata.object(keyJupytext).object("text_representation").text("format_name")
	if _, spelled := d.Metadata.spelling(notebooks.FormLight); spelled || d.Form == notebooks.FormLight || written == "light" {
		return notebooks.FormLight
	}
	return notebooks.FormPercent
}

// MarkdownForm returns the form that a .md file of the notebook has: the one that it was converted from, as its
// metadata say, or else Markmill's own.
func (d *Document) MarkdownForm() notebooks.Form {
	switch own := d.Metadata.own(); {
	case d.Form == notebooks.FormNative, own.text(keyForm) == string(notebooks.FormNative):
		return notebooks.FormNative
	case d.Form == notebooks.FormJupytext || d.Form == notebooks.FormMyST:
		return d.Form
	}
	switch d.Metadata.object(keyJupytext).object("text_representation").text("format_name") {
	case "markdown":
		return notebooks.FormJupytext
	case "myst":
		return notebooks.FormMyST
	}
	for _, form := range []notebooks.Form{notebooks.FormJupytext, notebooks.FormMyST} {
		if _, ok := d.Metadata.spelling(form); ok {
			return form
		}
	}
	return notebooks.FormNative
}
