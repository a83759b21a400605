package main

import (
	"context"
	"fmt"

	"markmill/cmd/markmill/remote"
	"markmill/engine"
	"markmill/render"
	"markmill/runs"
)

// deliver writes the output notebook of a run whose record is complete to its address, and before it the pictures that
// it shows beside it. Also one that was interrupted; the second signal ends that, too.
func (a *app) deliver(result *engine.Result, to string) error {
	client, file := a.remote(), askedFile(result.Run)
	put := func(from, to string) error {
		data, err := runs.At(result.Dir).ReadFile(from)
		if err != nil {
			return err
		}
		return client.Write(context.Background(), to, data)
	}
	if file == runs.OutputFile { // in Jupyter's notebooks the pictures stand in the file itself
		for _, asset := range render.Assets(result.Run) {
			if err := put(asset.From, remote.Beside(to, asset.To)); err != nil {
				return fmt.Errorf("%w; an OUTPUT that ends in .ipynb holds its pictures", err)
			}
		}
	}
	return put(file, to)
}
