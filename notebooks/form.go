package notebooks

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"
)

// Form is the syntax that a notebook is written in. The model is the same for all.
type Form string

// Quarto's reader also reads R Markdown: a run names both FormQuarto, and only a conversion tells them apart.
const (
	FormNative    Form = "markmill"
	FormJupytext  Form = "jupytext"
	FormMyST      Form = "myst"
	FormQuarto    Form = "quarto"
	FormRMarkdown Form = "rmarkdown"
	FormRunme     Form = "runme"
	FormMarimo    Form = "marimo"
	FormPercent   Form = "percent"
	FormLight     Form = "light" // only conversions tell it from FormPercent
	FormJupyter   Form = "jupyter"
)

// formRow is a row of the table of forms.
type formRow struct {
	form       Form
	option     string // what --to calls it; "" for a form that is only read
	title      string
	extensions []string
}

// forms is the one table of forms and the extensions of their files. The first row with an extension names the form of
// a file that nothing else is known about. The extensions of percent scripts are in the table of languages.
var forms = []formRow{
	{FormNative, "markmill", "Markmill's Markdown", []string{".md", ".markdown"}},
	{FormJupytext, "jupytext", "Jupytext Markdown", []string{".md", ".markdown"}},
	{FormMyST, "myst", "MyST Markdown", []string{".myst", ".mystnb", ".mnb", ".md", ".markdown"}},
	{FormQuarto, "qmd", "Quarto", []string{".qmd"}},
	{FormRMarkdown, "rmd", "R Markdown", []string{".rmd"}},
	{FormRunme, "", "Runme", []string{".md", ".markdown"}},
	{FormMarimo, "", "marimo", []string{".md", ".markdown"}},
	{FormPercent, "percent", "a percent script", nil},
	{FormLight, "light", "a light script", nil},
	{FormJupyter, "ipynb", "a Jupyter notebook", []string{".ipynb"}},
}

// row returns the row of the form; that of an unknown form is empty.
func (f Form) row() formRow {
	if i := slices.IndexFunc(forms, func(row formRow) bool { return row.form == f }); i >= 0 {
		return forms[i]
	}
	return formRow{}
}

// Title returns the name of the form in messages.
func (f Form) Title() string { return cmp.Or(f.row().title, string(f)) }

// Option returns the name of the form on the command line; "" for a form that is only read.
func (f Form) Option() string { return f.row().option }

// FormOfOption returns the form that an option names; "" if none does.
func FormOfOption(option string) Form {
	for _, row := range forms {
		if row.option == option && option != "" {
			return row.form
		}
	}
	return ""
}

// FormOptions lists the options of the forms that can be written.
func FormOptions() []string {
	var options []string
	for _, row := range forms {
		if row.option != "" {
			options = append(options, row.option)
		}
	}
	return options
}

// FormOfName returns the form for the extension of a file name; "" for an unknown extension. For .md and .markdown,
// which several forms share, it is FormNative.
func FormOfName(name string) Form {
	ext := extension(name)
	for _, row := range forms {
		if slices.Contains(row.extensions, ext) {
			return row.form
		}
	}
	if _, ok := LanguageOfScript(name); ok {
		return FormPercent
	}
	return ""
}

// MayHaveName reports whether a file of the form may have a name: one with an extension of the form, or of no form.
func (f Form) MayHaveName(name string) bool {
	named := FormOfName(name)
	return named == f || named == "" || f == FormLight && named == FormPercent ||
		slices.Contains(f.row().extensions, extension(name))
}

// Markdown reports whether the form is a spelling of Markdown.
func (f Form) Markdown() bool { return f != "" && !f.Script() && f != FormJupyter }

// Script reports whether the form is one of scripts with cells.
func (f Form) Script() bool { return f == FormPercent || f == FormLight }

// IsMarkdownName reports whether a file name has the extension of a Markdown notebook.
func IsMarkdownName(name string) bool { return FormOfName(name).Markdown() }

// IsJupyterName reports whether a file name has the extension of a Jupyter notebook.
func IsJupyterName(name string) bool { return FormOfName(name) == FormJupyter }

// extension returns the extension of a path, in lower case. Paths may have the separators of either system.
func extension(name string) string {
	return strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/")))
}

// IsPointer reports whether a text is a pointer of Git LFS, which stands for a file that was not fetched.
func IsPointer(src []byte) bool {
	return len(src) < 1024 && bytes.HasPrefix(src, []byte("version https://git-lfs.github.com/spec/"))
}

// What is wrong with a notebook that is a pointer of Git LFS, and what mends it.
const (
	PointerWords = "a pointer of Git LFS, and the notebook itself is not here"
	PointerHint  = "git lfs pull"
)
