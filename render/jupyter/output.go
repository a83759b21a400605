package jupyter

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
	"markmill/notebooks/convert"
	"markmill/notebooks/inject"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/region"
	"markmill/render/result"
	"markmill/render/safe"
	"markmill/runs"
)

// Output renders the output notebook in Jupyter's form: the source with outputs, counts, papermill's metadata, a
// cell with the injected parameters, and the manifest in the metadata. A Markdown notebook is converted first.
func Output(name string, nb *notebooks.Notebook, run *runs.Run, files fs.FS) ([]byte, error) {
	j, err := newNotebook(nb)
	if err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	j.manifest, j.params, j.given, j.report = result.Manifest(nb, run), run.Contract.Parameters, recordedValues(run),
		run.ReportMode()
	if run.Timings() {
		j.timing = timingOfRun(run)
	}
	j.manifest.Signature = result.SignatureOf(name, run)
	j.input, j.names = run.Started.Notebook, safe.NewNames(run.Started.Paths)
	if j.output = OutputPath(run.Started.Output, run.Started.Repository); run.Started.OutputPath != "" {
		j.output = run.Started.OutputPath
	}
	r := newRecorded(j, run, files)
	if r.widgets, err = r.readWidgets(); err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	if err := j.steps(r.step); err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	if j.widgets, err = r.widgets.setting(j.names.Replace); err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	if j.tells || run.Status() != runs.Pass {
		j.verdict()
	}
	return j.bytes()
}

// Prepared renders a notebook with the values that a run would inject; see render.Prepared.
func Prepared(nb *notebooks.Notebook, params []runs.ParamData, given []notebooks.Bound, output any,
	report bool) ([]byte, error) {
	j, err := newNotebook(nb)
	if err != nil {
		return nil, err
	}
	j.manifest = notebooks.Manifest{Format: notebooks.ManifestFormat, Status: notebooks.StatusPrepared,
		Parameters: result.Params(params, nil)}
	j.params, j.given, j.input, j.output, j.report = params, given, nb.Name, output, report
	j.inject(0)
	return j.bytes()
}

// notebook builds an output notebook.
type notebook struct {
	nb     *notebooks.Notebook
	file   *ipynb.Notebook         // of it
	places map[int]*notebooks.Step // the steps, by place in file.Cells
	// tells says that cells hold everything Markmill knows of a step, because the notebook was written in Markmill's
	// own form
	tells bool
	names safe.Names

	manifest notebooks.Manifest // but for its source and regions
	params   []runs.ParamData
	given    []notebooks.Bound // the values that were given; of a secret that it was one
	input    string            // path of the notebook
	output   any               // path of OUTPUT, or nil
	report   bool              // the code of every cell is folded
	timing   timing            // of the run

	result ipynb.Result
	listed []notebooks.ManifestRegion
	failed bool

	widgets []ipynb.Setting // the state of those of the run
}

// newNotebook begins the output notebook of a Jupyter notebook, or of a converted text notebook.
func newNotebook(nb *notebooks.Notebook) (*notebook, error) {
	j := &notebook{nb: nb, places: map[int]*notebooks.Step{}, result: ipynb.Result{Cells: map[int]ipynb.CellResult{}}}
	var err error
	if j.tells = nb.Form != ipynb.Form; j.tells {
		j.file, j.places, err = FromText(nb)
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

// bytes returns the finished notebook.
func (j *notebook) bytes() ([]byte, error) {
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

// codeCells returns the indexes of the code cells.
func (j *notebook) codeCells() []int {
	var out []int
	for i := range j.file.Cells {
		if j.file.Cells[i].Type == "code" {
			out = append(out, i)
		}
	}
	return out
}

// regionIDs returns the manifest's names of the code cells by index: the step ids if the notebook itself is run.
func (j *notebook) regionIDs() map[int]string {
	out := map[int]string{}
	bare, _ := j.file.Runnable() // what is wrong with it does not change which steps it has
	steps := bare.Steps
	for n, i := range j.codeCells() {
		out[i] = string(steps[n].ID)
	}
	return out
}

// parametersAt returns the index of the cell that declares parameters, -1 without one.
func (j *notebook) parametersAt() int {
	return slices.IndexFunc(j.file.Cells, func(c ipynb.Cell) bool {
		return c.Type == "code" && c.Tagged(notebooks.TagParameters)
	})
}

// stepOutcome is what became of a step.
type stepOutcome struct {
	status  runs.StepStatus
	started bool
	ran     bool                                      // it ended, and has a count
	outputs func(count int) ([]map[string]any, error) // as nbformat has them; nil is none
	timing  timing
	note    any // what the cell's metadata say of it, nil without
}

// steps writes the outcome of each cell. Execution counts include the injected cell, as papermill's do.
func (j *notebook) steps(of func(*notebooks.Step) (stepOutcome, error)) error {
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
		state := papermillState{Status: "completed", Exception: new(false)}
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
				state = papermillState{Status: "failed", Exception: new(true)}
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
		if t := outcomes[i].timing; t != (timing{}) {
			state.time(t)
			if err := set(&got, "execution", t.execution()); err != nil {
				return err
			}
		}
		if len(got.Outputs) == 0 {
			got.Outputs = codec.Raw("[]")
		}
		if err := set(&got, "papermill", state); err != nil {
			return err
		}
		j.result.Cells[i] = got
		if i == declared {
			injected(got.Count > 0)
		}
	}
	return nil
}

// cell writes the outputs and metadata of one step.
func (j *notebook) cell(got *ipynb.CellResult, id string, o stepOutcome) error {
	var outputs []map[string]any
	if o.outputs != nil {
		var err error
		if outputs, err = o.outputs(got.Count); err != nil {
			return err
		}
	}
	if o.note != nil {
		if err := set(got, "markmill", o.note); err != nil {
			return err
		}
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

// set adds a member to the metadata of a cell.
func set(got *ipynb.CellResult, name string, v any) error {
	raw, err := codec.Marshal(v)
	got.Metadata = append(got.Metadata, ipynb.Setting{Name: name, Value: raw})
	return err
}

// papermillState is papermill's metadata of a cell. It has times where the run was asked for them; see timing.
type papermillState struct {
	Duration  *float64 `json:"duration"`
	End       *string  `json:"end_time"`
	Exception *bool    `json:"exception"`
	Start     *string  `json:"start_time"`
	Status    string   `json:"status"`
}

// pend marks a cell after the failed one as pending, unless it ran anyway.
func (s *papermillState) pend(count int) {
	if count == 0 && s.Status == "completed" {
		*s = papermillState{Status: "pending"}
	}
}

// marks adds cells at the top, and before the cell that failed, that say where the run stopped.
func (j *notebook) marks(at, count int) {
	const style = `style="color:red; font-family:Helvetica Neue, Helvetica, Arial, sans-serif; font-size:2em;"`
	j.failed = true
	where := fmt.Sprintf("In [%d]", count)
	if count == 0 {
		where = "this cell"
	}
	mark := func(before int, id, text string) ipynb.AddedCell {
		return ipynb.AddedCell{Before: before, ID: id, Markdown: true, Tags: []string{"papermill-error-cell-tag"},
			Source: text}
	}
	top := mark(0, errorTop,
		fmt.Sprintf(`<span %s>The run stopped with an error at <a href="#papermill-error-cell">%s</a>.</span>`,
			style, where))
	j.result.Added = slices.Insert(j.result.Added, 0, top)
	j.result.Added = append(j.result.Added, mark(at, "papermill-error-cell",
		fmt.Sprintf(`<span id="papermill-error-cell" %s>The run stopped here:</span>`, style)))
}

// recordedValues returns the given values from the record. Secrets are masked.
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

// inject adds the cell of injected parameters, and reports whether there is one. It adds none if the language cannot
// express a value; the metadata have them all.
func (j *notebook) inject(count int) bool {
	if len(j.given) == 0 {
		return false
	}
	text, err := inject.Cell(cmp.Or(j.nb.DefaultLanguage, j.file.Language()), j.given, false)
	if err != nil {
		return false
	}
	at := j.parametersAt()
	cell := ipynb.AddedCell{Before: at + 1, ID: "injected-parameters", Source: text,
		Tags:       []string{notebooks.TagInjected},
		CellResult: ipynb.CellResult{Count: count, Outputs: codec.Raw("[]"), Hidden: j.report}}
	if count > 0 && set(&cell.CellResult, "papermill", papermillState{Status: "completed",
		Exception: new(false)}) != nil {
		return false
	}
	j.result.Added = append(j.result.Added, cell)
	return true
}

// metadata writes the manifest, and what papermill notes of a notebook.
func (j *notebook) metadata() error {
	given := map[string]codec.Raw{}
	for _, p := range j.params {
		if p.Given {
			given[p.Name] = result.ShownValue(p, nil)
		}
	}
	var exception *bool
	if j.failed {
		exception = new(true)
	}
	var when papermillState
	if j.timing != (timing{}) {
		when.time(j.timing)
	}
	papermill, err := codec.Marshal(map[string]any{
		"default_parameters": struct{}{}, "duration": when.Duration, "end_time": when.End,
		"environment_variables": struct{}{},
		"exception":             exception,
		"input_path":            j.input, "output_path": j.output, "parameters": given, "start_time": when.Start,
		"version": "markmill",
	})
	if err != nil {
		return err
	}
	regions := j.listed
	if regions == nil {
		regions = []notebooks.ManifestRegion{}
	}
	m := j.manifest
	m.Source, m.Regions, m.ReportMode, m.Verdict = region.DigestOf(j.file.Source), regions, j.report, ""
	manifest, err := ipynb.ManifestSetting(m)
	j.result.Metadata = append([]ipynb.Setting{manifest, {Name: "papermill", Value: papermill}}, j.widgets...)
	return err
}

// OutputPath shortens an absolute path or an address of OUTPUT, so that nothing of this machine appears in the
// notebook: a path within the repository becomes relative, any other its base name. "" gives nil; repository is ""
// outside of one.
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

// errorTop is the id of the cell at the top that reports a failed step.
const errorTop = "papermill-error-top"

// Check returns an error if a run of a notebook cannot leave a Jupyter notebook.
func Check(nb *notebooks.Notebook) error {
	_, err := newNotebook(nb)
	return err
}

// FromText converts a notebook in a text form to Jupyter's, and finds the steps among its cells.
func FromText(nb *notebooks.Notebook) (*ipynb.Notebook, map[int]*notebooks.Step, error) {
	doc, err := convert.ReadRun(nb)
	if err != nil {
		return nil, nil, err
	}
	source, _, err := doc.To(notebooks.FormJupyter, "")
	if err != nil {
		return nil, nil, err
	}
	file, err := ipynb.Parse(nb.Name, source)
	if err != nil {
		return nil, nil, err
	}
	places, n := map[int]*notebooks.Step{}, 0
	for i := range file.Cells {
		c := &file.Cells[i]
		if c.Type != "code" || c.Declares() {
			continue
		}
		if n < len(nb.Steps) {
			places[i] = nb.Steps[n]
		}
		n++
	}
	if n != len(nb.Steps) {
		return nil, nil, fmt.Errorf("%s: its %d steps are %d in Jupyter's form", nb.Name, len(nb.Steps), n)
	}
	return file, places, nil
}
