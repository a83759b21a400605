package web

import (
	"cmp"
	"errors"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"markmill/cmd/internal/child"
	"markmill/cmd/internal/views"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/render"
	"markmill/render/html"
	"markmill/render/plain"
	"markmill/render/result"
	"markmill/runs"
	"markmill/runs/index"
)

// streamNames are the files of a step's streams in its folder of the record.
var streamNames = [...]string{"stdout", "stderr"}

// maxTail is how many bytes at the end of a stream a page shows, and maxPatch how many of a diff.
const (
	maxTail  = 32 << 10
	maxPatch = 512 << 10
)

// runBody is the data of the page of a run.
type runBody struct {
	Run         *runs.Run
	Status      runs.Status
	Title       string       // of the notebook; its path while the run goes on
	Style       template.CSS // of what the steps show; styleDigest is its hash for the policy of the page
	styleDigest string
	Notebook    string // path in the repository, or as given
	Alive       bool   // its process lives
	At          string // place in the journal and the streams, where the live stream goes on
	Causes      []runs.Cause
	Steps       []stepRow
	Params      []runs.ParamData
	Files       []runs.ChangedFile
	Patch       template.HTML
	Cut         bool // the patch is longer than what is shown
	Data        []result.DataRow
	Scraps      []runs.ScrapData
	Spans       []bar
	Steered     []runs.AgentData // what the agents were told
	Left        time.Duration    // until it ends, by earlier runs; 0 is not known
	Output      bool             // there is an output notebook
	Approval    bool             // it waits for an approval
	Signed      bool             // the policy wants approvals that are signed
	Answer      *runs.Answer     // the last one to its request
	Holds       bool             // it is a denial, or a grant that no run has used
	Given       map[string]string
	Agent       bool     // a step of an agent goes on
	Record      []string // files of the record
	// Processes are those that go on.
	Processes []string
	Proof     *proof // of a run that has ended; nil where its record is too large for this page
}

// stepRow is a step on the page of a run.
type stepRow struct {
	runs.StepRecord
	ID      notebooks.StepID
	Class   string
	Mark    string
	Words   string
	Shown   template.HTML // its code and results, as on the page of the output notebook; "" while the run goes on
	Streams []streamTail
}

// streamTail is the end of what a step printed.
type streamTail struct {
	Name    string
	Text    string
	Skipped int64 // bytes before
	offset  int64 // where the live stream goes on
}

// bar is a span of the trace, in thousandths of the run's time.
type bar struct {
	Name        string
	Depth       int
	From, Width int
	Words       string
	Failed      bool
}

// find finds the run that an address names by its whole id.
func (s *server) find(r *http.Request) (*runs.Record, error) {
	id, dir, err := s.store.Find(r.PathValue("id"))
	if err == nil && string(id) != r.PathValue("id") {
		err = problem("%s is no whole id of a run", r.PathValue("id"))
	}
	return runs.At(dir), refused(http.StatusNotFound, err)
}

func (s *server) run(w http.ResponseWriter, r *http.Request) error {
	record, err := s.find(r)
	if err != nil {
		if id, _, err := s.store.Find(r.PathValue("id")); err == nil { // by a part of it, or as last
			return done(w, r, "/runs/"+string(id), http.StatusSeeOther, nil)
		}
		return err
	}
	body, err := s.runBody(r, record)
	if err != nil {
		return err
	}
	if body.Style != "" {
		h := w.Header()
		h.Set(policyHeader, strings.Replace(h.Get(policyHeader), "style-src 'self'", "style-src 'self' "+
			body.styleDigest, 1))
	}
	return s.page(w, r, "run", body.Notebook, body)
}

func (s *server) runBody(r *http.Request, record *runs.Record) (*runBody, error) {
	alive := record.Alive()
	f := record.Follow(0)
	defer f.Close()
	folded := runs.NewRun()
	if err := addEvents(folded, f); err != nil {
		return nil, err
	}
	b := &runBody{Run: folded, Status: folded.Status(), Alive: alive && folded.Completed == nil,
		Notebook: cmp.Or(folded.Started.SourcePath, folded.Started.Notebook), Causes: folded.Causes(),
		Params: folded.Contract.Parameters,
		Data:   result.RunData(folded, record), Scraps: folded.Scraps(), Output: record.Has(folded.OutputFile())}
	if folded.Completed == nil && !b.Alive {
		b.Status = runs.Interrupted
	}
	var made *html.Made
	if b.Title = b.Notebook; !b.Alive {
		if made, _ = pageOf(record); made != nil { // else the streams are shown
			b.Title, b.Style, b.styleDigest = made.Title, template.CSS(made.Style), made.StyleDigest
		}
	}
	for _, step := range folded.Steps {
		row := newStepRow(record, step, b.Alive)
		if made != nil {
			row.Shown = template.HTML(made.Steps[row.ID])
		}
		b.Steps = append(b.Steps, row)
		if b.Alive && step.Step != nil && step.Finished == nil {
			b.Agent = step.Planned.Lang == "agent"
		}
		for _, e := range step.Turn {
			if e.Kind == runs.AgentSteer {
				b.Steered = append(b.Steered, e)
			}
		}
		if step.Patch != nil {
			b.Files = append(b.Files, step.Patch.Files...)
		}
	}
	if folded.Diff != nil {
		b.Files = folded.Diff.Files
	}
	b.At = position(f.Offset(), b.Steps)
	b.Patch, b.Cut = readPatch(record)
	b.Approval = b.Status == runs.Blocked && folded.Approval == runs.ApprovalIsRequested
	if b.Approval {
		b.Signed = s.signed(folded)
		var err error
		if b.Answer, err = s.answerTo(folded); err != nil {
			return nil, err
		}
		if b.Holds = b.Answer != nil && !b.Answer.Used && (b.Answer.Approval.Answer == runs.AnswerDenied ||
			time.Now().Before(b.Answer.Expires)); b.Holds {
			b.Approval, b.Given = false, givenValues(folded)
			b.Causes = slices.DeleteFunc(b.Causes, func(c runs.Cause) bool {
				return c.Blocker.Code == runs.CodeApprovalRequired
			})
		}
	}
	if b.Alive {
		b.Left, b.Processes = s.left(r, folded), s.running.of(folded.Started.PID)
	} else {
		b.Spans = bars(record)
		b.Record, _ = record.List() // a page without its list is a page
		if small(record.Path()) {
			b.Proof, _ = s.proof(record) // the page of the verification says why
		}
	}
	return b, nil
}

// addEvents adds the events of a journal that are there to what is known of its run.
func addEvents(folded *runs.Run, journal *runs.Follower) error {
	for {
		event, found, err := journal.Ready()
		if err != nil || !found {
			return err
		}
		if err := folded.Add(event); err != nil {
			return err
		}
	}
}

func newStepRow(record *runs.Record, step runs.StepRecord, alive bool) stepRow {
	row := stepRow{StepRecord: step, ID: step.Planned.ID}
	row.Class, row.Mark, row.Words = stepState(step, alive)
	if step.Step == nil {
		return row
	}
	for _, name := range streamNames {
		tail := streamTail{Name: name}
		tail.read(record, path.Join(step.Step.Dir, name))
		row.Streams = append(row.Streams, tail)
	}
	return row
}

// stepState says how a step stands: its class, its sign and words.
func stepState(step runs.StepRecord, alive bool) (class, mark, words string) {
	switch {
	case step.Finished == nil && step.Step != nil && alive:
		return "edit", "▸", "running"
	case step.Finished == nil && step.Step != nil:
		return "timeout", "✗", "was cut"
	case step.Finished == nil && step.Planned.Action != runs.ActionSkip:
		return "skip", "·", "not reached"
	}
	if mark, words = result.StepLine(step); step.Finished != nil && step.Step != nil {
		words += " · " + took(time.Duration(step.Finished.DurationNS))
	}
	if class = string(step.Status()); class == string(runs.StepAllowed) {
		class = "pass"
	}
	return classOf(class), mark, words
}

// read reads the end of a stream; what is not there is empty.
func (t *streamTail) read(record *runs.Record, name string) {
	file, err := record.Open(name)
	if err != nil {
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return
	}
	from := max(0, info.Size()-maxTail)
	at, seeks := file.(io.ReaderAt)
	if !seeks {
		return
	}
	text, _ := io.ReadAll(io.NewSectionReader(at, from, maxTail))
	t.Skipped, t.offset, t.Text = from, from+int64(len(text)), child.Plain(text)
}

// readPatch renders the change of a run; "" where there is none.
func readPatch(record *runs.Record) (shown template.HTML, cut bool) {
	file, err := record.Open(runs.PatchFile)
	if err != nil {
		return "", false
	}
	defer file.Close()
	text, _ := io.ReadAll(io.LimitReader(file, maxPatch+1))
	if cut = len(text) > maxPatch; cut {
		text = text[:maxPatch]
	}
	if len(text) == 0 {
		return "", false
	}
	return template.HTML(html.Patch(runs.PatchFile, string(text))), cut
}

// bars are the spans of a run's trace.
func bars(record *runs.Record) (list []bar) {
	trace, err := record.Trace()
	if err != nil || len(trace.Spans) == 0 {
		return nil
	}
	whole := max(trace.Spans[0].Took(), time.Nanosecond)
	depth := map[int]int{-1: -1}
	const most = 400
	for i, span := range trace.Spans[:min(len(trace.Spans), most)] {
		depth[i] = depth[span.Parent] + 1
		if span.Took() < time.Millisecond && span.Failed == "" {
			continue
		}
		from := int(1000 * span.Begin.Sub(trace.Spans[0].Begin) / whole)
		list = append(list, bar{Name: span.Name, Depth: depth[i], From: min(max(from, 0), 999),
			Width: max(1, min(1000-from, int(1000*span.Took()/whole))), Words: took(span.Took()),
			Failed: span.Failed != ""})
	}
	return list
}

// left estimates how long a run still takes: what its steps took the last times, by the median.
func (s *server) left(r *http.Request, folded *runs.Run) (left time.Duration) {
	name := cmp.Or(folded.Started.SourcePath, folded.Started.Notebook)
	_ = s.ask(r.Context(), func(x *index.Index) error {
		stats, err := x.Stats(index.Filter{Notebook: name, Statuses: []runs.Status{runs.Pass},
			Since: time.Now().AddDate(0, 0, -30)})
		if err != nil || len(stats) == 0 {
			return err
		}
		median := map[string]time.Duration{}
		for _, st := range stats[0].Steps {
			median[st.Step] = time.Duration(st.P50 * float64(time.Second))
		}
		for i := range folded.Steps {
			if step := &folded.Steps[i]; step.Finished == nil {
				left += median[string(step.Planned.ID)]
				if step.Step != nil {
					left -= min(time.Since(step.StartedAt), median[string(step.Planned.ID)])
				}
			}
		}
		return nil
	})
	return left
}

// answerTo returns the last answer to what a run asked; nil if there is none.
func (s *server) answerTo(folded *runs.Run) (last *runs.Answer, err error) {
	list, err := s.store.Approvals().Answers()
	for i := range list {
		a := &list[i]
		if folded.Requested != nil && a.Contract == folded.Requested.Contract && a.Time.After(folded.StartedAt) &&
			(last == nil || a.Time.After(last.Time)) {
			last = a
		}
	}
	return last, err
}

// signed reports whether only a signed approval counts, which nobody gives in a browser. What cannot be found out
// counts as one.
func (s *server) signed(folded *runs.Run) bool {
	if s.repo == nil {
		return false
	}
	conditions, err := s.engine.Conditions(s.repo, worktree.OID(folded.Contract.BaseCommit))
	return err != nil || conditions.Signed()
}

// output answers with the page of the output notebook, which is the static one with the policy of its own.
func (s *server) output(w http.ResponseWriter, r *http.Request) error {
	record, err := s.find(r)
	if err != nil {
		return err
	}
	made, err := pageOf(record)
	if err != nil {
		return refused(http.StatusNotFound, err)
	}
	return static(w, made.Page)
}

// pageOf makes the page of the output notebook of a run.
func pageOf(record *runs.Record) (*html.Made, error) {
	folded, src, err := record.Load()
	if err != nil {
		return nil, err
	}
	name := folded.OutputFile()
	text, err := record.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = render.Again(name, folded, src, record)
	}
	if err != nil {
		return nil, err
	}
	return views.Page(name, text, recordFS{record}, folded)
}

// recordFS is a record as a file system.
type recordFS struct{ *runs.Record }

// file answers with a file of the record, which no browser runs or shows as a page.
func (s *server) file(w http.ResponseWriter, r *http.Request) error {
	record, err := s.find(r)
	if err != nil {
		return err
	}
	name := r.PathValue("path")
	if !fs.ValidPath(name) || !record.Has(name) {
		return refused(http.StatusNotFound, problem("the record has no file %s", plain.Cut(plain.OneLine(name), 200)))
	}
	file, err := record.Open(name)
	if err != nil {
		return refused(http.StatusNotFound, err)
	}
	defer file.Close()
	w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
	kind := "text/plain; charset=utf-8"
	if picture := pictures[strings.ToLower(path.Ext(name))]; picture != "" {
		kind = picture
	}
	w.Header().Set("Content-Type", kind)
	_, _ = io.Copy(w, file) // the reader may have gone
	return nil
}

// pictures are files that a browser shows; an SVG is text, because it can hold scripts.
var pictures = map[string]string{".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
	".webp": "image/webp"}
