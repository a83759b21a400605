package sweep

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"markmill/engine"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render"
	"markmill/render/plain"
	"markmill/render/safe"
	"markmill/render/sheet"
	"markmill/runs"
)

// Attempts say which attempts at a notebook with an agent's step are compared.
type Attempts struct {
	Request  engine.Request // of every attempt
	Backends []string       // admitted agents; none leaves the choice to the notebook
	Number   int            // of attempts of each backend; 0 is the notebook's, or else one
	Pick     string         // one of notebooks.Picks; "" is the notebook's, or else Default
	Default  string         // what is picked where nothing says it
	Once     bool           // do not judge a result tree a second time
	Output   string         // absolute path of the output notebook with the comparison; "" for none
	Work
}

// PlanAttempts checks attempts as Plan does a sweep. It runs and writes nothing.
func PlanAttempts(ctx context.Context, o Attempts) (*Sweep, error) {
	eng, err := o.Engine()
	if err != nil {
		return nil, err
	}
	nb, err := eng.Parse(o.Request)
	if err != nil {
		return nil, err
	}
	n := cmp.Or(o.Number, nb.Attempts(), 1)
	backends := o.Backends
	if len(backends) == 0 {
		backends = []string{""}
	}
	s := &Sweep{Work: o.Work, request: o.Request, Engine: eng}
	s.request.Aside = true
	for _, backend := range backends {
		for attempt := range n {
			lane := &runs.LaneRow{Backend: backend, Attempt: attempt + 1}
			s.started.Rows = append(s.started.Rows, runs.SweepRow{Given: []runs.GivenData{}, Lane: lane})
			s.rows = append(s.rows, row{number: len(s.rows) + 1, lane: lane})
		}
	}
	lanes := &runs.LanesData{Backends: o.Backends, Attempts: n, Once: o.Once, Output: o.Output,
		Views: runs.ViewsVersion,
		Pick:  cmp.Or(o.Pick, nb.Front.Pick, o.Default)}
	s.started.Lanes = lanes
	if err := s.planFirst(ctx); err != nil {
		return nil, err
	}
	plan := s.first
	switch {
	case plan.Contract().MutationMode == runs.MutationInPlace:
		return nil, &notebooks.Error{Kind: notebooks.KindOption, File: o.Request.Path, Line: 1,
			Msg:  "attempts need a worktree each, and these runs would all work in the same folder",
			Hint: "run it in a Git repository, and not in place"}
	case !slices.ContainsFunc(plan.Notebook().Steps, plan.ByAgent):
		return nil, &notebooks.Error{Kind: notebooks.KindOption, File: o.Request.Path, Line: 1,
			Msg:  "no step of the notebook is an agent's: all attempts would do the same",
			Hint: "write a step of the language agent, or leave the attempts out"}
	}
	contract := plan.Contract()
	contract.Parameters = plan.Parameters()
	lanes.Contract, err = runs.ContractDigest(runs.DigestOf(o.Request.Source), contract)
	return s, err
}

// judge judges the result tree of an attempt a second time, in a fork that carries the steps before the tests, unless
// that of another attempt is the same: then it is judged twice already. Where that cannot be done the tree is judged
// once, as the table says.
func (r *runner) judge(ctx context.Context, eng *engine.Engine, ended *runs.SweepRunEndedData) error {
	record := r.store.Record(ended.Run)
	run, _, err := record.Load()
	if err != nil {
		return err
	}
	ended.Lane = runs.LaneOf(run)
	at := judgesFrom(run)
	if r.started.Lanes.Once || ended.Lane.Tree == "" || at == "" || ctx.Err() != nil || r.judged(ended.Lane.Tree) {
		return nil
	}
	was, err := eng.Forked(record.Path())
	if err != nil {
		return nil
	}
	req, err := was.Request(r.request.Given) // with the secrets, which the record has not
	if err != nil {
		return nil
	}
	req.Repository, req.At, req.Reuse, req.Aside = r.request.Repository, at, engine.ReuseOff, true
	if req.ID, err = eng.NewID(req.Path); err != nil {
		return err
	}
	plan, err := eng.Plan(ctx, req)
	if err != nil || plan.Fork() == nil || plan.Fork().At != at { // an agent is not asked again
		return nil
	}
	result, err := eng.Run(ctx, plan, r.Work.Sinks("", nil))
	if err != nil {
		return err
	}
	again := &runs.JudgedData{Run: result.Run.ID, Judges: runs.JudgementOf(result.Run)}
	if again.Sums, err = runs.At(result.Dir).Sums(); err == nil && len(again.Judges) > 0 {
		ended.Lane.Again = again
	}
	return err
}

// judged reports whether an attempt that has ended has a result tree, and was judged.
func (r *runner) judged(tree string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.so.Rows, func(s runs.SweepState) bool {
		return s.Ended != nil && s.Ended.Lane != nil && s.Ended.Lane.Tree == tree && len(s.Ended.Lane.Judges) > 0
	})
}

// judgesFrom is the first test or review behind the last step of an agent, of those that ran; "" without one.
func judgesFrom(run *runs.Run) (at notebooks.StepID) {
	judges := runs.JudgementOf(run)
	for i := range run.Steps {
		s := &run.Steps[i].Planned
		if _, ran := judges[s.ID]; ran && at == "" {
			at = s.ID
		}
		if strings.HasPrefix(s.Kernel, runs.AgentKernelPrefix) {
			at = ""
		}
	}
	return at
}

// Compared are the attempts, as they are compared with one another.
func Compared(s *runs.Sweep, store runs.Store) []*sheet.ComparedRun {
	var list []*sheet.ComparedRun
	letters, backend := map[string]string{}, ""
	for i := range s.Rows {
		row := &s.Rows[i]
		c := &sheet.ComparedRun{Name: string(row.Run), Run: string(row.Run), Notebook: s.Started.Notebook,
			Status: "not run", Parameters: map[string]codec.Raw{}, Scraps: map[string]codec.Raw{}}
		if row.Run != "" {
			if run, _, err := store.Record(row.Run).Load(); err == nil {
				c = sheet.OfRun(run)
			}
			c.Status = "not ended" // or not judged a second time
		} else if s.Settled() {
			c.Reason = "an earlier attempt passes"
		}
		if row.Ended != nil {
			c.Status, c.Reason = string(row.Ended.Status), cmp.Or(c.Reason, row.Ended.Reason)
			c.Judged = judgedWords(s, i)
			if l := row.Ended.Lane; l != nil && l.Tree != "" && l.Files > 0 {
				if letters[l.Tree] == "" {
					letters[l.Tree] = letter(len(letters))
				}
				c.Tree = letters[l.Tree]
			}
		}
		backend = cmp.Or(row.Lane.Backend, c.Backend, backend)
		c.Attempt = backend + " " + strconv.Itoa(row.Lane.Attempt)
		c.Name = cmp.Or(c.Name, c.Attempt)
		list = append(list, c)
	}
	return list
}

// letter names the nth result tree: A … Z, A1 …
func letter(n int) string {
	name := string(rune('A' + n%26))
	if n >= 26 {
		name += strconv.Itoa(n / 26)
	}
	return name
}

// judgedWords say how often the tree of a row was judged, and whether that came to the same.
func judgedWords(s *runs.Sweep, row int) string {
	if flaky := s.Flaky(row); len(flaky) > 0 {
		words := make([]string, len(flaky))
		for i, step := range flaky {
			words[i] = string(step)
		}
		return "flaky: " + strings.Join(words, ", ")
	}
	switch n := s.Judged(row); n {
	case 0:
		return ""
	case 1:
		return "once"
	case 2:
		return "twice"
	default:
		return strconv.Itoa(n) + "×"
	}
}

// Comparison is the comparison as the manifest of its output notebook has it: without the ids of runs, which nobody
// else knows.
func Comparison(s *runs.Sweep, store runs.Store) *notebooks.ManifestLanes {
	list := Compared(s, store)
	m := &notebooks.ManifestLanes{Pick: s.Started.Lanes.Pick, Picked: s.Picked()}
	m.Passed, m.Identical = s.Agreeing()
	for i := range s.Rows {
		if len(s.Flaky(i)) > 0 {
			m.Flaky++
		}
		if s.Rows[i].Run == "" {
			m.NotBegun++
		} else if run, _, err := store.Record(s.Rows[i].Run).Load(); err == nil {
			list[i].Reason = plain.Escape(safe.NewNames(run.Started.Paths).Replace(list[i].Reason))
		}
	}
	t := sheet.Compare(list, nil)
	keep := func(i int) bool { return t.Headings[i].Name != "run" }
	for i, name := range t.Columns {
		if keep(i) {
			m.Columns = append(m.Columns, name)
		}
	}
	for _, cells := range t.Rows {
		var row []codec.Raw
		for i, cell := range cells {
			if len(cell) == 0 {
				cell = codec.Raw("null")
			}
			if keep(i) {
				row = append(row, cell)
			}
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

// Output is the output notebook of a comparison: that of the attempt that is picked, with the comparison in its
// verdict, or the notebook with the comparison alone.
func Output(s *runs.Sweep, store runs.Store) ([]byte, error) {
	name, lanes := filepath.Base(s.Started.Lanes.Output), Comparison(s, store)
	var some *runs.Run
	for i := range s.Rows {
		run, source, err := store.Record(s.Rows[i].Run).Load()
		if s.Rows[i].Run == "" || err != nil {
			continue
		}
		if some = run; i == lanes.Picked-1 {
			return render.Picked(name, run, source, os.DirFS(store.Path(run.ID)), lanes)
		}
	}
	if lanes.Picked > 0 || some == nil {
		return nil, bad(notebooks.KindRecord, "the output notebook that was written is all there is",
			"the runs of %s are not kept any more", s.Started.SweepID)
	}
	return render.NonePicked(some, s.Source, s.Verdict(0).Status, lanes)
}

// Picked is the run of the attempt that is picked, whose pictures the output notebook shows; none without one.
func Picked(s *runs.Sweep, store runs.Store) []engine.ViewInput {
	if s.Picked() == 0 {
		return nil
	}
	id := s.Rows[s.Picked()-1].Run
	run, _, err := store.Record(id).Load()
	if err != nil {
		return nil // Output has said so
	}
	return []engine.ViewInput{{Dir: store.Path(id), Run: run}}
}
