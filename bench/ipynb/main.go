// Ipynb reads a Jupyter notebook, with all its outputs, and writes it again: what a program pays for Markmill's reader
// and writer alone.
package main

import (
	"fmt"
	"os"

	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: ipynb FILE OUTPUT")
		os.Exit(2)
	}
	if err := copyNotebook(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func copyNotebook(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	nb, err := ipynb.Parse(from, text)
	if err != nil {
		return err
	}
	// Every cell is written as if it had just run, with the outputs that it has.
	cells := map[int]ipynb.CellResult{}
	for i, c := range nb.Cells {
		if c.Type == "code" {
			cells[i] = ipynb.CellResult{Outputs: codec.Raw(text[c.OutputsAt.Span.Start:c.OutputsAt.Span.End]),
				Count: i + 1}
		}
	}
	if text, err = nb.With(ipynb.Result{Cells: cells}); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o666)
}
