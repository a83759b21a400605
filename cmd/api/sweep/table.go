package sweep

import (
	"markmill/render/documents"
	"markmill/render/html"
	"markmill/render/sheet"
	"markmill/runs"
)

// Table is the table of a sweep, with the scraps of its runs. A run whose record is not kept has none.
func Table(s *runs.Sweep, store runs.Store) *sheet.SweepTable {
	return sheet.Sweep(s, func(id runs.RunID) *documents.Recorded {
		run, _, err := store.Record(id).Load()
		if err != nil {
			return nil
		}
		return documents.RunScraps(run.Started.Notebook, run)
	})
}

// Page is the page of a sweep: its table, and plots of its numeric scraps over the parameters that differ. It is one
// file that loads nothing.
func Page(s *runs.Sweep, store runs.Store) ([]byte, error) {
	return html.Sweep(s, Table(s, store))
}
