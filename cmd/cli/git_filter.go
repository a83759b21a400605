package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/api/files"
	"markmill/engine/gitfilter"
	"markmill/notebooks"
	"markmill/notebooks/ipynb"
	"markmill/render/jupyter"
)

func (a *app) gitFilterCommand() *cobra.Command {
	var markdown bool
	c := &cobra.Command{
		Use: "filter", Short: "Git's clean filter, one process for each Git command",
		Long: `Removes the outputs of notebooks that Git adds, and gives back what Git checks out as it is. Git starts it by
filter.markmill.process of its configuration. It uses version 2 of Git's filter protocol (gitattributes), so
one process serves all files of a command.

A file that cannot be read as a notebook is passed on as it is, with a message on standard error. So is a
file that is no Jupyter notebook, unless --markdown is given: output notebooks in Markdown are made to be
committed.`,
		Args: args(0, 0),
	}
	c.Flags().BoolVar(&markdown, "markdown", false, "also remove the outputs of Markdown")
	options := stripFlags(c.Flags())
	c.RunE = func(*cobra.Command, []string) error {
		if err := options.settle(); err != nil {
			return err
		}
		err := gitfilter.Serve(a.stdin, a.stdout, func(path string, content []byte) []byte {
			if !markdown && !isJupyter(path, content) {
				return content
			}
			return a.clean(path, content, options)
		})
		if errors.Is(err, gitfilter.ErrNoGit) {
			return usagef("git filter is started by Git: %w; markmill git install sets it up", err)
		}
		return err
	}
	return c
}

// clean removes the outputs, and returns what is no notebook as it is.
func (a *app) clean(path string, src []byte, options *stripOptions) []byte {
	if len(src) == 0 {
		return src
	}
	var got []byte
	err := notebooks.CheckText(path, src)
	if err == nil {
		got, err = options.strip(path, src)
	}
	if err == nil {
		return got
	}
	first, _, more := strings.Cut(err.Error(), "\n")
	if more {
		first += "; there is more, see markmill notebook strip"
	}
	a.tell("markmill: %s\nmarkmill: %s goes to Git as it is, with its outputs\n", first, path)
	return src
}

func (a *app) gitTextCommand() *cobra.Command {
	var strip bool
	c := &cobra.Command{
		Use: "textconv FILE", Short: "Print a Jupyter notebook as a text, for Git to compare",
		Long: `Prints a Jupyter notebook as text that can be compared by lines: the cells and the text of their outputs,
without counts, ids and the metadata of a session. With --strip it leaves out what markmill notebook strip removes
with the same options. Git starts it by diff.markmill.textconv and diff.markmill-source.textconv of its
configuration.

A file that cannot be read as a notebook is printed as it is.`,
		Example: "  markmill git textconv analysis.ipynb",
		Args:    args(1, 1),
	}
	options := stripFlags(c.Flags())
	c.Flags().BoolVar(&strip, "strip", false, "print what markmill notebook strip would leave")
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
