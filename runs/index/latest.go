package index

import (
	"zombiezen.com/go/sqlite"

	"markmill/runs"
)

// Latest is the newest run of one notebook.
type Latest struct {
	Notebook string // its path in the repository; of a notebook elsewhere, as it was given
	Run      runs.Entry
}

// named is where a run is looked up by its notebook.
const named = "coalesce(source_path, notebook)"

// names selects the values of an indexed column of the runs, each once, and reads no more of the index than that.
func names(column string) string {
	return "WITH RECURSIVE names(name) AS (SELECT min(" + column + ") FROM run UNION ALL SELECT (SELECT min(" + column +
		") FROM run WHERE " + column + " > name) FROM names WHERE name IS NOT NULL) " +
		"SELECT name FROM names WHERE name IS NOT NULL"
}

// Latest returns the newest run of every notebook, and of it what says how it went. It reads the index of notebooks,
// and one run of each.
func (x *Index) Latest() (list []Latest, err error) {
	err = exec(x.conn, names(named), nil,
		func(s *sqlite.Stmt) error { list = append(list, Latest{Notebook: s.ColumnText(0)}); return nil })
	for i := range list {
		if err != nil {
			break
		}
		e := &list[i].Run
		err = exec(x.conn, "SELECT run_id, status, notebook, reason, started_ns, finished_ns, decision, decided_by "+
			"FROM run WHERE "+named+"=? ORDER BY started_ns DESC, run_id DESC LIMIT 1", []any{list[i].Notebook},
			func(s *sqlite.Stmt) error {
				id := runs.RunID(s.ColumnText(0))
				*e = runs.Entry{ID: id, Dir: x.store.Path(id), Status: runs.Status(s.ColumnText(1)),
					Notebook: s.ColumnText(2), Reason: s.ColumnText(3), StartedAt: timeOf(s, 4),
					FinishedAt: timeOf(s, 5), Decision: s.ColumnText(6), DecidedBy: s.ColumnText(7)}
				return nil
			})
	}
	return list, err
}

// Statuses returns those of the newest runs of a notebook, named as Latest names it, the newest first.
func (x *Index) Statuses(notebook string, most int) (list []runs.Status, err error) {
	err = exec(x.conn, "SELECT status FROM run WHERE "+named+"=? ORDER BY started_ns DESC, run_id DESC LIMIT ?",
		[]any{notebook, most},
		func(s *sqlite.Stmt) error { list = append(list, runs.Status(s.ColumnText(0))); return nil })
	return list, err
}
