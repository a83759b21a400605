package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/api"
	"markmill/cmd/api/files"
	"markmill/cmd/api/lookup"
	"markmill/cmd/markmill/remote"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/render/documents"
	"markmill/render/html"
)

// formHTML can be written, but not read.
const formHTML = "html"

func (a *app) convertCommand() *cobra.Command {
	var to string
	var sync bool
	cmd := &cobra.Command{
		Use: "convert NOTEBOOK|RUN|SWEEP OUTPUT", Short: "Write a notebook in another form, or as an HTML page",
		Long: `Writes a notebook in another form: Markmill's Markdown, Jupytext Markdown, MyST (.md), Quarto (.qmd), R
Markdown (.Rmd), scripts with cells (.py and others), Jupyter (.ipynb), or as an HTML page. The extension of
OUTPUT chooses the form. An OUTPUT that ends in .md has the form that a Jupyter notebook was converted from,
or else Markmill's own; --to names another. - reads standard input, or writes to standard output: without
--to an HTML page.

A text that is converted to .ipynb and back is the same, byte for byte. What OUTPUT has no place for, such as
the outputs of a Jupyter notebook in a text, is listed on standard error. A cell that would be read as
something else is an error, and nothing is written.

RUN is a run that was kept (an id, a part of one, last, or a run directory) and stands for its output
notebook. An OUTPUT in the form that the run wrote is that notebook, byte for byte, even if the run wrote it
only to its OUTPUT.

SWEEP is a sweep (its id, the beginning of one, or last-sweep), and OUTPUT an HTML page of it: its table, and a plot
of each scrap that is a number over the parameters that differ: lines over one, a map of colors over two.

An HTML page is one file that contains everything it shows, loads nothing and runs nothing of the notebook.
Pictures come from the notebook or its folder, and from nowhere else.

With --sync the files of a notebook that Jupytext has paired (jupytext: formats in the metadata) get the
same cells: those of the side that changed since the last time, or of the newer one where that is not known.
Outputs are those of the Jupyter notebook. If both sides changed, nothing is written, unless two of the
files are given: then the cells of the first one count.

Exit codes: 0 written, 2 the notebook has errors, or cannot be written in that form.`,
		Example: `  markmill convert analysis.ipynb analysis.md
  markmill convert --to jupytext analysis.ipynb analysis.md
  markmill convert task.md task.ipynb
  markmill convert health.out.md health.html
  markmill convert last again.ipynb
  markmill convert --sync analysis.ipynb
  markmill convert last-sweep grid.html
  markmill convert --to myst - - < analysis.ipynb`,
		Args: func(c *cobra.Command, words []string) error {
			if sync {
				return args(1, 2)(c, words)
			}
			return args(2, 2)(c, words)
		},
		RunE: func(_ *cobra.Command, paths []string) error {
			if sync {
				return a.sync(paths, to)
			}
			return a.convert(paths[0], paths[1], to)
		},
	}
	cmd.Flags().BoolVar(&sync, "sync", false, "bring the files together that Jupytext has paired with NOTEBOOK")
	a.forceFlag(cmd.Flags())
	cmd.Flags().StringVar(&to, "to", "", "the `form` of OUTPUT: "+strings.Join(formNames, ", "))
	return cmd
}

// sync brings the files of a pair together. Of two files the first one has the cells that count.
func (a *app) sync(paths []string, to string) error {
	if to != "" {
		return usagef("--to %s: with --sync the metadata of the notebook say the forms; leave one of the two out", to)
	}
	done, err := api.Sync(paths[0], paths[1:]...)
	if err != nil {
		return usage{err}
	}
	for _, path := range done.Wrote {
		a.tell("%s: the cells of %s\n", path, done.From)
	}
	return nil
}

// formNames are what --to takes.
var formNames = append(notebooks.FormOptions(), formHTML)

// convert writes the notebook from in the form that to and form name.
func (a *app) convert(from, to, form string) error {
	form, err := convertForm(to, form)
	if err != nil {
		return err
	}
	if to != "-" && files.Same(from, to) {
		return usagef("%s is the notebook itself; give another OUTPUT", to)
	}
	if err := a.checkTarget("OUTPUT", to); err != nil {
		return err
	}
	if dir, err := a.sweepNamed(from); err != nil {
		return err
	} else if dir != "" {
		return a.convertSweep(dir, to, form)
	}
	left, err := a.runOutput(from, to, form)
	if err != nil {
		return err
	}
	var src, out []byte
	var pictures []engine.ViewInput
	if left != nil {
		from, src = left.path, left.text
	} else if src, err = a.readAny(from); err != nil {
		return err
	}
	switch {
	case left != nil && left.asked:
		out, pictures = src, left.pictures()
	case form == formHTML:
		out, err = pageOf(from, src)
		for _, words := range html.Missing(out) {
			a.tell("%s: %s\n", name(from), words)
		}
	default:
		out, err = a.inForm(from, to, notebooks.FormOfOption(form), src)
	}
	if err != nil {
		return err
	}
	return a.writeResult("OUTPUT", to, out, pictures...)
}

// convertForm is the form of OUTPUT; "" is one of the three forms of .md, which the notebook decides.
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
		if named == notebooks.FormNative || named.Script() { // or another form with that extension
			break
		}
		if form = named.Option(); form == "" && asked == "" {
			return "", usagef("%s: the extension names no form; OUTPUT ends in .md, .ipynb, .qmd, .Rmd, .py, .html, "+
				"or is -, or --to names a form: %s", to, strings.Join(formNames, ", "))
		}
	}
	if asked == "" {
		return form, nil
	}
	if !slices.Contains(formNames, asked) {
		if near := notebooks.Suggest(asked, formNames); near != "" {
			return "", usagef("--to %s: there is no such form; did you mean %s?", asked, near)
		}
		return "", usagef("--to %s: there is no such form; there are: %s", asked, strings.Join(formNames, ", "))
	}
	if to != "-" && form != asked && !(form == "" && notebooks.FormOfOption(asked).MayHaveName(name(to))) {
		return "", usagef("--to %s: OUTPUT is %s, which has the extension of another form", asked, to)
	}
	return asked, nil
}

// inForm converts a notebook, and lists on standard error what is lost.
func (a *app) inForm(from, to string, form notebooks.Form, src []byte) ([]byte, error) {
	out, lost, err := api.Convert(name(from), name(to), src, form, filesBeside(from))
	subject := to
	if to == "-" {
		subject = from
	}
	for _, words := range lost {
		a.tell("%s: %s\n", name(subject), words)
	}
	return out, err
}

// filesBeside reads the files in the folder of a notebook; nil for a notebook that is in none.
func filesBeside(path string) documents.Files {
	if path == "-" || remote.Is(path) {
		return nil
	}
	return lookup.FilesBeside(path)
}

// pageOf makes the page of a notebook that was read from a path.
func pageOf(from string, src []byte) ([]byte, error) {
	if from == "-" || remote.Is(from) {
		return api.Page(name(from), src, nil)
	}
	root, err := os.OpenRoot(filepath.Dir(from))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return api.Page(name(from), src, root.FS())
}
