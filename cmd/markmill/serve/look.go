package serve

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

// approvals lists the runs that wait for an approval: of a notebook with the same inputs, the newest.
func (s *server) approvals(w http.ResponseWriter, r *http.Request) {
	rows, err := s.query(r, `SELECT run_id, coalesce(source_path, notebook), max(started_at), risk, reason FROM runs
		WHERE approval='requested' AND status='blocked' GROUP BY inputs ORDER BY started_at DESC LIMIT 100`)
	if err != nil {
		s.failed(w, r, http.StatusInternalServerError, err)
		return
	}
	var list []asked
	for _, row := range rows {
		list = append(list, asked{runs.RunID(text(row[0])), text(row[1]), text(row[2]), text(row[3]), text(row[4])})
	}
	s.page(w, r, "approvals", "Approvals", list)
}

// checked is the latest state of a check.
type checked struct {
	ID       runs.RunID
	Notebook string
	Name     string
	State    string
	Value    string
	Unit     string
	Message  string
	Since    string
	Seen     string
}

// Class is the class of the state.
func (c checked) Class() string {
	if c.State == "ok" {
		return "pass"
	}
	return classOf(c.State)
}

// checks lists the checks of all notebooks, the worst first, with the changes of the last 30 days.
func (s *server) checks(w http.ResponseWriter, r *http.Request) {
	rows, err := s.query(r, `SELECT run_id, notebook, name, state, value, unit, message, since, max(started_at)
		FROM checks GROUP BY notebook, name
		ORDER BY CASE state WHEN 'critical' THEN 0 WHEN 'error' THEN 1 WHEN 'warn' THEN 2 ELSE 3 END, notebook, name
		LIMIT 1000`)
	if err != nil {
		s.failed(w, r, http.StatusInternalServerError, err)
		return
	}
	var body struct {
		Checks  []checked
		Changes []change
	}
	for _, row := range rows {
		body.Checks = append(body.Checks, checked{runs.RunID(text(row[0])), text(row[1]), text(row[2]), text(row[3]),
			text(row[4]), text(row[5]), text(row[6]), text(row[7]), text(row[8])})
	}
	rows, err = s.query(r, `SELECT run_id, notebook, name, before, state, started_at, message FROM checks
		WHERE before<>state AND started_at > strftime('%Y-%m-%dT%H:%M:%fZ','now','-30 days')
		ORDER BY started_at DESC LIMIT 200`)
	if err != nil {
		s.failed(w, r, http.StatusInternalServerError, err)
		return
	}
	for _, row := range rows {
		body.Changes = append(body.Changes, change{runs.RunID(text(row[0])), text(row[1]), text(row[2]), text(row[3]),
			text(row[4]), text(row[5]), text(row[6])})
	}
	s.page(w, r, "checks", "Checks", body)
}

// change is a transition of a check.
type change struct {
	ID                                       runs.RunID
	Notebook, Name, Before, State, When, Why string
}

// Class is the class of the new state.
func (c change) Class() string { return checked{State: c.State}.Class() }
