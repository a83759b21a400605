package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"markmill/notebooks"
	"markmill/runs"
)

func (a *app) stripCommand() *cobra.Command {
	var check, drop bool
	c := &cobra.Command{
		Use: "strip [FILE…]", Short: "Take the outputs out of notebooks, byte for byte",
		Long: `Takes the regions that Markmill inserted out again. What is left is the author's source, byte
for byte. Files are rewritten in place; - or no file reads standard input and writes standard output.

Exit codes: 0 done (with --check: nothing to take out), 1 with --check: there are outputs,
2 a file cannot be read or has regions that were edited.`,
		Example: "  markmill strip report.md\n  markmill strip < out.md > source.md\n  markmill strip --check notebooks/*.md",
		Args:    args(0, -1),
		RunE: func(_ *cobra.Command, files []string) error {
			if len(files) == 0 {
				files = []string{"-"}
			}
			found := false
			for _, file := range files {
				had, err := a.strip(file, check, drop)
				if err != nil {
					return err
				}
				found = found || had
			}
			if check && found {
				return exit(exitFail)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&check, "check", false, "change nothing; exit with 1 when there is something to take out")
	c.Flags().BoolVar(&drop, "drop-damaged", false, "take out regions that were edited, too")
	return c
}

// strip takes the regions out of one file; had says whether there were any.
func (a *app) strip(file string, check, drop bool) (had bool, err error) {
	src, err := a.readNotebook(file)
	if err != nil {
		return false, err
	}
	got := notebooks.Strip(name(file), src)
	if len(got.Problems) > 0 && !drop {
		return false, got.Problems
	}
	had = !bytes.Equal(got.Source, src)
	switch {
	case check:
		if had {
			fmt.Fprintf(a.stderr, "%s has outputs\n", name(file))
		}
	case file == "-":
		_, err = a.stdout.Write(got.Source)
	case had:
		var info os.FileInfo
		if info, err = os.Stat(file); err == nil {
			err = runs.WriteFile(file, got.Source)
		}
		if err == nil {
			err = os.Chmod(file, info.Mode().Perm())
		}
	}
	return had, err
}
