package web

import (
	"net/http"

	"markmill/cmd/internal/lookup"
	"markmill/notebooks/diff"
	"markmill/render/html"
	"markmill/render/sheet"
)

// maxCompared bounds the runs of one comparison.
const maxCompared = 100

// compare answers with the page of a comparison: of two runs as markmill diff shows them, and with how=table, or of
// more runs, as markmill diff --values does.
func (s *server) compare(w http.ResponseWriter, r *http.Request) error {
	ids := r.URL.Query()["run"]
	if len(ids) < 2 || len(ids) > maxCompared {
		return refused(http.StatusBadRequest, problem("choose between 2 and %d runs in the list", maxCompared))
	}
	for _, id := range ids {
		if found, _, err := s.store.Find(id); err != nil || string(found) != id {
			return refused(http.StatusNotFound, problem("there is no run %s", id))
		}
	}
	look := s.app.Lookup()
	var page []byte
	var err error
	if len(ids) == 2 && r.URL.Query().Get("how") != "table" {
		page, err = difference(look, ids[0], ids[1])
	} else {
		var list []*sheet.ComparedRun
		if list, err = look.Compared(ids); err == nil {
			page = html.Compared(sheet.Compare(list, sheet.BetterOf))
		}
	}
	if err != nil {
		return err
	}
	return static(w, page)
}

func difference(look lookup.Reader, before, after string) ([]byte, error) {
	a, err := look.Side(before)
	if err != nil {
		return nil, err
	}
	b, err := look.Side(after)
	if err != nil {
		return nil, err
	}
	return html.Diff(diff.Compare(a.Doc, b.Doc, diff.Options{})), nil
}
