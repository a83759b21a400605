package strip

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"markmill/cmd/internal/program"
	"markmill/cmd/internal/remote"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/region"
)

func Command(a *program.App) *cobra.Command {
	var check, stdout, asJSON bool
	c := &cobra.Command{
		Use: "strip [FILE…]", Short: "Remove the outputs of notebooks; every other byte stays",
		Long: `Removes the outputs of notebooks.

Markdown: the regions that Markmill inserted. The author's source remains, byte for byte.

Scripts with cells (# %%) contain no outputs, and stay as they are.

Jupyter (.ipynb): outputs, execution counts, and the metadata of a session, as nbstripout does; the ids of
cells stay, and so does the formatting of everything else. Cells with the tag keep_output, or with
keep_output or init_cell in their metadata, keep their outputs. docs/review.md compares the options with
nbstripout's.

Zeppelin (.zpln, and whatever --mode zeppelin is given): the results of paragraphs.

Files are rewritten in place; - or no file reads standard input and writes standard output.

Exit codes: 0 done (with --check: nothing to remove), 1 with --check: there is something to remove, 2 a file
cannot be read or has regions that were edited.`,
		Example: "  markmill notebook strip report.md analysis.ipynb\n" +
			"  markmill notebook strip < out.md > source.md\n" +
			"  markmill notebook strip --check notebooks/*.md\n" +
			"  markmill notebook strip --keep-count --extra-keys metadata.kernelspec,cell.metadata.editable " +
			"analysis.ipynb",
		Args: program.Args(0, -1),
	}
	options := StripFlags(c.Flags())
	c.Flags().StringVarP(&options.mode, "mode", "m", "", "zeppelin: notes of Zeppelin, whatever their names")
	c.RunE = func(_ *cobra.Command, files []string) error {
		if len(files) == 0 {
			files = []string{"-"}
		}
		if err := options.Settle(); err != nil {
			return err
		}
		if asJSON && !check {
			return program.Usagef("--json prints what --check finds; give --check as well")
		}
		found := Strippable{[]string{}}
		for _, file := range files {
			had, err := strip(a, file, options, check, stdout)
			if err != nil {
				return err
			}
			if had {
				found.Files = append(found.Files, program.Name(file))
			}
		}
		if asJSON {
			if err := a.PrintJSON("strip", found); err != nil {
				return err
			}
		}
		return program.PassIf(!check || len(found.Files) == 0)
	}
	c.Flags().BoolVar(&check, "check", false, "change nothing; exit with 1 when there is something to remove")
	program.JSONFlag(c, &asJSON, "strip")
	c.Flags().BoolVarP(&stdout, "stdout", "t", false, "write to standard output, and do not change the files")
	return c
}

// Strippable is what strip --check --json prints.
type Strippable struct {
	Files []string `json:"files"` // that have outputs
}

// strip removes the outputs of one file; had reports whether it has any.
func strip(a *program.App, file string, options *StripOptions, check, stdout bool) (had bool, err error) {
	if remote.Is(file) && !check && !stdout {
		return false, program.Usagef("%s: strip rewrites local files only; give -t to write to standard output",
			program.Name(file))
	}
	src, err := a.ReadAny(file)
	if err != nil {
		return false, err
	}
	if notebooks.IsPointer(src) && file != "-" {
		a.Tell("%s: left as it is: %s; %s\n", program.Name(file), notebooks.PointerWords, notebooks.PointerHint)
		if stdout {
			err = a.ShownText(src)
		}
		return false, err
	}
	got, err := options.Strip(file, src)
	if err != nil {
		return false, err
	}
	had = !bytes.Equal(got, src)
	switch {
	case check:
		if had {
			a.Tell("%s has outputs\n", program.Name(file))
		}
	case file == "-" || stdout:
		err = a.ShownText(got)
	case had:
		if err = a.WriteResult("FILE", file, got); err == nil {
			a.Tell("%s: outputs removed\n", program.Name(file))
		}
	}
	return had, err
}

// isObject reports whether a text is an object of JSON: what has no name and is one was meant as a Jupyter notebook.
func isObject(src []byte) bool {
	raw := codec.Raw(bytes.TrimSpace(src))
	return raw.Kind() == '{' && raw.IsValid()
}

// Strip removes the outputs of a notebook.
func (o *StripOptions) Strip(file string, src []byte) ([]byte, error) {
	if o.mode == "zeppelin" || path.Ext(program.Name(file)) == ".zpln" {
		return ipynb.StripZeppelin(program.Name(file), src)
	}
	if program.IsJupyter(file, src) || file == "-" && isObject(src) {
		nb, err := ipynb.Parse(program.Name(file), src)
		if err != nil {
			return nil, err
		}
		return o.Jupyter.Bytes(nb)
	}
	if program.IsScript(file, src) {
		return src, nil
	}
	got := region.Strip(program.Name(file), src)
	if len(got.Problems) > 0 && !o.dropDamaged {
		return nil, got.Problems
	}
	return got.Source, nil
}

// StripOptions say what strip and the clean filter remove; both have the same flags.
type StripOptions struct {
	Jupyter     ipynb.Strip
	dropDamaged bool
	maxSize     string
	mode        string
	lists       []*[]string
}

// StripFlags adds the flags. settle must be called after they are parsed.
func StripFlags(f *pflag.FlagSet) *StripOptions {
	o := &StripOptions{}
	list := func(into *[]string, name, usage string) {
		f.StringSliceVar(into, name, nil, usage)
		o.lists = append(o.lists, into)
	}
	f.BoolVar(&o.dropDamaged, "drop-damaged", false, "Markdown: also remove regions that were edited")
	f.BoolVar(&o.Jupyter.KeepOutput, "keep-output", false, "Jupyter: keep the outputs")
	f.BoolVar(&o.Jupyter.KeepCount, "keep-count", false, "Jupyter: keep the execution counts")
	f.BoolVar(&o.Jupyter.NumberIDs, "number-ids", false,
		"Jupyter: number the ids of cells 0, 1, 2 … (nbstripout without --keep-id)")
	f.BoolVar(&o.Jupyter.DropEmptyCells, "drop-empty-cells", false,
		"Jupyter: remove cells with nothing but white space")
	f.BoolVar(&o.Jupyter.StripInitCells, "strip-init-cells", false,
		"Jupyter: also remove the outputs of initialization cells")
	f.StringVar(&o.maxSize, "max-size", "0", "Jupyter: keep outputs of at most so many characters; 10k, 1M")
	list(&o.Jupyter.ExtraKeys, "extra-keys", "Jupyter: also remove these metadata.KEY and cell.metadata.KEY")
	list(&o.Jupyter.KeepMetadataKeys, "keep-metadata-keys", "Jupyter: keep these metadata.KEY and cell.metadata.KEY")
	list(&o.Jupyter.DropTaggedCells, "drop-tagged-cells", "Jupyter: remove cells that have one of these tags")
	list(&o.Jupyter.KeepOutputTypes, "keep-output-type",
		"Jupyter: keep outputs of these types: error, stream, stream:stderr …")
	list(&o.Jupyter.DropOutputTypes, "drop-output-type",
		"Jupyter: remove outputs of these types from those that are kept")
	return o
}

// Settle reads the values: lists have commas or, as with nbstripout, spaces.
func (o *StripOptions) Settle() error {
	for _, list := range o.lists {
		*list = strings.Fields(strings.Join(*list, " "))
	}
	if !slices.Contains([]string{"", "jupyter", "zeppelin"}, o.mode) {
		return program.Usagef("--mode %s: expected jupyter or zeppelin", o.mode)
	}
	size, err := parseSize(o.maxSize)
	if err != nil {
		return err
	}
	o.Jupyter.MaxSize = size
	if err := o.Jupyter.Check(); err != nil {
		return program.AsUsage(err)
	}
	return nil
}

// parseSize reads a number with a letter for thousands, as nbstripout has them: 1k is 1,000.
func parseSize(text string) (int, error) {
	digits, unit := text, 1
	if n := len(text) - 1; n > 0 {
		if power, ok := map[string]int{"K": 1e3, "M": 1e6, "G": 1e9}[strings.ToUpper(text[n:])]; ok {
			digits, unit = text[:n], power
		}
	}
	size, err := strconv.Atoi(digits)
	if err != nil || size < 0 {
		return 0, program.Usagef("--max-size %s: expected a number, or one with k, M or G after it", text)
	}
	return size * unit, nil
}
