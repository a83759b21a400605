package retest

import (
	"fmt"
	"strings"

	"markmill/cmd/internal/files"
	"markmill/notebooks"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/region"
	"markmill/render"
	"markmill/render/compare"
	"markmill/render/plain"
)

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
