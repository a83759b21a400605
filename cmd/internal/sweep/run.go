package sweep

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"markmill/cmd/internal/records"
	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/runs"
	"markmill/runs/outfile"
)

// runner is a sweep that goes on.
type runner struct {
	*Sweep
	recorder *runs.SweepRecorder
	store    runs.Store
	id       runs.SweepID
	stop     context.CancelCauseFunc
	files    map[string]*outfile.File // by their paths

	mu     sync.Mutex
	so     *runs.Sweep // what became of the rows so far
	next   int         // index of the row that begins next
	failed int
	left   int
	err    error // of the sweep itself: nothing further begins
}

// Run makes the runs of a sweep, and keeps its record. A run that does not pass is no error: the record says it.
// Cancelling ctx interrupts the runs that go on, which are recorded so, and begins no further one; with an
// engine.Interrupt as cause, the sweep ends with that signal.
func (s *Sweep) Run(ctx context.Context) (*runs.Sweep, error) {
	r := &runner{Sweep: s, id: s.started.SweepID, left: len(s.rows), store: s.Engine.Store(s.request.Repository)}
	if s.first != nil { // the rows of a resumed one are in its record already
		r.store = s.first.Store(s.Engine)
	}
	var err error
	if s.resumed != "" {
		r.recorder, r.so, err = r.store.ResumeSweep(s.resumed, s.Engine.Version, s.Engine.Now)
	} else {
		r.so = &runs.Sweep{Started: s.started, Rows: make([]runs.SweepState, len(s.started.Rows))}
		r.recorder, err = r.store.CreateSweep(s.started, s.request.Source, s.Engine.Now)
	}
	if err != nil {
		return nil, err
	}
	files, err := s.open()
	defer func() {
		for _, file := range files {
			file.Close()
		}
	}()
	if r.files = files; err != nil {
		return nil, errors.Join(err, r.recorder.Close())
	}
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r.stop = stop
	engines := []*engine.Engine{s.Engine}
	for len(engines) < s.jobs() && err == nil && s.Work.Elsewhere == nil {
		var eng *engine.Engine
		if eng, err = s.Work.Engine(); err == nil {
			engines = append(engines, eng)
		}
	}
	defer engine.ShareWarden(string(r.id), engines...)()
	var group sync.WaitGroup
	if s.Work.Elsewhere != nil && err == nil {
		err, engines = r.elsewhere(running, &group), nil
	}
	for _, eng := range engines {
		eng.Beside = s.beside()
		group.Go(func() { r.loop(running, &planner{Engine: eng}) })
	}
	group.Wait()
	r.fail(err)
	signal := 0
	if caught, ok := errors.AsType[engine.Interrupt](context.Cause(ctx)); ok {
		signal = caught.Signal
	} else if ctx.Err() != nil {
		signal = int(syscall.SIGINT)
	}
	done, err := runs.LoadSweep(r.recorder.Dir)
	if err == nil {
		err = r.complete(done, signal)
	}
	if err = errors.Join(r.err, err, r.recorder.Close()); err != nil {
		return nil, err
	}
	return runs.LoadSweep(r.recorder.Dir)
}

// complete records the end of the sweep. The output notebook of a comparison is written when the record says what is in
// it.
func (r *runner) complete(done *runs.Sweep, signal int) error {
	end, l := done.Verdict(signal), done.Started.Lanes
	var out []byte
	if l != nil && l.Output != "" && signal == 0 && r.err == nil {
		var err error
		if out, err = Output(done, r.store); err != nil {
			return err
		}
		end.Output = runs.DigestOf(out)
	}
	if err := r.recorder.Append(runs.SweepCompleted, end); err != nil || out == nil {
		return err
	}
	for _, in := range Picked(done, r.store) {
		if err := views.WritePictures(in, r.files[l.Output].Beside); err != nil {
			return err
		}
	}
	return r.files[l.Output].Write(out)
}

// open opens all outputs before the first step of a run, which may replace folders by links. It makes their folders,
// because one that comes and goes during a run is a change of the checkout. Those of jobs are opened when they come.
func (s *Sweep) open() (files map[string]*outfile.File, err error) {
	files = map[string]*outfile.File{}
	if s.Work.Elsewhere != nil && !s.Lanes() {
		return files, nil
	}
	rules := engine.OutputRules(s.Work.Force)
	for _, output := range s.outputs() {
		file, err := outfile.Open(output, rules)
		if err != nil {
			return files, err
		}
		if files[output] = file; !file.Device() {
			if err := file.Make(); err != nil {
				return files, err
			}
		}
	}
	return files, nil
}

// outputs are the paths of the output notebooks.
func (s *Sweep) outputs() (paths []string) {
	if l := s.started.Lanes; l != nil && l.Output != "" {
		return []string{l.Output}
	}
	for _, row := range s.started.Rows {
		if row.Output != "" {
			paths = append(paths, row.Output)
		}
	}
	return paths
}

// jobs is how many runs go on at once. Runs that work in the same folder go on one after another.
func (s *Sweep) jobs() int {
	if s.Shared() {
		return 1
	}
	rows := max(len(s.rows), 1)
	most := min(runtime.GOMAXPROCS(0), rows)
	if s.Work.Jobs > 0 && s.Lanes() { // an agent waits for its model most of the time
		most = rows
	}
	if s.Work.Jobs > 0 {
		return min(s.Work.Jobs, most)
	}
	return most
}

// Shared reports whether all runs work in the same folder: outside a repository, and in place.
func (s *Sweep) Shared() bool { return s.request.InPlace || s.request.Repository == "" }

// beside reports which paths of the checkout the runs of the sweep write: their output notebooks with their pictures,
// the folders that are made for them, and what is being written there.
func (s *Sweep) beside() func(path string) bool {
	root := s.request.Repository
	if root == "" {
		return nil
	}
	own, folders := map[string]bool{}, map[string]bool{}
	for _, output := range s.outputs() {
		rel, err := filepath.Rel(root, output)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		rel = filepath.ToSlash(rel)
		folder, _ := cutLast(rel)
		own[rel], folders[folder] = true, true
		assets := views.AssetsFolder(output)
		if folder != "" {
			assets = folder + "/" + assets
		}
		own[assets] = true
	}
	return func(path string) bool {
		folder, name := cutLast(path)
		return own[path] || own[folder] || folders[folder] && strings.HasPrefix(name, runs.TempPrefix)
	}
}

// cutLast cuts a slash-separated path into its folder, "" without one, and its name.
func cutLast(path string) (folder, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}

// planner is an engine that plans the runs of a sweep, one after another, and reads once what they have in common.
type planner struct {
	*engine.Engine
	first *engine.Plan // nil until a run could be planned
}

// Plan plans a run like the first one.
func (p *planner) Plan(ctx context.Context, req engine.Request) (*engine.Plan, error) {
	if p.first != nil {
		return p.PlanAgain(ctx, p.first, req)
	}
	plan, err := p.Engine.Plan(ctx, req)
	if err == nil {
		p.first = plan
	}
	return plan, err
}

// loop makes runs until none is left.
func (r *runner) loop(ctx context.Context, eng *planner) {
	for {
		row := r.take(ctx)
		if row == nil {
			return
		}
		ended, err := r.one(ctx, eng, row)
		if err != nil {
			r.fail(err)
		}
		if ended == nil {
			return
		}
		r.ended(row, ended)
	}
}

// take is the row that begins next; nil when none is to.
func (r *runner) take(ctx context.Context) *row {
	r.mu.Lock()
	defer r.mu.Unlock()
	most := r.Work.MaxFailures
	if ctx.Err() != nil || r.err != nil || r.next == len(r.rows) || most > 0 && r.failed >= most || r.so.Settled() {
		return nil
	}
	r.next++
	return &r.rows[r.next-1]
}

func (r *runner) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = errors.Join(r.err, err)
}

// ended counts a run that has ended.
func (r *runner) ended(row *row, ended *runs.SweepRunEndedData) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left--
	r.so.Rows[row.number-1].Run, r.so.Rows[row.number-1].Ended = ended.Run, ended
	if !ended.Status.Passed() {
		r.failed++
		if r.Work.FailFast || r.Work.Elsewhere != nil && r.failed == r.Work.MaxFailures { // all have begun there
			r.stop(engine.Interrupt{Signal: int(syscall.SIGTERM)})
		}
	}
	r.Work.Ended(row.number, *ended, r.left)
}

// one makes the run of a row, and records it. It returns nil where the run has to be looked at again by a resumed
// sweep.
func (r *runner) one(ctx context.Context, eng *planner, row *row) (*runs.SweepRunEndedData, error) {
	begin := eng.Now()
	ended, req, err := r.goOn(eng.Engine, row)
	if err != nil {
		return nil, err
	}
	if ended == nil {
		if req.ID, err = eng.NewID(req.Path); err != nil {
			return nil, err
		}
		req.Sweep = &runs.SweepData{ID: r.id, Row: row.number}
		if row.lane != nil {
			req.Sweep.Attempt = row.lane.Attempt
		}
		err := r.recorder.Append(runs.SweepRunStarted, runs.SweepRunStartedData{Row: row.number, Run: req.ID})
		if err != nil {
			return nil, err
		}
		ended = &runs.SweepRunEndedData{Row: row.number, Run: req.ID}
		if err := r.do(ctx, eng, req, ended); err != nil {
			return nil, err
		}
		ended.Millis = eng.Now().Sub(begin).Milliseconds()
	}
	if r.Lanes() && ended.Sums != "" && ended.Status != runs.Interrupted {
		if err := r.judge(ctx, eng.Engine, ended); err != nil || ctx.Err() != nil {
			return nil, err
		}
	}
	if err := r.recorder.Append(runs.SweepRunEnded, *ended); err != nil {
		return nil, err
	}
	return ended, nil
}

// goOn makes the request of a row. Of a row whose run was cut it looks at the record: a run that had come to its end
// only lacks its line in the sweep's journal, and one that can be resumed is.
func (r *runner) goOn(eng *engine.Engine, row *row) (*runs.SweepRunEndedData, engine.Request, error) {
	req, err := r.requestOf(row)
	if row.run == "" || err != nil {
		return nil, req, err
	}
	record := r.store.Record(row.run)
	if _, err := record.Stat(runs.JournalFile); err != nil {
		return nil, req, nil // it had not begun
	}
	if _, err := record.Reconcile(eng.Now, records.Rebuild); err != nil {
		return nil, req, nil // it cannot be completed: the row runs anew
	}
	was, _, err := record.Load()
	if err != nil {
		return nil, req, nil
	}
	state := runs.SweepState{Ended: &runs.SweepRunEndedData{Row: row.number, Run: row.run}}
	if err := state.Ended.Set(record, was); err != nil || !state.Missing() {
		return state.Ended, req, err
	}
	if cut, err := eng.Interrupted(record.Path()); err == nil {
		if again, err := cut.Request(r.secrets); err == nil {
			req.Resume, req.Given = again.Resume, again.Given
		}
	}
	return nil, req, nil
}

// do makes one run. A row that cannot be planned has failed; an error is one of Markmill's own.
func (r *runner) do(ctx context.Context, eng *planner, req engine.Request, ended *runs.SweepRunEndedData) error {
	plan, err := eng.Plan(ctx, req)
	if err != nil {
		if _, one := errors.AsType[*notebooks.Error](err); !one {
			if _, list := errors.AsType[notebooks.ErrorList](err); !list {
				return err
			}
		}
		ended.Status, ended.Reason = runs.Fail, strings.ReplaceAll(err.Error(), "\n", "; ")
		return nil
	}
	output := req.Output
	if r.Lanes() {
		output = "" // it is of the comparison
	}
	result, err := eng.Run(ctx, plan, r.Work.Sinks(output, r.files[output]))
	if err != nil {
		return err
	}
	return ended.Set(runs.At(result.Dir), result.Run)
}
