package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/notebooks/params"
	"markmill/render"
	"markmill/render/safe"
	"markmill/runs"
	"markmill/runs/outfile"
)

// Options say what a sweep runs, and how.
type Options struct {
	Grid
	// Request is what every run is asked. Given holds the values that all runs have in common; the id, the output and
	// the sweep are those of each run.
	Request engine.Request
	// Output is the path of the output notebooks, with names of parameters in braces; "" keeps them in the records
	// only.
	Output string
	Work
}

// Work says how the runs of a sweep are made.
type Work struct {
	// Engine makes an engine. It is called once, and once more for each further run at the same time.
	Engine func() (*engine.Engine, error)
	// Prepare puts OUTPUT, an absolute path or "", into a request.
	Prepare func(req *engine.Request, output string) error
	// Sinks are those of a run with this OUTPUT, "" for none, and its file.
	Sinks func(output string, file *outfile.File) engine.Sinks
	// Force says that a person at a terminal insists on where outputs go.
	Force bool
	// Elsewhere begins the run of a row on another machine. It is called for one row after the other, and is nil for
	// runs of this process.
	Elsewhere func(row int, req engine.Request) (Arrival, error)
	// how many runs go on at once, at most as many as there are processors, unless they are attempts; 0 is that many
	Jobs        int
	MaxFailures int  // begin no further run after so many did not pass; 0 is no limit
	FailFast    bool // at the first run that does not pass, interrupt the others and begin no further one
	// Ended is called for each run that has ended, with how many are left, from one goroutine at a time.
	Ended func(row int, ended runs.SweepRunEndedData, left int)
}

// Sweep is a sweep that is checked and has not started, or one that goes on.
type Sweep struct {
	Work     Work                // how the runs are made; it may be changed until Run is called
	Engine   *engine.Engine      // of the first runs
	Warnings notebooks.ErrorList // what is questionable in the notebook and runs

	request engine.Request // of every run, with the common values
	first   *engine.Plan   // of the first run; nil of a sweep that is resumed
	started runs.SweepStartedData
	names   []string
	rows    []row
	secrets []params.Given
	resumed string // directory of the sweep that is resumed; "" begins a new one
	// completed says that the resumed sweep had come to its end.
	completed bool
}

// row is a row that is to be run.
type row struct {
	number int // from 1
	given  []params.Given
	output string
	lane   *runs.LaneRow
	run    runs.RunID // an earlier run of the row that did not come to its end
}

// Len is the number of runs that are to be made.
func (s *Sweep) Len() int { return len(s.rows) }

// Done reports whether a resumed sweep lacks nothing.
func (s *Sweep) Done() bool { return len(s.rows) == 0 && s.completed }

// ID names the sweep.
func (s *Sweep) ID() runs.SweepID { return s.started.SweepID }

// Row describes a row by its number: the parameters that differ, with their values.
func (s *Sweep) Row(number int) string { return RowWords(s.started.Rows[number-1]) }

// Lanes reports whether the runs are attempts.
func (s *Sweep) Lanes() bool { return s.started.Lanes != nil }

// RowWords describes a row: the parameters that differ, with their values, or the attempt.
func RowWords(r runs.SweepRow) string {
	if r.Lane != nil {
		return fmt.Sprintf("%s %d", cmp.Or(r.Lane.Backend, "attempt"), r.Lane.Attempt)
	}
	given, err := engine.GivenOf(r.Given)
	if err != nil {
		return "?"
	}
	return words(given, " ")
}

// Plan reads and checks everything that a sweep is asked: each value by its declared type, and that no two runs write
// the same output notebook. It runs and writes nothing. The error is a notebooks.ErrorList, or an Error.
func Plan(ctx context.Context, o Options) (*Sweep, error) {
	eng, err := o.Engine()
	if err != nil {
		return nil, err
	}
	nb, err := eng.Parse(o.Request)
	if err != nil {
		return nil, err
	}
	given, err := o.rows()
	if err != nil {
		return nil, err
	}
	s := &Sweep{Work: o.Work, request: o.Request, Engine: eng, names: o.names()}
	for _, g := range o.Request.Given {
		if slices.Contains(s.names, g.Name) {
			return nil, bad(notebooks.KindParameter, "leave it out in one of the two places",
				"%s is given by %s, and the sweep gives it values, too", g.Name, g.Source)
		}
	}
	for _, p := range nb.Params {
		if p.Type == notebooks.TypeSecret && slices.Contains(s.names, p.Name) {
			return nil, bad(notebooks.KindParameter, "give it with -p to all runs", "%s is a secret: the record of "+
				"the sweep would show its values", p.Name)
		}
	}
	b := &binder{notebook: nb, path: o.Request.Path, common: o.Request.Given, options: params.Options{
		AllowUnknown: o.Request.AllowUnknown, Unread: params.Unread(nb), Almost: nb.AlmostDeclares,
		Getenv: eng.Getenv, MissingSecrets: true}}
	bound, err := b.read(given)
	if err != nil {
		return nil, err
	}
	if given, bound, err = b.exclude(given, bound, o.Exclude); err != nil {
		return nil, err
	}
	if len(given) == 0 {
		return nil, bad(notebooks.KindParameter, "leave an --exclude out", "no run is left")
	}
	if err := s.define(given, bound, o.Output); err != nil {
		return nil, err
	}
	return s, s.planFirst(ctx)
}

// define makes the rows.
func (s *Sweep) define(given [][]params.Given, bound [][]notebooks.Bound, output string) error {
	now := s.Engine.Now().UTC()
	extra := map[string]string{"date": now.Format(time.DateOnly), "now": now.Format(time.RFC3339)}
	same, paths := map[string]int{}, map[string]int{}
	if output != "" {
		var err error
		if s.started.Output, err = filepath.Abs(output); err != nil {
			return err
		}
	}
	for i := range given {
		data := runs.SweepRow{Given: []runs.GivenData{}}
		key := ""
		for k, v := range values(bound[i], s.names) {
			if v == nil {
				continue
			}
			key += s.names[k] + "=" + string(v.Value.Wire()) + "\n"
			if v.Given {
				data.Given = append(data.Given, runs.GivenData{Name: s.names[k], From: v.From,
					Wire: string(v.Value.Wire())})
			}
		}
		if first := same[key]; first > 0 {
			e := bad(notebooks.KindParameter, "leave one of them out", "runs %d and %d have the same values: %s", first,
				i+1, RowWords(data))
			if len(given[i]) > 0 {
				e.File, e.Line = given[i][0].File, given[i][0].Line
			}
			return e
		}
		same[key] = i + 1
		if output != "" {
			path, err := views.ExpandOutput(output, bound[i], extra)
			if err == nil {
				data.Output, err = filepath.Abs(path)
			}
			if err != nil {
				return err
			}
			if first := paths[data.Output]; first > 0 {
				return collision(output, s.names, first, i+1, RowWords(s.started.Rows[first-1]), RowWords(data))
			}
			paths[data.Output] = i + 1
		}
		s.started.Rows = append(s.started.Rows, data)
		s.rows = append(s.rows, row{number: i + 1, given: given[i], output: data.Output})
	}
	return nil
}

// collision is the error of two runs that would write the same file.
func collision(output string, names []string, first, second int, one, other string) error {
	var missing []string
	for _, name := range names {
		if !strings.Contains(output, "{"+name) && !strings.Contains(output, "{{"+name) {
			missing = append(missing, "{"+name+"}")
		}
	}
	hint := "the values give the same text: choose another format in the braces"
	if len(missing) > 0 {
		dir, name := filepath.Split(output)
		stem, ext, _ := strings.Cut(name, ".")
		hint = "put the names that differ into the path, such as " + dir + stem + "-" + strings.Join(missing, "-") +
			"." + ext
	}
	return bad(notebooks.KindInput, hint, "OUTPUT %s is the same file for run %d (%s) and run %d (%s)", output, first,
		one, second, other)
}

// planFirst plans the first run, so that what is wrong with all of them is known before anything runs.
func (s *Sweep) planFirst(ctx context.Context) error {
	req, err := s.requestOf(&s.rows[0])
	if err != nil {
		return err
	}
	plan, err := s.Engine.Plan(ctx, req)
	if err != nil {
		return err
	}
	if err := errors.Join(safe.CheckNormalize(plan.Notebook()),
		render.CheckForm(req.OutputForm, plan.Notebook())); err != nil {
		return err
	}
	for _, given := range s.started.Rows {
		for _, g := range given.Given {
			if plan.Shown(g.Wire) {
				return bad(notebooks.KindParameter, "take the secret out of it, and let the step add it",
					"a value of %s contains a secret: the record of the sweep would show it", g.Name)
			}
		}
	}
	s.first, s.Warnings = plan, plan.Notebook().Warnings
	s.request.Base = plan.Base()
	options := *plan.Options()
	options.Given = slices.DeleteFunc(slices.Clone(options.Given), func(g runs.GivenData) bool {
		return slices.Contains(s.names, g.Name)
	})
	random := make([]byte, 8)
	if _, err := io.ReadFull(s.Engine.Random, random); err != nil {
		return err
	}
	r := s.request
	s.started = runs.SweepStartedData{SweepID: runs.NewSweepID(s.Engine.Now(), r.Path, random),
		Markmill: s.Engine.Version, Notebook: r.Path, SourceFile: "notebook" + forms.Extension(plan.Notebook()),
		MadeOf: r.MadeOf, Repository: r.Repository, Folder: r.Folder, Base: r.Base, Dirty: string(r.Dirty),
		InPlace: r.InPlace, OutputForm: string(req.OutputForm), Options: &options, Names: s.names, Rows: s.started.Rows,
		Output: s.started.Output, Lanes: s.started.Lanes}
	if s.started.Lanes != nil {
		s.started.Options.Backend, s.started.Names = "", []string{}
	}
	return nil
}

// requestOf is the request of a row.
func (s *Sweep) requestOf(r *row) (engine.Request, error) {
	req := s.request
	req.Given = append(slices.Clip(req.Given), r.given...)
	if l := s.started.Lanes; l != nil {
		// A step of an earlier run would be no attempt.
		req.Backend, req.Reuse, r.output = r.lane.Backend, engine.ReuseOff, l.Output
	}
	return req, s.Work.Prepare(&req, r.output)
}

// Resume reads a sweep that was interrupted or killed, to run what is missing of it: rows without a run that came to
// its end. secrets are the values of secrets, which no record has. The notebook, the values, the base commit and the
// options are those of the record.
func Resume(dir string, secrets []params.Given, failed bool, work Work) (*Sweep, error) {
	eng, err := work.Engine()
	if err != nil {
		return nil, err
	}
	was, err := runs.LoadSweep(dir)
	if err != nil {
		return nil, err
	}
	d := was.Started
	s := &Sweep{Work: work, Engine: eng, started: d, names: d.Names, secrets: secrets, resumed: dir}
	if s.request, err = engine.RequestOf(d.Options); err != nil {
		return nil, err
	}
	for _, g := range secrets {
		if slices.ContainsFunc(s.request.Given, func(has params.Given) bool { return has.Name == g.Name }) ||
			slices.Contains(d.Names, g.Name) {
			return nil, bad(notebooks.KindOption, "leave it out: only secrets, which no record holds, are given again",
				"parameter %s: a resumed sweep has the values of its record", g.Name)
		}
		s.request.Given = append(s.request.Given, g)
	}
	r := &s.request
	r.Path, r.Source, r.MadeOf, r.Repository, r.Folder = d.Notebook, was.Source, d.MadeOf, d.Repository, d.Folder
	r.Base, r.Dirty, r.InPlace = d.Base, engine.Dirty(cmp.Or(d.Dirty, string(engine.DirtyIgnore))), d.InPlace
	r.OutputForm = notebooks.Form(d.OutputForm)
	for i := range was.Rows {
		run := was.Rows[i].Run
		if ended := was.Rows[i].Ended; !was.Rows[i].Missing() {
			if !failed || d.Lanes != nil || ended.Status.Passed() {
				continue
			}
			run = "" // the row runs anew
		}
		given, err := engine.GivenOf(was.Rows[i].Given)
		if err == nil && d.Output != "" {
			err = views.CheckLinks(d.Output, was.Rows[i].Output)
		}
		if err != nil {
			return nil, err
		}
		s.rows = append(s.rows, row{number: i + 1, given: given, output: was.Rows[i].Output, run: run,
			lane: was.Rows[i].Lane})
	}
	if was.Settled() {
		s.rows = nil
	}
	s.completed = was.Completed != nil
	return s, nil
}
