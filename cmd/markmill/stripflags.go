package main

import (
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"markmill/notebooks/ipynb"
)

// stripOptions say what strip and the clean filter remove; both have the same flags.
type stripOptions struct {
	jupyter     ipynb.Strip
	dropDamaged bool
	maxSize     string
	lists       []*[]string
}

// stripFlags adds the flags. settle must be called after they are parsed.
func stripFlags(f *pflag.FlagSet) *stripOptions {
	o := &stripOptions{}
	list := func(into *[]string, name, usage string) {
		f.StringSliceVar(into, name, nil, usage)
		o.lists = append(o.lists, into)
	}
	f.BoolVar(&o.dropDamaged, "drop-damaged", false, "Markdown: also remove regions that were edited")
	f.BoolVar(&o.jupyter.KeepOutput, "keep-output", false, "Jupyter: keep the outputs")
	f.BoolVar(&o.jupyter.KeepCount, "keep-count", false, "Jupyter: keep the execution counts")
	f.BoolVar(&o.jupyter.NumberIDs, "number-ids", false,
		"Jupyter: number the ids of cells 0, 1, 2 … (nbstripout without --keep-id)")
	f.BoolVar(&o.jupyter.DropEmptyCells, "drop-empty-cells", false, "Jupyter: remove cells with nothing but white space")
	f.BoolVar(&o.jupyter.StripInitCells, "strip-init-cells", false,
		"Jupyter: also remove the outputs of initialization cells")
	f.StringVar(&o.maxSize, "max-size", "0", "Jupyter: keep outputs of at most so many characters; 10k, 1M")
	list(&o.jupyter.ExtraKeys, "extra-keys", "Jupyter: also remove these metadata.KEY and cell.metadata.KEY")
	list(&o.jupyter.KeepMetadataKeys, "keep-metadata-keys", "Jupyter: keep these metadata.KEY and cell.metadata.KEY")
	list(&o.jupyter.DropTaggedCells, "drop-tagged-cells", "Jupyter: remove cells that have one of these tags")
	list(&o.jupyter.KeepOutputTypes, "keep-output-type",
		"Jupyter: keep outputs of these types: error, stream, stream:stderr …")
	list(&o.jupyter.DropOutputTypes, "drop-output-type", "Jupyter: remove outputs of these types from those that are kept")
	return o
}

// settle reads the values: lists have commas or, as with nbstripout, spaces.
func (o *stripOptions) settle() error {
	for _, list := range o.lists {
		*list = strings.Fields(strings.Join(*list, " "))
	}
	size, err := parseSize(o.maxSize)
	if err != nil {
		return err
	}
	o.jupyter.MaxSize = size
	if err := o.jupyter.Check(); err != nil {
		return usage{err}
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
		return 0, usagef("--max-size %s: expected a number, or one with k, M or G after it", text)
	}
	return size * unit, nil
}
