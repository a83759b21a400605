package serve

import (
	"net/http"

	"markmill/cmd/api/lookup"
	"markmill/notebooks/diff"
	"markmill/render/html"
	"markmill/render/sheet"
	"markmill/runs"
)

// maxCompared bounds the runs of one comparison.
const maxCompared = 100

// compare answers with the page of a comparison: of two runs as markmill diff shows them, and with how=table, or of
// more runs, as markmill diff --values does.
func (s *server) compare(w http.ResponseWriter, r *http.Request) {
	ids := r.URL.Query()["run"]
	if len(ids) < 2 || len(ids) > maxCompared {
		s.failed(w, r, http.StatusBadRequest, problem("choose between 2 and %d runs in the list", maxCompared))
		return
	}
	for _, id := range ids {
		if found, _, err := s.store.Find(id); err != nil || string(found) != id {
			s.failed(w, r, http.StatusNotFound, problem("there is no run %s", id))
			return
		}
	}
	look := lookup.Reader{Store: func() (runs.Store, error) { return s.store, nil }}
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
		s.failed(w, r, http.StatusInternalServerError, err)
		return
	}
	static(w, page)
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

// static answers with a page that has its style and script within, and a policy with their digests. It is put into an
// origin of its own, so that nothing in it reaches the workbench.
func static(w http.ResponseWriter, page []byte) {
	w.Header().Set("Content-Security-Policy", "frame-ancestors 'none'; sandbox allow-scripts allow-popups")
	give(w, "text/html; charset=utf-8", page)
}
