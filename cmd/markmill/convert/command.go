package convert

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/api"
	"markmill/cmd/internal/files"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/runview"
	"markmill/cmd/internal/sweep"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/render/html"
	"markmill/runs"
)

func Command(a *program.App) *cobra.Command {
	var to string
	var syncing bool
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
			if syncing {
				return program.Args(1, 2)(c, words)
			}
			return program.Args(2, 2)(c, words)
		},
		RunE: func(_ *cobra.Command, paths []string) error {
			if syncing {
				return sync(a, paths, to)
			}
			return convert(a, paths[0], paths[1], to)
		},
	}
	cmd.Flags().BoolVar(&syncing, "sync", false, "bring the files together that Jupytext has paired with NOTEBOOK")
	a.ForceFlag(cmd.Flags())
	cmd.Flags().StringVar(&to, "to", "", "the `form` of OUTPUT: "+strings.Join(FormNames, ", "))
	return cmd
}

// sync brings the files of a pair together. Of two files the first one has the cells that count.
func sync(a *program.App, paths []string, to string) error {
	if to != "" {
		return program.Usagef("--to %s: with --sync the metadata of the notebook say the forms; leave one of the two "+
			"out", to)
	}
	done, err := api.Sync(paths[0], paths[1:]...)
	if err != nil {
		return program.AsUsage(err)
	}
	for _, path := range done.Wrote {
		a.Tell("%s: the cells of %s\n", path, done.From)
	}
	return nil
}

// FormNames are what --to takes.
var FormNames = append(notebooks.FormOptions(), runview.FormHTML)

// convert writes the notebook from in the form that to and form name.
func convert(a *program.App, from, to, form string) error {
	form, err := convertForm(to, form)
	if err != nil {
		return err
	}
	if to != "-" && files.Same(from, to) {
		return program.Usagef("%s is the notebook itself; give another OUTPUT", to)
	}
	if err := a.CheckTarget("OUTPUT", to); err != nil {
		return err
	}
	if dir, err := a.SweepNamed(from); err != nil {
		return err
	} else if dir != "" {
		return convertSweep(a, dir, to, form)
	}
	left, err := runview.RunOutput(a, from, to, form)
	if err != nil {
		return err
	}
	var src, out []byte
	var pictures []engine.ViewInput
	var run *runs.Run
	if left != nil {
		from, src, run = left.Path, left.Text, left.Run
	} else if src, err = a.ReadAny(from); err != nil {
		return err
	}
	switch {
	case left != nil && left.Asked:
		out, pictures = src, left.Pictures()
	case form == runview.FormHTML:
		out, err = runview.PageOf(from, src, run)
		for _, words := range html.Missing(out) {
			a.Tell("%s: %s\n", program.Name(from), words)
		}
	default:
		out, err = inForm(a, from, to, notebooks.FormOfOption(form), src)
	}
	if err != nil {
		return err
	}
	return a.WriteResult("OUTPUT", to, out, pictures...)
}

// convertForm is the form of OUTPUT; "" is one of the three forms of .md, which the notebook decides.
func convertForm(to, asked string) (string, error) {
	var form string
	switch ext := strings.ToLower(filepath.Ext(program.Name(to))); {
	case to == "-":
		form = asked
		if form == "" {
			form = runview.FormHTML
		}
	case ext == ".html" || ext == ".htm":
		form = runview.FormHTML
	default:
		named := notebooks.FormOfName(program.Name(to))
		if named == notebooks.FormNative || named.Script() { // or another form with that extension
			break
		}
		if form = named.Option(); form == "" && asked == "" {
			return "", program.Usagef("%s: the extension names no form; OUTPUT ends in .md, .ipynb, .qmd, .Rmd, .py, "+
				".html, or is -, or --to names a form: %s", to, strings.Join(FormNames, ", "))
		}
	}
	if asked == "" {
		return form, nil
	}
	if !slices.Contains(FormNames, asked) {
		return "", program.Usagef("--to %s: there is no such form; %s", asked,
			cmp.Or(notebooks.DidYouMean(asked, FormNames), "there are: "+strings.Join(FormNames, ", ")))
	}
	if to != "-" && form != asked && !(form == "" && notebooks.FormOfOption(asked).MayHaveName(program.Name(to))) {
		return "", program.Usagef("--to %s: OUTPUT is %s, which has the extension of another form", asked, to)
	}
	return asked, nil
}

// inForm converts a notebook, and lists on standard error what is lost.
func inForm(a *program.App, from, to string, form notebooks.Form, src []byte) ([]byte, error) {
	out, lost, err := api.Convert(program.Name(from), program.Name(to), src, form, runview.FilesBeside(from))
	subject := to
	if to == "-" {
		subject = from
	}
	for _, words := range lost {
		a.Tell("%s: %s\n", program.Name(subject), words)
	}
	return out, err
}

// convertSweep writes the page of a sweep.
func convertSweep(a *program.App, dir, to, form string) error {
	done, err := runs.LoadSweep(dir)
	if err != nil {
		return err
	}
	if done.Started.Lanes != nil && form == "" && notebooks.FormOfName(to) == notebooks.FormNative {
		page, err := sweep.Output(done, runs.StoreOfSweep(dir))
		if err != nil {
			return err
		}
		return a.WriteResult("OUTPUT", to, page, sweep.Picked(done, runs.StoreOfSweep(dir))...)
	}
	if form != runview.FormHTML {
		return program.Usagef("%s is a sweep, and becomes an HTML page only: name an OUTPUT that ends in .html; "+
			"markmill notebook scraps writes its table", dir)
	}
	page, err := sweep.Page(done, runs.StoreOfSweep(dir))
	if err != nil {
		return err
	}
	return a.WriteResult("OUTPUT", to, page)
}
