package index

import (
	"zombiezen.com/go/sqlite"

	"markmill/runs"
)

// Recent are the newest runs of one notebook.
type Recent struct {
	Notebook string // its path in the repository; of a notebook elsewhere, as it was given
	Runs     []runs.Entry
}

// named is where a run is looked up by its notebook.
const named = "coalesce(source_path, notebook)"

// names selects the values of an indexed column of the runs, each once, and reads no more of the index than that.
func names(column string) string {
	return "WITH RECURSIVE names(name) AS (SELECT min(" + column + ") FROM run UNION ALL SELECT (SELECT min(" + column +
		") FROM run WHERE " + column + " > name) FROM names WHERE name IS NOT NULL) " +
		"SELECT name FROM names WHERE name IS NOT NULL"
}

// Recent returns the newest runs of every notebook, at most so many of each, the newest first: their id, status and
// time, and of the newest what says how it went. It reads the index of notebooks, and one run of each.
func (x *Index) Recent(most int) (list []Recent, err error) {
	err = exec(x.conn, names(named), nil,
		func(s *sqlite.Stmt) error { list = append(list, Recent{Notebook: s.ColumnText(0)}); return nil })
	for i := range list {
		if err != nil {
			break
		}
		of := &list[i]
		err = exec(x.conn, "SELECT run_id, status, started_ns FROM run WHERE "+named+"=? ORDER BY started_ns DESC, "+
			"run_id DESC LIMIT ?", []any{of.Notebook, most},
			func(s *sqlite.Stmt) error {
				id := runs.RunID(s.ColumnText(0))
				of.Runs = append(of.Runs, runs.Entry{ID: id, Dir: x.store.Path(id),
					Status: runs.Status(s.ColumnText(1)), StartedAt: timeOf(s, 2)})
				return nil
			})
		if err == nil && len(of.Runs) > 0 {
			err = exec(x.conn, "SELECT notebook, reason, finished_ns, decision, decided_by FROM run WHERE run_id=?",
				[]any{string(of.Runs[0].ID)},
				func(s *sqlite.Stmt) error {
					e := &of.Runs[0]
					e.Notebook, e.Reason, e.FinishedAt = s.ColumnText(0), s.ColumnText(1), timeOf(s, 2)
					e.Decision, e.DecidedBy = s.ColumnText(3), s.ColumnText(4)
					return nil
				})
		}
	}
	return list, err
}
