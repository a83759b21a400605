package git

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/files"
	"markmill/cmd/internal/program"
	"markmill/cmd/markmill/notebook/strip"
	"markmill/engine/gitfilter"
	"markmill/notebooks"
	"markmill/notebooks/ipynb"
	"markmill/render/jupyter"
)

func gitFilterCommand(a *program.App) *cobra.Command {
	var markdown bool
	c := &cobra.Command{
		Use: "filter", Hidden: true, Short: "Git's clean filter, one process for each Git command",
		Long: `Removes the outputs of notebooks that Git adds, and gives back what Git checks out as it is. Git starts it by
filter.markmill.process of its configuration. It uses version 2 of Git's filter protocol (gitattributes), so
one process serves all files of a command.

A file that cannot be read as a notebook is passed on as it is, with a message on standard error. So is a
file that is no Jupyter notebook, unless --markdown is given: output notebooks in Markdown are made to be
committed.`,
		Args: program.Args(0, 0),
	}
	c.Flags().BoolVar(&markdown, "markdown", false, "also remove the outputs of Markdown")
	options := strip.StripFlags(c.Flags())
	c.RunE = func(*cobra.Command, []string) error {
		if err := options.Settle(); err != nil {
			return err
		}
		err := gitfilter.Serve(a.Stdin, a.Stdout, func(path string, content []byte) []byte {
			if !markdown && !program.IsJupyter(path, content) {
				return content
			}
			return clean(a, path, content, options)
		})
		if errors.Is(err, gitfilter.ErrNoGit) {
			return program.Usagef("git filter is started by Git: %w; markmill git install sets it up", err)
		}
		return err
	}
	return c
}

// clean removes the outputs, and returns what is no notebook as it is.
func clean(a *program.App, path string, src []byte, options *strip.StripOptions) []byte {
	if len(src) == 0 {
		return src
	}
	var got []byte
	err := notebooks.CheckText(path, src)
	if err == nil {
		got, err = options.Strip(path, src)
	}
	if err == nil {
		return got
	}
	first, _, more := strings.Cut(err.Error(), "\n")
	if more {
		first += "; there is more, see markmill notebook strip"
	}
	a.Tell("markmill: %s\nmarkmill: %s goes to Git as it is, with its outputs\n", first, path)
	return src
}

func gitTextCommand(a *program.App) *cobra.Command {
	var stripping bool
	c := &cobra.Command{
		Use: "textconv FILE", Hidden: true, Short: "Print a Jupyter notebook as a text, for Git to compare",
		Long: `Prints a Jupyter notebook as text that can be compared by lines: the cells and the text of their outputs,
without counts, ids and the metadata of a session. With --strip it leaves out what markmill notebook strip removes
with the same options. Git starts it by diff.markmill.textconv and diff.markmill-source.textconv of its
configuration.

A file that cannot be read as a notebook is printed as it is.`,
		Example: "  markmill git textconv analysis.ipynb",
		Args:    program.Args(1, 1),
	}
	options := strip.StripFlags(c.Flags())
	c.Flags().BoolVar(&stripping, "strip", false, "print what markmill notebook strip would leave")
	c.RunE = func(_ *cobra.Command, files []string) error {
		if err := options.Settle(); err != nil {
			return err
		}
		if !stripping {
			options = nil
		}
		return gitText(a, files[0], options)
	}
	return c
}

// gitText prints a notebook, stripped where there are options.
func gitText(a *program.App, file string, options *strip.StripOptions) error {
	src, err := a.ReadInput(file, "a notebook", files.MaxJupyter)
	if err != nil {
		return files.ReadError(file, err)
	}
	text := src
	if len(src) > 0 {
		if text, err = jupyterText(file, src, options); err != nil {
			a.Tell("markmill: %v\n", err)
			text = src
		}
	}
	_, err = a.Stdout.Write(text)
	return err
}

func jupyterText(file string, src []byte, options *strip.StripOptions) ([]byte, error) {
	nb, err := ipynb.Parse(program.Name(file), src)
	if err == nil && options != nil {
		var left []byte
		if left, err = options.Jupyter.Bytes(nb); err == nil {
			nb, err = ipynb.Parse(program.Name(file), left)
		}
	}
	if err != nil {
		return nil, err
	}
	return jupyter.Text(nb), nil
}
