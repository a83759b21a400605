package retest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"markmill/cmd/internal/files"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/forms"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/merge"
	"markmill/notebooks/region"
	"markmill/render"
	"markmill/render/compare"
	"markmill/render/plain"
	"markmill/render/safe"
	"markmill/runs"
)

// stored is an output as a file holds it: of a run of Markmill or, in a Jupyter notebook, of another program.
type stored struct {
	raw      []byte
	manifest *notebooks.Manifest // nil when another program saved the outputs
	text     region.Stripped     // of Markdown
	jupyter  *ipynb.Notebook     // nil of Markdown
	cells    []ipynb.StepCell
}

// read reads a file: its source, and the output that it holds; nil without one.
func (t *tester) read(path string) (source []byte, out *stored, err error) {
	raw, err := files.Notebook(path)
	if err != nil {
		return nil, nil, err
	}
	if files.IsJupyter(path, raw) {
		return readJupyter(path, raw, len(t.Request.Given) > 0)
	}
	if files.IsScript(path, raw) { // it holds no outputs
		return raw, nil, nil
	}
	s := region.Strip(slashed(path), raw)
	if len(s.Problems) > 0 {
		return nil, nil, s.Problems
	}
	if s.Manifest == nil || s.Manifest.Status == notebooks.StatusPrepared {
		return s.Source, nil, nil
	}
	return s.Source, &stored{raw: raw, manifest: s.Manifest, text: s}, nil
}

func readJupyter(path string, raw []byte, given bool) (source []byte, out *stored, err error) {
	nb, err := files.Jupyter(path, raw) // a run and an update use nbformat 4
	if err != nil {
		return nil, nil, err
	}
	m := nb.Manifest()
	if m != nil && (m.Status == notebooks.StatusPrepared || nb.Rerun()) {
		m = nil
	}
	given = given || m != nil && len(givenNames(nb)) > 0 // the values of that run are given again
	source = ipynb.Source(nb, given)
	out = &stored{raw: raw, manifest: m, jupyter: nb}
	if out.cells, err = nb.StepCells(given); err != nil {
		return nil, nil, err
	}
	ran := func(c ipynb.StepCell) bool { return c.Cell.Count.Given() || len(c.Cell.Outputs) > 0 }
	if m == nil && !slices.ContainsFunc(out.cells, ran) {
		return source, nil, nil
	}
	if m != nil {
		// Cells that were edited since are found by the digest of the source, as in Markdown. Outputs that were edited
		// are those of no run.
		bad := slices.DeleteFunc(nb.Damage(), func(e *notebooks.Error) bool {
			return !slices.ContainsFunc(out.cells, func(c ipynb.StepCell) bool { return c.Step.ID == e.Step })
		})
		if len(bad) > 0 {
			return nil, nil, bad
		}
	}
	return source, out, nil
}

// foreign reports whether another program than Markmill saved the outputs.
func (s *stored) foreign() bool { return s.manifest == nil }

// merged reports whether a merge put the output together from those of two runs.
func (s *stored) merged() bool { return s.manifest != nil && s.manifest.Status == merge.Stale }

// isOf reports whether it is the output of a source, as far as that is known. The output of a script is that of the
// Markdown which was made from it.
func (s *stored) isOf(path string, source []byte) bool {
	return s.manifest == nil || IsOf(s.manifest, path, source)
}

// IsOf reports whether a manifest is that of an output of a source.
func IsOf(m *notebooks.Manifest, path string, source []byte) bool {
	if files.IsScript(path, source) {
		nb, err := forms.Parse(slashed(path), source)
		if err != nil {
			return false
		}
		if nb, err = render.Script(nb); err != nil {
			return false
		}
		source = nb.Source
	}
	return m.Source == string(runs.DigestOf(source))
}

// given are the names of the values that the run was given; listed is false where the output does not list them.
func (s *stored) given() (names []string, listed bool) {
	if s.jupyter != nil {
		return givenNames(s.jupyter), true
	}
	return s.text.Given()
}

// givenNames are the parameters that a run was given, as papermill notes them in a Jupyter notebook.
func givenNames(nb *ipynb.Notebook) []string {
	var values map[string]codec.Raw
	if codec.UnmarshalForeign(papermillNote(nb, "parameters"), &values) != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(values))
}

// papermillNote is a member of the metadata that papermill writes; nil without it.
func papermillNote(nb *ipynb.Notebook, name string) codec.Raw {
	var meta struct {
		Papermill map[string]codec.Raw `json:"papermill"`
	}
	if !nb.Metadata.Given() || codec.UnmarshalForeign(nb.Metadata.Raw, &meta) != nil {
		return nil
	}
	return meta.Papermill[name]
}

// compared is the output in the form that is compared. paths are those of the run that it is compared with.
func (s *stored) compared(paths []runs.PathName) compare.Output {
	if s.jupyter == nil {
		return compare.Markdown(s.text, render.ParametersRegion)
	}
	return compare.Jupyter(s.jupyter, s.cells,
		compare.JupyterOptions{Foreign: s.foreign(), Paths: checkoutPaths(paths)})
}

// checkoutPaths replaces paths by names, with one name for the worktree and the checkout: another program ran the
// notebook in the checkout, and this run in the worktree.
func checkoutPaths(paths []runs.PathName) func(string) string {
	named := safe.NewNames(paths).Replace
	return func(text string) string { return strings.ReplaceAll(named(text), "<source>", "<worktree>") }
}

// regionFrame is the number of lines of a region besides its body: an empty one, its marker, an empty one, its end.
const regionFrame = 4

// line maps a line of the source to the output notebook.
func (s *stored) line(line int) int {
	if s.jupyter != nil {
		for _, c := range s.cells {
			if c.Step.Line == line {
				return c.Line
			}
		}
		return line
	}
	regions := s.text.Regions
	if v := s.text.Verdict; v != nil {
		if v.Line == 1 { // without an empty line before it
			line--
		}
		regions = append([]region.FoundRegion{*v}, regions...)
	}
	for _, r := range regions {
		if r.Line-1 > line {
			break
		}
		line += bytes.Count(r.Body, []byte{'\n'}) + regionFrame
	}
	return line
}

// Differences compares an output notebook with what a run of nb would write in its place: by steps where that is
// possible, else by lines. diff is for people; parts names what differs, such as "its source" or "step fit".
func Differences(name string, want, got []byte, nb *notebooks.Notebook) (diff string, parts []string) {
	var b strings.Builder
	differs := func(part, head, from, to string, was, now []string) {
		if d := compare.Unified(from, to, was, now); d != "" {
			parts = append(parts, part)
			b.WriteString(head + d)
		}
	}
	if was, now, ok := outputSides(name, want, got); ok {
		differs("its source", "", name+" (source)", nb.Name, textLines(was.source), textLines(now.source))
		differs("its parameters", "", name+" (parameters)", "this run (parameters)", was.given, now.given)
		lines := map[string]int{}
		for _, s := range nb.Steps {
			lines[string(s.ID)] = s.Line
		}
		for _, each := range compare.Pair(was.output, now.output) {
			part, head := "step "+each.ID, fmt.Sprintf("%s: step %q\n", place(nb.Name, lines[each.ID]), each.ID)
			if each.ID == render.ParametersRegion {
				part, head = "its parameters", nb.Name+": the parameters that were given\n"
			}
			differs(part, head, name+" ("+each.ID+")", "this run ("+each.ID+")", each.Was, each.Now)
		}
	}
	if len(parts) == 0 { // Markmill's own marks, line ends, a manifest
		parts = append(parts, "lines outside of the steps' outputs")
		b.WriteString(compare.Unified(name, "this run", textLines(want), textLines(got)))
	}
	return b.String(), parts
}

// outputSide is an output notebook taken apart.
type outputSide struct {
	source []byte
	given  []string // of a Jupyter notebook: the cell of injected parameters; in Markdown they are a region
	output compare.Output
}

// outputSides takes both apart; false where want is no undamaged output notebook.
func outputSides(name string, want, got []byte) (was, now outputSide, ok bool) {
	if !files.IsJupyter(name, got) {
		a, b := region.Strip(name, want), region.Strip(name, got)
		return outputSide{source: a.Source, output: compare.Markdown(a, "")},
			outputSide{source: b.Source, output: compare.Markdown(b, "")}, len(a.Problems) == 0
	}
	for i, raw := range [][]byte{want, got} {
		side := []*outputSide{&was, &now}[i]
		file, err := ipynb.Parse(name, raw)
		if err != nil {
			return was, now, false
		}
		cells, err := file.StepCells(false)
		if err != nil {
			return was, now, false
		}
		side.source, side.output = ipynb.Source(file, false), compare.Jupyter(file, cells, compare.JupyterOptions{})
		for _, c := range file.Cells {
			if c.Tagged(notebooks.TagInjected) {
				side.given = append(side.given, textLines([]byte(c.Source))...)
			}
		}
	}
	return was, now, true
}

// textLines are the lines of a text with control characters made visible. The end of a line that is not LF is part of
// the line.
func textLines(text []byte) []string {
	var out []string
	for line := range strings.Lines(string(text)) {
		body, ended := strings.CutSuffix(line, "\n")
		body = plain.Escape(body)
		if !ended {
			body += " (no newline at the end)"
		}
		out = append(out, body)
	}
	return out
}
