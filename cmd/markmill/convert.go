package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/markmill/remote"
	"markmill/notebooks"
	"markmill/notebooks/convert"
	"markmill/notebooks/ipynb"
	"markmill/render/documents"
	"markmill/render/html"
	"markmill/runs"
)

// formHTML is the form that is only written.
const formHTML = "html"

func (a *app) convertCommand() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use: "convert NOTEBOOK|RUN OUTPUT", Short: "Write a notebook in another form, or as an HTML page",
		Long: `Writes a notebook in another form: Markmill's Markdown, Jupytext Markdown, MyST (.md), Quarto (.qmd), R Markdown (.Rmd),
percent scripts (.py and others), Jupyter (.ipynb), or as an HTML page. The ending of OUTPUT says which. An OUTPUT that ends in .md is in the form
that a Jupyter notebook was converted from, or else in Markmill's own; --to names another. - reads standard input, or writes to
standard output: without --to an HTML page.

A text that is converted to .ipynb and back is the same, byte for byte. What OUTPUT has no place for, such as the outputs of a Jupyter notebook in a text, is
listed on standard error. A cell that would be read as something else is an error, and nothing is written.

RUN is a run that was kept (an id, a part of one, last, or a run directory) and stands for its output notebook. An OUTPUT in the form that the run
left is that notebook, byte for byte, also where the run left it at its OUTPUT and kept no copy of it.

An HTML page is one file that holds all that it shows, loads nothing and runs nothing of the notebook. Pictures are taken from the folder
of the notebook, or out of it, and from nowhere else.

Exit codes: 0 written, 2 the notebook has errors, or cannot be written in that form.`,
		Example: `  markmill convert analysis.ipynb analysis.md
  markmill convert --to jupytext analysis.ipynb analysis.md
  markmill convert task.md task.ipynb
  markmill convert health.out.md health.html
  markmill convert last again.ipynb
  markmill convert --to myst - - < analysis.ipynb`,
		Args: args(2, 2),
		RunE: func(_ *cobra.Command, paths []string) error {
			return a.convert(paths[0], paths[1], to)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the `form` of OUTPUT: "+strings.Join(formNames, ", "))
	return cmd
}

// formNames are what --to takes.
var formNames = append(notebooks.FormOptions(), formHTML)

// convert writes the notebook from in the form that to and form name.
func (a *app) convert(from, to, form string) error {
	form, err := convertForm(to, form)
	if err != nil {
		return err
	}
	if to != "-" && sameFile(from, to) {
		return usagef("%s is the notebook itself; give another OUTPUT", to)
	}
	if err := checkTarget("OUTPUT", to); err != nil {
		return err
	}
	left, err := a.runOutput(from, to, form)
	if err != nil {
		return err
	}
	var src, out []byte
	if left != nil {
		from, src = left.path, left.text
	} else if src, err = a.readAny(from); err != nil {
		return err
	}
	switch {
	case left != nil && left.asked:
		out, err = src, left.pictures(to)
	case form == formHTML:
		out, err = pageOf(from, src)
	default:
		out, err = a.inForm(from, to, notebooks.FormOfOption(form), src)
	}
	if err != nil {
		return err
	}
	if to == "-" {
		_, err = a.stdout.Write(out)
		return err
	}
	if remote.Is(to) {
		return a.remote().Write(context.Background(), to, out)
	}
	return runs.WriteFile(to, out)
}

// convertForm is the form of OUTPUT; "" is to be found in the notebook: it is one of the three of .md.
func convertForm(to, asked string) (string, error) {
	var form string
	switch ext := strings.ToLower(filepath.Ext(name(to))); {
	case to == "-":
		form = asked
		if form == "" {
			form = formHTML
		}
	case ext == ".html" || ext == ".htm":
		form = formHTML
	default:
		named := notebooks.FormOfName(name(to))
		if named == notebooks.FormNative { // or another form with that extension
			break
		}
		if form = named.Option(); form == "" && asked == "" {
			return "", usagef("%s: the ending says no form; OUTPUT ends in .md, .ipynb, .qmd, .Rmd, .py, .html, or is -, or --to names a form: %s", to, strings.Join(formNames, ", "))
		}
	}
	if asked == "" {
		return form, nil
	}
	known := false
	for _, name := range formNames {
		known = known || name == asked
	}
	if !known {
		if near := notebooks.Suggest(asked, formNames); near != "" {
			return "", usagef("--to %s: there is no such form; did you mean %s?", asked, near)
		}
		return "", usagef("--to %s: there is no such form; there are: %s", asked, strings.Join(formNames, ", "))
	}
	if to != "-" && form != asked && !(form == "" && notebooks.FormOfOption(asked).MayHaveName(name(to))) {
		return "", usagef("--to %s: OUTPUT is %s, whose ending is that of another form", asked, to)
	}
	return asked, nil
}

// inForm writes a notebook that was read from a path in a form, and tells what is lost.
func (a *app) inForm(from, to string, form notebooks.Form, src []byte) ([]byte, error) {
	path := name(from)
	var lost []convert.Loss
	if isJupyter(from, src) {
		nb, err := ipynb.Parse(path, src)
		if err != nil {
			return nil, err
		}
		if nb.Manifest() != nil && form != notebooks.FormJupyter { // what a run put in is no part of the notebook
			lost = append(lost, convert.Loss{What: "the outputs and what the run noted"})
			src = ipynb.Source(nb, false)
		}
	} else if bytes.Contains(src, []byte("<!-- markmill:")) && !isScript(from, src) {
		got := notebooks.Strip(path, src)
		switch {
		case len(got.Problems) > 0:
			return nil, got.Problems
		case got.Manifest != nil && form == notebooks.FormJupyter:
			out, missing, err := documents.JupyterOf(path, src, filesBeside(from))
			for _, m := range missing {
				a.tell("%s: not in %s, and so not here: %s\n", name(subject(from, to)), path, m)
			}
			return out, err
		case len(got.Regions) > 0:
			lost = append(lost, convert.Loss{What: fmt.Sprintf("the outputs: %d regions", len(got.Regions))})
		}
		src = got.Source
	}
	d, err := convert.Read("", path, src)
	if err != nil {
		return nil, err
	}
	if form == "" {
		form = d.MarkdownForm()
	}
	out, more, err := d.To(form, name(to))
	if err != nil {
		return nil, err
	}
	for _, l := range append(lost, more...) {
		a.tell("%s: not in %s: %s\n", name(subject(from, to)), form.Title(), l)
	}
	return out, nil
}

// subject is what messages about a conversion are about.
func subject(from, to string) string {
	if to == "-" {
		return from
	}
	return to
}

// filesBeside reads the files in the folder of a notebook, or in one below it.
func filesBeside(path string) documents.Files {
	if path == "-" || remote.Is(path) {
		return nil
	}
	return func(file string) ([]byte, error) {
		root, err := os.OpenRoot(filepath.Dir(path))
		if err != nil {
			return nil, err
		}
		defer root.Close()
		return fs.ReadFile(root.FS(), file)
	}
}

// pageOf makes the page of a notebook that was read from a path.
func pageOf(from string, src []byte) ([]byte, error) {
	switch {
	case isJupyter(from, src):
		nb, err := ipynb.Parse(name(from), src)
		if err != nil {
			return nil, err
		}
		return html.Jupyter(nb), nil
	case isScript(from, src):
		d, err := convert.Read(notebooks.FormPercent, name(from), src)
		if err != nil {
			return nil, err
		}
		if src, _, err = d.To(notebooks.FormNative, name(from)+".md"); err != nil {
			return nil, err
		}
	}
	var files fs.FS
	if from != "-" && !remote.Is(from) {
		root, err := os.OpenRoot(filepath.Dir(from))
		if err != nil {
			return nil, err
		}
		defer root.Close()
		files = root.FS()
	}
	return html.Notebook(name(from), src, files)
}

// sameFile says that two paths are one file. One that is not there is none.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
