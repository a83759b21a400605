package convert

import (
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/runview"
	"markmill/cmd/internal/sweep"
	"markmill/notebooks"
	"markmill/runs"
)

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
