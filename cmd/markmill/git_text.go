package main

import (
	"github.com/spf13/cobra"

	"markmill/cmd/api/files"
	"markmill/notebooks/ipynb"
	"markmill/render/jupyter"
)

func (a *app) gitTextCommand() *cobra.Command {
	var strip bool
	c := &cobra.Command{
		Use: "textconv FILE", Short: "Print a Jupyter notebook as a text, for Git to compare",
		Long: `Prints a Jupyter notebook as text that can be compared by lines: the cells and the text of their outputs,
without counts, ids and the metadata of a session. With --strip it leaves out what markmill strip removes
with the same options. Git starts it by diff.markmill.textconv and diff.markmill-source.textconv of its
configuration.

A file that cannot be read as a notebook is printed as it is.`,
		Example: "  markmill git textconv analysis.ipynb",
		Args:    args(1, 1),
	}
	options := stripFlags(c.Flags())
	c.Flags().BoolVar(&strip, "strip", false, "print what markmill strip would leave")
	c.RunE = func(_ *cobra.Command, files []string) error {
		if err := options.settle(); err != nil {
			return err
		}
		if !strip {
			options = nil
		}
		return a.gitText(files[0], options)
	}
	return c
}

// gitText prints a notebook, stripped where there are options.
func (a *app) gitText(file string, options *stripOptions) error {
	src, err := a.readInput(file, "a notebook", files.MaxJupyter)
	if err != nil {
		return files.ReadError(file, err)
	}
	text := src
	if len(src) > 0 {
		if text, err = jupyterText(file, src, options); err != nil {
			a.tell("markmill: %v\n", err)
			text = src
		}
	}
	_, err = a.stdout.Write(text)
	return err
}

func jupyterText(file string, src []byte, options *stripOptions) ([]byte, error) {
	nb, err := ipynb.Parse(name(file), src)
	if err == nil && options != nil {
		var left []byte
		if left, err = options.jupyter.Bytes(nb); err == nil {
			nb, err = ipynb.Parse(name(file), left)
		}
	}
	if err != nil {
		return nil, err
	}
	return jupyter.Text(nb), nil
}
