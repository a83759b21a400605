package web

import (
	"net/http"

	"markmill/notebooks/codec"
	"markmill/runs"
	"markmill/runs/index"
)

// asked is a request for an approval.
type asked struct {
	ID       runs.RunID
	Notebook string
	Started  string
	Risk     string
	Reason   string
}

// text is a cell of a query's answer as text.
func text(v codec.Raw) string {
	if string(v) == "null" {
		return ""
	}
	return index.Text(v)
}

// query asks the views of the index.
func (s *server) query(r *http.Request, sql string) (rows [][]codec.Raw, err error) {
	err = s.ask(r.Context(), func(x *index.Index) error {
		table, err := x.Query(r.Context(), sql)
		if err == nil {
			rows = table.Rows
		}
		return err
	})
	return rows, err
}

// approvals lists the runs that wait for an approval and have no answer yet: of a notebook with the same inputs, the
// newest.
func (s *server) approvals(w http.ResponseWriter, r *http.Request) error {
	rows, err := s.query(r, `SELECT run_id, notebook, max(started_at), risk, reason FROM runs
		WHERE approval='requested' AND status='blocked' GROUP BY inputs ORDER BY started_at DESC LIMIT 100`)
	if err != nil {
		return err
	}
	var list []asked
	for _, row := range rows {
		id := runs.RunID(text(row[0]))
		if run, _, err := s.store.Record(id).Load(); err == nil {
			if answer, err := s.answerTo(run); err == nil && answer != nil {
				continue
			}
		}
		list = append(list, asked{id, text(row[1]), text(row[2]), text(row[3]), text(row[4])})
	}
	return s.page(w, r, "approvals", "Approvals", list)
}
