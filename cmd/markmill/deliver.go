package main

import (
	"context"
	"fmt"

	"markmill/cmd/markmill/remote"
	"markmill/engine"
	"markmill/render"
	"markmill/runs"
)

// deliver writes the output notebook of a run with a complete record to its address, after its pictures. It delivers
// the output of an interrupted run as well; a second signal ends it.
func (a *app) deliver(result *engine.Result, to string) error {
	client, file := a.remote(), askedFile(result.Run)
	put := func(from, to string) error {
		data, err := runs.At(result.Dir).ReadFile(from)
		if err != nil {
			return err
		}
		return client.Write(context.Background(), to, data)
	}
	if file == runs.OutputFile { // a Jupyter notebook contains its pictures
		for _, asset := range render.Assets(result.Run) {
			if err := put(asset.From, remote.Beside(to, asset.To)); err != nil {
				return fmt.Errorf("%w; an OUTPUT that ends in .ipynb holds its pictures", err)
			}
		}
	}
	return put(file, to)
}
