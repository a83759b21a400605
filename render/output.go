package render

import (
	"fmt"
	"io/fs"
	"slices"
	"sort"

	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/runs"
)

// Output returns the output notebook of a name, which says its form: in Markdown the source with a region after every
// step that ran or was skipped for a reason, and the manifest. files is the run directory. The result is a pure
// function of the four.
func Output(name string, nb *notebooks.Notebook, run *runs.Run, files fs.FS) ([]byte, error) {
	if notebooks.IsJupyterName(name) {
		return jupyterOutput(name, nb, run, files)
	}
	own := nb
	nb, err := asMarkdown(own)
	if err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	run = withoutBlocks(Shown(run), own, nb)
	names := newPathNames(run.Started.Paths)
	regions, err := parameterRegions(nb, run.Contract.Parameters, names)
	if err != nil {
		return nil, err
	}
	m := Manifest(own, run)
	m.Signature = signatureOf(name, run)
	steps, err := stepRegions(nb, run, &m, files, names)
	if err != nil {
		return nil, err
	}
	verdict := notebooks.Region{Verdict: true, Body: []byte(VerdictMarkdown(&m, own.Front.Headline))}
	return notebooks.Splice(nb.Source, append(append(regions, verdict), steps...), m), nil
}

// Recorded is the notebook of a run: its source, in the language that the run found.
func Recorded(run *runs.Run, source []byte) (*notebooks.Notebook, error) {
	nb, err := forms.Parse(run.Started.Notebook, source)
	if err == nil {
		nb.SetDefaultLanguage(run.Plan.Language)
	}
	return nb, err
}

// Again is Output of a run in its record, of the source that ran and the run directory.
func Again(name string, run *runs.Run, source []byte, files fs.FS) ([]byte, error) {
	nb, err := Recorded(run, source)
	if err != nil {
		return nil, err
	}
	return Output(name, nb, run, files)
}

// RunOutput returns an output notebook of a run by its name: as it stands in the run directory, or made Again where
// that does not keep it.
func RunOutput(name string, run *runs.Run, source []byte, files fs.FS) ([]byte, error) {
	if run.Left(name) == nil {
		return fs.ReadFile(files, name)
	}
	return Again(name, run, source, files)
}

// withoutBlocks is the run of a notebook without the steps that are blocks of parameters in Markdown.
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
func stepRegions(nb *notebooks.Notebook, run *runs.Run, m *notebooks.Manifest, files fs.FS, names pathNames) ([]notebooks.Region, error) {
	limit := outputBytes
	if nb.Front.MaxOutput > 0 {
		limit = int(nb.Front.MaxOutput)
	}
	steps := map[notebooks.StepID]*notebooks.Step{}
	for _, s := range nb.Steps {
		steps[s.ID] = s
	}
	pics, book := pictures(run), newRuleBook(nb)
	var regions []notebooks.Region
	for i, rec := range run.Steps {
		step := steps[rec.Planned.ID]
		if step == nil {
			return nil, fmt.Errorf("render: the journal has a step %q that the notebook has not", rec.Planned.ID)
		}
		if !reached(rec) {
			continue
		}
		rules, err := book.of(step)
		if err != nil {
			return nil, fmt.Errorf("render: step %q: %w", step.ID, err)
		}
		r := region{files: files, rec: rec, clean: &cleaner{names: names, rules: rules}, limit: limit, left: limit, output: nb.OutputOf(step)}
		for _, b := range m.Blockers {
			if b.Step == step.ID && b.Rule != "" && b.Rule != notebooks.TagNoChange {
				r.broke = append(r.broke, b)
			}
		}
		if err := r.write(pics[i]); err != nil {
			return nil, fmt.Errorf("render: %w", err)
		}
		regions = append(regions, notebooks.Region{ID: string(step.ID), At: step.Fence.End, Body: r.Bytes()})
	}
	sort.SliceStable(regions, func(i, j int) bool { return regions[i].At < regions[j].At })
	return regions, nil
}
