package render

import (
	"fmt"
	"io/fs"
	"slices"
	"sort"

	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/notebooks/markdown"
	"markmill/notebooks/region"
	"markmill/render/jupyter"
	"markmill/render/result"
	"markmill/render/safe"
	"markmill/runs"
)

// Output renders an output notebook. Its name decides the form: Markdown has a region after every step that ran or
// was skipped for a reason, and a manifest. files is the run directory. The result depends on nothing but the
// arguments.
func Output(name string, nb *notebooks.Notebook, run *runs.Run, files fs.FS) ([]byte, error) {
	return output(name, nb, run, files, nil)
}

// output is Output for the attempt that is picked in a comparison; nil for other runs.
func output(name string, nb *notebooks.Notebook, run *runs.Run, files fs.FS, lanes *notebooks.ManifestLanes) ([]byte,
	error) {
	if notebooks.IsJupyterName(name) {
		return jupyter.Output(name, nb, run, files)
	}
	own := nb
	nb, err := AsMarkdown(own)
	if err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	run = withoutBlocks(Shown(run), own, nb)
	names := safe.NewNames(run.Started.Paths)
	regions, err := parameterRegions(nb, run.Contract.Parameters, names)
	if err != nil {
		return nil, err
	}
	m := result.Manifest(own, run)
	if m.Lanes = lanes; lanes == nil {
		m.Signature = result.SignatureOf(name, run)
	}
	steps, err := stepRegions(nb, run, &m, files, names)
	if err != nil {
		return nil, err
	}
	verdict := region.Region{Verdict: true, Body: []byte(result.VerdictMarkdown(&m, own.Front.Headline))}
	return region.Splice(nb.Source, append(append(regions, verdict), steps...), m), nil
}

// Picked renders the output notebook of the attempt that is picked in a comparison, in Markdown.
func Picked(name string, run *runs.Run, source []byte, files fs.FS, lanes *notebooks.ManifestLanes) ([]byte, error) {
	nb, err := Recorded(run, source)
	if err != nil {
		return nil, err
	}
	return output(name, nb, run, files, lanes)
}

// NonePicked renders the output notebook of a comparison of which no attempt is picked: its only region is the verdict.
// some is one of its runs.
func NonePicked(some *runs.Run, source []byte, status runs.Status, lanes *notebooks.ManifestLanes) ([]byte, error) {
	nb, err := Recorded(some, source)
	if err != nil {
		return nil, err
	}
	if nb, err = AsMarkdown(nb); err != nil {
		return nil, err
	}
	m := notebooks.Manifest{Format: notebooks.ManifestFormat, SourcePath: some.Started.SourcePath,
		Status: string(status), Parameters: []notebooks.ManifestParam{}, Lanes: lanes}
	verdict := region.Region{Verdict: true, Body: []byte(result.VerdictMarkdown(&m, nil))}
	return region.Splice(nb.Source, []region.Region{verdict}, m), nil
}

// Recorded parses the source of a run, in the language that the run detected.
func Recorded(run *runs.Run, source []byte) (*notebooks.Notebook, error) {
	nb, err := forms.Parse(run.Started.Notebook, source)
	if err == nil {
		markdown.SetDefaultLanguage(nb, run.Plan.Language)
	}
	return nb, err
}

// Again renders an output notebook from a record: the source that ran and the run directory.
func Again(name string, run *runs.Run, source []byte, files fs.FS) ([]byte, error) {
	nb, err := Recorded(run, source)
	if err != nil {
		return nil, err
	}
	return Output(name, nb, run, files)
}

// RunOutput returns an output notebook of a run by name: the file in the run directory, or rendered again if the
// directory does not keep it.
func RunOutput(name string, run *runs.Run, source []byte, files fs.FS) ([]byte, error) {
	if run.Left(name) == nil {
		return fs.ReadFile(files, name)
	}
	return Again(name, run, source, files)
}

// withoutBlocks removes the steps of a run that are parameter blocks in Markdown.
func withoutBlocks(run *runs.Run, own, markdown *notebooks.Notebook) *runs.Run {
	if len(own.Steps) == len(markdown.Steps) {
		return run
	}
	run = new(*run)
	run.Steps = slices.DeleteFunc(slices.Clone(run.Steps), func(s runs.StepRecord) bool {
		return own.Step(s.Planned.ID) != nil && markdown.Step(s.Planned.ID) == nil
	})
	return run
}

// stepRegions returns the regions of the steps, in the order of the notebook.
func stepRegions(nb *notebooks.Notebook, run *runs.Run, m *notebooks.Manifest, files fs.FS,
	names safe.Names) ([]region.Region, error) {
	limit := outputBytes
	if nb.Front.MaxOutput > 0 {
		limit = int(nb.Front.MaxOutput)
	}
	pics, book := pictures(run), safe.NewRuleBook(nb)
	var regions []region.Region
	for i, rec := range run.Steps {
		step := nb.Step(rec.Planned.ID)
		if step == nil {
			return nil, fmt.Errorf("render: the journal has a step %q that the notebook has not", rec.Planned.ID)
		}
		if !result.Reached(rec) {
			continue
		}
		rules, err := book.Of(step)
		if err != nil {
			return nil, fmt.Errorf("render: step %q: %w", step.ID, err)
		}
		r := stepRegion{files: files, rec: rec, clean: &safe.Cleaner{Names: names, Rules: rules},
			limit: limit, left: limit,
			output: nb.OutputOf(step)}
		for _, b := range m.Blockers {
			if b.Step == step.ID && b.Rule != "" && b.Rule != notebooks.TagNoChange {
				r.broke = append(r.broke, b)
			}
		}
		if err := r.write(pics[i]); err != nil {
			return nil, fmt.Errorf("render: %w", err)
		}
		regions = append(regions, region.Region{ID: string(step.ID), At: step.Fence.End, Body: r.Bytes()})
	}
	sort.SliceStable(regions, func(i, j int) bool { return regions[i].At < regions[j].At })
	return regions, nil
}

// Shown returns a run with its results as Jupyter shows them at the end: an update replaces the earlier results with
// its display id, and is not shown itself. The argument is not changed.
func Shown(run *runs.Run) *runs.Run {
	last := map[string]runs.DisplayData{}
	for _, s := range run.Steps {
		if s.Finished == nil {
			continue
		}
		for _, d := range s.Finished.Displays {
			if d.DisplayID != "" {
				last[d.DisplayID] = d
			}
		}
	}
	if len(last) == 0 {
		return run
	}
	run = new(*run)
	run.Steps = slices.Clone(run.Steps)
	for i := range run.Steps {
		f := run.Steps[i].Finished
		if f == nil || len(f.Displays) == 0 {
			continue
		}
		f = new(*f)
		f.Displays = slices.DeleteFunc(slices.Clone(f.Displays), func(d runs.DisplayData) bool { return d.Update })
		for j, d := range f.Displays {
			if d.DisplayID != "" {
				f.Displays[j] = last[d.DisplayID]
			}
		}
		run.Steps[i].Finished = f
	}
	return run
}
