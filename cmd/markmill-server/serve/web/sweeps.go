package web

import (
	"encoding/base64"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"markmill/cmd/internal/sweep"
	"markmill/cmd/markmill/diff"
	"markmill/render/html"
	"markmill/render/result"
	"markmill/render/sheet"
	"markmill/runs"
)

// maxSweeps is how many sweeps the list has: the newest.
const maxSweeps = 100

// sweepLine is a sweep in the list.
type sweepLine struct {
	ID      runs.SweepID
	Trouble string // why its record cannot be read
	sweepHead
}

// sweepHead is how a sweep stands.
type sweepHead struct {
	Notebook   string
	StartedAt  time.Time
	Status     runs.Status
	Alive      bool
	Lanes      bool // it compares attempts
	All, Ended int  // rows
	Passed     int
	Names      []string // of the parameters that differ, or the backends
}

func headOf(s *runs.Sweep) sweepHead {
	h := sweepHead{Notebook: s.Started.Notebook, StartedAt: s.StartedAt, All: len(s.Rows), Names: s.Started.Names,
		Alive: s.Completed == nil && runs.Alive(s.Dir), Status: runs.Interrupted}
	if s.Started.Lanes != nil {
		h.Lanes, h.Names = true, s.Started.Lanes.Backends
	}
	for i := range s.Rows {
		if end := s.Rows[i].Ended; end != nil {
			h.Ended++
			if end.Status.Passed() {
				h.Passed++
			}
		}
	}
	switch {
	case s.Completed != nil:
		h.Status = s.Completed.Status
	case h.Alive:
		h.Status = runs.Running
	}
	return h
}

func (s *server) sweeps(w http.ResponseWriter, r *http.Request) error {
	ids, err := s.store.Sweeps()
	if err != nil {
		return err
	}
	body := struct {
		Sweeps []sweepLine
		All    int
	}{All: len(ids)}
	for _, id := range ids[:min(len(ids), maxSweeps)] {
		line := sweepLine{ID: id}
		if found, err := runs.LoadSweep(s.store.SweepDir(id)); err != nil {
			line.Trouble = err.Error()
		} else {
			line.sweepHead = headOf(found)
		}
		body.Sweeps = append(body.Sweeps, line)
	}
	return s.page(w, r, "sweeps", "Sweeps", body)
}

// sweepBody is the data of the page of a sweep.
type sweepBody struct {
	sweepHead
	ID      runs.SweepID
	Note    string // what a comparison of attempts came to
	Pick    string // the rule by which an attempt is picked
	Plots   []sweepPlot
	Left    int // plots that are left out
	Columns []sweepColumn
	Rows    []sweepRow
	Legend  string // of the marks
}

// sweepPlot is a plot of a scrap.
type sweepPlot struct {
	Alt string
	SVG template.URL
}

// sweepColumn is a column of the table.
type sweepColumn struct {
	Name   string
	Number bool
	at     int // column of the sheet
}

// sweepRow is a run of a sweep.
type sweepRow struct {
	Number     int
	Name       string // of an attempt
	Run        runs.RunID
	Class      string
	Mark       string
	Words      string
	Reason     string
	Picked     bool
	Cells      []sweepCell
	Applicable bool // its change can be put onto the checkout
}

type sweepCell struct {
	Text, Sign string
	Mark       sheet.Mark
	Number     bool
}

// findSweep finds the sweep that an address names by its whole id: a part of one, or a path, is none.
func (s *server) findSweep(r *http.Request) (dir string, err error) {
	id := runs.SweepID(r.PathValue("id"))
	ids, err := s.store.Sweeps()
	if err == nil && !slices.Contains(ids, id) {
		err = problem("there is no sweep %s", id)
	}
	return s.store.SweepDir(id), refused(http.StatusNotFound, err)
}

func (s *server) sweep(w http.ResponseWriter, r *http.Request) error {
	dir, err := s.findSweep(r)
	if err != nil {
		return err
	}
	body, err := s.kept.of(dir, s.sweepBody)
	if err != nil {
		return err
	}
	return s.page(w, r, "sweep", body.Notebook+": sweep", body)
}

// sweepPages keeps the pages of the sweeps that were looked at last: a page of a thousand runs reads all their
// journals, and each of those who follow it asks again when a run has ended.
type sweepPages struct {
	mutex sync.Mutex
	known []keptSweep // the last is the one that was asked for last
}

type keptSweep struct {
	dir   string
	size  int64 // of its journal
	alive bool
	body  *sweepBody
}

const maxKept = 8

// of is the page of a sweep, made again if the sweep has changed. Those who ask at the same time wait for one.
func (k *sweepPages) of(dir string, do func(*runs.Sweep) *sweepBody) (*sweepBody, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	now := keptSweep{dir: dir, alive: runs.Alive(dir), size: runs.SweepSize(dir)}
	at := slices.IndexFunc(k.known, func(s keptSweep) bool { return s.dir == dir })
	if at >= 0 {
		was := k.known[at]
		k.known = slices.Delete(k.known, at, at+1)
		if was.size == now.size && was.alive == now.alive {
			k.known = append(k.known, was)
			return was.body, nil
		}
	}
	found, err := runs.LoadSweep(dir)
	if err != nil {
		return nil, err
	}
	now.body = do(found)
	k.known = append(k.known, now)
	k.known = k.known[max(0, len(k.known)-maxKept):]
	return now.body, nil
}

func (s *server) sweepBody(found *runs.Sweep) *sweepBody {
	b := &sweepBody{ID: found.Started.SweepID, sweepHead: headOf(found)}
	if !b.Lanes {
		t := sweep.Table(found, s.store)
		var plots []html.Plot
		plots, b.Left = html.Plots(t)
		for _, p := range plots {
			// A plot is ours; as a picture no script in it would run.
			b.Plots = append(b.Plots, sweepPlot{p.Alt,
				template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(p.SVG))})
		}
		b.fill(found, &t.Sheet, nil)
		s.applicable(b)
		return b
	}
	t := sheet.Compare(sweep.Compared(found, s.store), nil)
	b.Legend, b.Pick = t.Legend(), found.Started.Lanes.Pick
	if b.Ended > 0 {
		b.Note = result.LanesWords(sweep.Comparison(found, s.store))
	}
	b.fill(found, &t.Sheet, t.Marks)
	for i := range b.Rows {
		b.Rows[i].Name, b.Rows[i].Picked = t.Runs[i].Attempt, i+1 == found.Picked()
	}
	s.applicable(b)
	return b
}

// applicable leaves out what changed nothing.
func (s *server) applicable(b *sweepBody) {
	for i := range b.Rows {
		if row := &b.Rows[i]; row.Applicable {
			row.Applicable = changed(s.store.Record(row.Run))
		}
	}
}

// changed reports whether a run changed something.
func changed(record *runs.Record) bool {
	file, err := record.Open(runs.PatchFile)
	if err != nil {
		return false
	}
	defer file.Close()
	info, err := file.Stat()
	return err == nil && info.Size() > 0
}

// ownColumns are shown in another way.
var ownColumns = []string{"row", "attempt", "status", "run", "reason"}

// fill makes the rows. marks are those of the sheet's cells; nil is none.
func (b *sweepBody) fill(found *runs.Sweep, t *sheet.Sheet, marks [][]sheet.Mark) {
	for i, name := range t.Columns {
		if !slices.Contains(ownColumns, name) {
			b.Columns = append(b.Columns, sweepColumn{name, t.IsNumber(i), i})
		}
	}
	for i := range found.Rows {
		state := &found.Rows[i]
		row := sweepRow{Number: i + 1, Run: state.Run, Class: "skip", Mark: "·", Words: "not run"}
		switch end := state.Ended; {
		case end != nil:
			row.Class, row.Mark, row.Words = classOf(string(end.Status)), result.RunMark(end.Status),
				result.StatusWords(string(end.Status))
			row.Reason, row.Applicable = end.Reason, end.Status == runs.Pass
		case state.Run != "" && b.Alive:
			row.Class, row.Mark, row.Words = "edit", "▸", string(runs.Running)
		case state.Run != "":
			row.Class, row.Words = "timeout", "not ended"
		}
		for _, column := range b.Columns {
			cell := sweepCell{Text: value(t.Rows[i][column.at]), Number: column.Number}
			if marks != nil {
				cell.Mark = marks[i][column.at]
				cell.Sign = sheet.Signs[cell.Mark]
			}
			row.Cells = append(row.Cells, cell)
		}
		b.Rows = append(b.Rows, row)
	}
}

// sweepPage answers with the page that markmill convert SWEEP writes.
func (s *server) sweepPage(w http.ResponseWriter, r *http.Request) error {
	dir, err := s.findSweep(r)
	if err != nil {
		return err
	}
	found, err := runs.LoadSweep(dir)
	var page []byte
	if err == nil {
		page, err = sweep.Page(found, s.store)
	}
	if err != nil {
		return err
	}
	return static(w, page)
}

// sweepLive tells a page of a sweep that there is something new, until the sweep has ended.
func (s *server) sweepLive(w http.ResponseWriter, r *http.Request) error {
	dir, err := s.findSweep(r)
	if err != nil {
		return err
	}
	var known bool
	// What a browser that comes back has seen is the number of the last event.
	seen, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
	known = err == nil
	return s.follow(w, r, time.Second, func(to *stream) (ended bool, err error) {
		ended = !runs.Alive(dir) // looked at first: what it wrote last is seen
		size, kind := runs.SweepSize(dir), "change"
		if ended {
			kind = "end"
		}
		if ended || known && size != seen {
			err = to.event(strconv.FormatInt(size, 10), kind, struct{}{})
		}
		seen, known = size, true
		return ended, err
	})
}

// apiSweeps lists the newest sweeps.
func (s *server) apiSweeps(w http.ResponseWriter, _ *http.Request) error {
	ids, err := s.store.Sweeps()
	if err != nil {
		return err
	}
	type one struct {
		ID      runs.SweepID `json:"id"`
		Kind    string       `json:"kind"` // sweep, lanes
		Started time.Time    `json:"started_at"`
		Status  runs.Status  `json:"status"`
		Rows    int          `json:"rows"`
		Ended   int          `json:"ended"`
		Passed  int          `json:"passed"`
	}
	doc := struct {
		Count  int   `json:"count"`
		Sweeps []one `json:"sweeps"`
	}{len(ids), []one{}}
	for _, id := range ids[:min(len(ids), maxSweeps)] {
		found, err := runs.LoadSweep(s.store.SweepDir(id))
		if err != nil {
			continue // the page says why
		}
		h, kind := headOf(found), "sweep"
		if h.Lanes {
			kind = "lanes"
		}
		doc.Sweeps = append(doc.Sweeps, one{id, kind, h.StartedAt, h.Status, h.All, h.Ended, h.Passed})
	}
	return answer(w, http.StatusOK, doc)
}

// apiSweep answers with what markmill diff --values --json prints of a sweep.
func (s *server) apiSweep(w http.ResponseWriter, r *http.Request) error {
	if _, err := s.findSweep(r); err != nil {
		return err
	}
	doc, err := diff.Values(s.app, []string{r.PathValue("id")})
	if err != nil {
		return err
	}
	return document(w, "runs-compare", doc)
}
