package render

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/inject"
	"markmill/notebooks/ipynb"
	"markmill/runs"
)

// jupyterOutput is the output notebook as Jupyter's: the source with outputs, counts and the metadata that papermill
// leaves, with the injected parameters as a cell and the manifest in the metadata. A Markdown notebook is first made
// one of Jupyter's.
func jupyterOutput(name string, nb *notebooks.Notebook, run *runs.Run, files fs.FS) ([]byte, error) {
	j, err := newJupyter(nb)
	if err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	j.manifest, j.params, j.given, j.report = Manifest(nb, run), run.Contract.Parameters, recordedValues(run), run.ReportMode()
	j.manifest.Signature = signatureOf(name, run)
	j.input, j.output, j.names = run.Started.Notebook, outputPath(run), newPathNames(run.Started.Paths)
	r := newRecorded(j, run, files)
	if r.widgets, err = r.readWidgets(); err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	if err := j.steps(r.step); err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	if j.widgets, err = r.widgets.setting(j.names.replace); err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	if j.tells || run.Status() != runs.Pass {
		j.verdict()
	}
	return j.bytes()
}

// jupyterPrepared is Prepared of a Jupyter notebook.
func jupyterPrepared(nb *notebooks.Notebook, params []runs.ParamData, given []notebooks.Bound, output any, report bool) ([]byte, error) {
	j, err := newJupyter(nb)
	if err != nil {
		return nil, err
	}
	j.manifest = notebooks.Manifest{Format: notebooks.ManifestFormat, Status: StatusPrepared, Parameters: manifestParams(params, nil)}
	j.params, j.given, j.input, j.output, j.report = params, given, nb.Name, output, report
	j.inject(0)
	return j.bytes()
}

// jupyter is an output notebook in the making.
type jupyter struct {
	nb     *notebooks.Notebook
	file   *ipynb.Notebook         // of it
	places map[int]*notebooks.Step // the steps, by place in file.Cells
	tells  bool                    // all that Markmill tells of a step stands in its cell: the notebook is of Markmill's own form, or was
	names  pathNames

	manifest notebooks.Manifest // but for its source and regions
	params   []runs.ParamData
	given    []notebooks.Bound // the values that were given; of a secret that it was one
	input    string            // path of the notebook
	output   any               // path of OUTPUT, or nil
	report   bool              // the code of every cell is folded

	result ipynb.Result
	listed []notebooks.ManifestRegion
	failed bool

	widgets []ipynb.Setting // the state of those of the run
}

// newJupyter begins an output notebook of a Jupyter notebook, or of a Markdown notebook as Jupyter's.
func newJupyter(nb *notebooks.Notebook) (*jupyter, error) {
	j := &jupyter{nb: nb, places: map[int]*notebooks.Step{}, result: ipynb.Result{Cells: map[int]ipynb.CellResult{}}}
	var err error
	if j.tells = nb.Form != ipynb.Form; j.tells {
		j.file, j.places, err = asJupyter(nb)
		return j, err
	}
	if j.file, err = ipynb.Parse(nb.Name, nb.Source); err != nil {
		return nil, err
	}
	j.tells = j.file.Native()
	code := j.codeCells()
	if len(code) != len(nb.Steps) {
		return nil, fmt.Errorf("the notebook has %d code cells and %d steps", len(code), len(nb.Steps))
	}
	for n, i := range code {
		j.places[i] = nb.Steps[n]
	}
	return j, nil
}

// bytes is the notebook, whole.
func (j *jupyter) bytes() ([]byte, error) {
	if err := j.metadata(); err != nil {
		return nil, err
	}
	for _, i := range j.codeCells() {
		if j.report {
			got := j.result.Cells[i]
			got.Hidden = true
			j.result.Cells[i] = got
		}
	}
	return j.file.With(j.result)
}

// codeCells are the places of the code cells.
func (j *jupyter) codeCells() []int {
	var out []int
	for i := range j.file.Cells {
		if j.file.Cells[i].Type == "code" {
			out = append(out, i)
		}
	}
	return out
}

// regionIDs are the names that the manifest has for code cells, by place: those of the steps when the notebook itself
// is run.
func (j *jupyter) regionIDs() map[int]string {
	out := map[int]string{}
	bare, _ := j.file.Runnable() // what is wrong with it does not change which steps it has
	steps := bare.Steps
	for n, i := range j.codeCells() {
		out[i] = string(steps[n].ID)
	}
	return out
}

// parametersAt is the place of the cell that declares parameters, -1 without one.
func (j *jupyter) parametersAt() int {
	return slices.IndexFunc(j.file.Cells, func(c ipynb.Cell) bool { return c.Type == "code" && c.Tagged(notebooks.TagParameters) })
}

// stepOutcome is what became of a step.
type stepOutcome struct {
	status  runs.StepStatus
	started bool
	ran     bool                                      // it ended, and has a count
	outputs func(count int) ([]map[string]any, error) // as nbformat has them; nil is none
	note    any                                       // what the cell's metadata say of it, nil without
}

// steps writes what came of each cell. Executions are counted as a kernel counts them, the injected cell too, which
// papermill executes.
func (j *jupyter) steps(of func(*notebooks.Step) (stepOutcome, error)) error {
	outcomes := map[int]stepOutcome{}
	ran := false
	for i, step := range j.places {
		o, err := of(step)
		if err != nil {
			return fmt.Errorf("step %q: %w", step.ID, err)
		}
		outcomes[i] = o
		ran = ran || o.started
	}
	ids, count, declared := j.regionIDs(), 0, j.parametersAt()
	injected := func(counted bool) {
		if !counted {
			j.inject(0)
		} else if j.inject(count + 1) {
			count++
		}
	}
	if declared < 0 {
		injected(ran)
	}
	stopped := len(j.file.Cells)
	for i := range j.file.Cells {
		var got ipynb.CellResult
		state := papermillState{Status: "completed", Exception: truth(false)}
		if step := j.places[i]; step != nil {
			o := outcomes[i]
			if o.ran && strings.TrimSpace(string(step.Code)) != "" {
				count++
				got.Count = count
			}
			if err := j.cell(&got, ids[i], o); err != nil {
				return fmt.Errorf("step %q: %w", step.ID, err)
			}
			switch s := o.status; {
			case s == runs.StepFailed || s == runs.StepTimeout:
				state = papermillState{Status: "failed", Exception: truth(true)}
				if stopped > i {
					stopped = i
					j.marks(i, got.Count)
				}
			case s == runs.StepPending || s == runs.StepSkipped && !step.Has(notebooks.TagSkip):
				state = papermillState{Status: "pending"}
			}
		}
		if j.places[i] == nil && j.file.Cells[i].Type == "code" && ran { // a block of parameters, whose values were set
			count++
			got.Count = count
			if err := j.cell(&got, ids[i], stepOutcome{}); err != nil {
				return err
			}
		}
		if i > stopped {
			state.pend(got.Count)
		}
		if len(got.Outputs) == 0 {
			got.Outputs = codec.Raw("[]")
		}
		raw, err := codec.Marshal(state)
		if err != nil {
			return err
		}
		got.Metadata = append(got.Metadata, ipynb.Setting{Name: "papermill", Value: raw})
		j.result.Cells[i] = got
		if i == declared {
			injected(got.Count > 0)
		}
	}
	return nil
}

// cell writes the outputs of one step, and what is noted of it.
func (j *jupyter) cell(got *ipynb.CellResult, id string, o stepOutcome) error {
	var outputs []map[string]any
	if o.outputs != nil {
		var err error
		if outputs, err = o.outputs(got.Count); err != nil {
			return err
		}
	}
	if o.note != nil {
		raw, err := codec.Marshal(o.note)
		if err != nil {
			return err
		}
		got.Metadata = append(got.Metadata, ipynb.Setting{Name: "markmill", Value: raw})
	}
	if len(outputs) == 0 && got.Count == 0 {
		return nil
	}
	if outputs == nil {
		outputs = []map[string]any{}
	}
	var err error
	if got.Outputs, err = codec.Marshal(outputs); err != nil {
		return err
	}
	j.listed = append(j.listed, notebooks.ManifestRegion{ID: id, Digest: ipynb.RegionDigest(got.Outputs, got.Count)})
	return nil
}

// papermillState is what papermill notes of a cell. The times are in the run's record.
type papermillState struct {
	Duration  *float64 `json:"duration"`
	End       *string  `json:"end_time"`
	Exception *bool    `json:"exception"`
	Start     *string  `json:"start_time"`
	Status    string   `json:"status"`
}

// pend makes a cell pending that stands behind the one that failed, unless it ran all the same.
func (s *papermillState) pend(count int) {
	if count == 0 && s.Status == "completed" {
		*s = papermillState{Status: "pending"}
	}
}

func truth(b bool) *bool { return &b }

// marks tells on top, and before the cell that failed, where the run stopped.
func (j *jupyter) marks(at, count int) {
	const style = `style="color:red; font-family:Helvetica Neue, Helvetica, Arial, sans-serif; font-size:2em;"`
	j.failed = true
	where := fmt.Sprintf("In [%d]", count)
	if count == 0 {
		where = "this cell"
	}
	mark := func(before int, id, text string) ipynb.AddedCell {
		return ipynb.AddedCell{Before: before, ID: id, Markdown: true, Tags: []string{"papermill-error-cell-tag"}, Source: text}
	}
	top := mark(0, errorTop, fmt.Sprintf(`<span %s>The run stopped with an error at <a href="#papermill-error-cell">%s</a>.</span>`, style, where))
	j.result.Added = slices.Insert(j.result.Added, 0, top)
	j.result.Added = append(j.result.Added, mark(at, "papermill-error-cell", fmt.Sprintf(`<span id="papermill-error-cell" %s>The run stopped here:</span>`, style)))
}

// recordedValues are the values that were given, as the record has them; of a secret that it was one.
func recordedValues(run *runs.Run) []notebooks.Bound {
	wires := map[string]string{}
	if o := run.Started.Options; o != nil {
		for _, g := range o.Given {
			wires[g.Name] = g.Wire
		}
	}
	var out []notebooks.Bound
	for _, p := range run.Contract.Parameters {
		if !p.Given {
			continue
		}
		v, err := notebooks.ParseWire([]byte(wires[p.Name]))
		if err != nil || wires[p.Name] == "" {
			v = notebooks.Value{Type: notebooks.TypeString, Text: "***"}
		}
		out = append(out, notebooks.Bound{Param: notebooks.Param{Name: p.Name}, Value: v, Given: true})
	}
	return out
}

// inject adds the cell of injected parameters, and says whether there is one. A value that the language cannot write as
// source stands in the metadata alone.
func (j *jupyter) inject(count int) bool {
	if len(j.given) == 0 {
		return false
	}
	text, err := inject.Cell(cmp.Or(j.nb.DefaultLanguage, j.file.Language()), j.given, false)
	if err != nil {
		return false
	}
	at := j.parametersAt()
	cell := ipynb.AddedCell{Before: at + 1, ID: "injected-parameters", Source: text, Tags: []string{notebooks.TagInjected},
		CellResult: ipynb.CellResult{Count: count, Outputs: codec.Raw("[]"), Hidden: j.report}}
	if count > 0 {
		if raw, err := codec.Marshal(papermillState{Status: "completed", Exception: truth(false)}); err == nil {
			cell.Metadata = []ipynb.Setting{{Name: "papermill", Value: raw}}
		}
	}
	j.result.Added = append(j.result.Added, cell)
	return true
}

// metadata writes the manifest, and what papermill notes of a notebook.
func (j *jupyter) metadata() error {
	given := map[string]codec.Raw{}
	for _, p := range j.params {
		if p.Given {
			given[p.Name] = shownValue(p, nil)
		}
	}
	var exception *bool
	if j.failed {
		exception = truth(true)
	}
	papermill, err := codec.Marshal(map[string]any{
		"default_parameters": struct{}{}, "duration": nil, "end_time": nil, "environment_variables": struct{}{}, "exception": exception,
		"input_path": j.input, "output_path": j.output, "parameters": given, "start_time": nil, "version": "markmill",
	})
	if err != nil {
		return err
	}
	regions := j.listed
	if regions == nil {
		regions = []notebooks.ManifestRegion{}
	}
	m := j.manifest
	m.Source, m.Regions, m.ReportMode, m.Verdict = notebooks.DigestOf(j.file.Source), regions, j.report, ""
	manifest, err := ipynb.ManifestSetting(m)
	j.result.Metadata = append([]ipynb.Setting{manifest, {Name: "papermill", Value: papermill}}, j.widgets...)
	return err
}

// outputPath is the path of OUTPUT of a run as its notebook names it, or nil.
func outputPath(run *runs.Run) any { return OutputPath(run.Started.Output, run.Started.Repository) }

// OutputPath is an absolute path of OUTPUT, or an address, as an output notebook names it: within the repository, or
// else by its name, so that nothing of this machine stands there. "" gives nil; repository is "" outside one.
func OutputPath(out, repository string) any {
	if out == "" {
		return nil
	}
	if (runs.RunStartedData{Output: out}).LocalOutput() == "" { // an address
		return out
	}
	if repository != "" {
		if rel, err := filepath.Rel(repository, out); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return path.Base(filepath.ToSlash(out))
}

// errorTop is the id of the cell on top that says that a step failed.
const errorTop = "papermill-error-top"
