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

// Recent returns the newest runs of every notebook, at most so many of each, the newest first. Of an entry it fills in
// what says how the run went. It reads the index of notebooks and no more of the runs than it returns.
func (x *Index) Recent(most int) (list []Recent, err error) {
	const of = "coalesce(source_path, notebook)"
	err = exec(x.conn, "WITH RECURSIVE names(name) AS (SELECT min("+of+") FROM run UNION ALL "+
		"SELECT (SELECT min("+of+") FROM run WHERE "+of+" > name) FROM names WHERE name IS NOT NULL) "+
		"SELECT name FROM names WHERE name IS NOT NULL", nil,
		func(s *sqlite.Stmt) error { list = append(list, Recent{Notebook: s.ColumnText(0)}); return nil })
	for i := range list {
		if err != nil {
			break
		}
		err = exec(x.conn, "SELECT run_id, status, notebook, reason, started_ns, finished_ns, decision, decided_by "+
			"FROM run WHERE "+of+"=? ORDER BY started_ns DESC, run_id DESC LIMIT ?", []any{list[i].Notebook, most},
			func(s *sqlite.Stmt) error {
				id := runs.RunID(s.ColumnText(0))
				list[i].Runs = append(list[i].Runs, runs.Entry{ID: id, Dir: x.store.Path(id),
					Status: runs.Status(s.ColumnText(1)), Notebook: s.ColumnText(2), Reason: s.ColumnText(3),
					StartedAt: timeOf(s, 4), FinishedAt: timeOf(s, 5), Decision: s.ColumnText(6),
					DecidedBy: s.ColumnText(7)})
				return nil
			})
	}
	return list, err
}
