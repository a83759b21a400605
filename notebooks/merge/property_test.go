package merge

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/region"
)

// cellOf is a step of a notebook that is drawn.
type cellOf struct {
	id    string
	lines []string
	prose []string // that stands before it
}

// drawn is a notebook that is drawn, which is written in one form or the other.
type drawn []cellOf

var words = []string{"alpha", "beta", "gamma", "delta", "eps", "zeta", "", "x = 1"}

func drawLines(t *rapid.T, label string) []string {
	return rapid.SliceOfN(rapid.SampledFrom(words), 0, 5).Draw(t, label)
}

func drawCell(t *rapid.T, i int) cellOf {
	c := cellOf{lines: drawLines(t, "lines"), prose: drawLines(t, "prose")}
	if rapid.Bool().Draw(t, "named") {
		c.id = fmt.Sprintf("s%d", i)
	}
	return c
}

func drawNotebook(t *rapid.T) drawn {
	var out drawn
	for i := range rapid.IntRange(0, 6).Draw(t, "cells") {
		out = append(out, drawCell(t, i))
	}
	return out
}

// drawDistinct draws a notebook of unique lines, which can be tracked, without empty steps.
func drawDistinct(t *rapid.T) drawn {
	d := drawNotebook(t)
	n := 0
	for i := range d {
		d[i].lines = append(d[i].lines, "")
		d[i].prose = append(d[i].prose, "")
		for _, lines := range [][]string{d[i].lines, d[i].prose} {
			for k := range lines {
				n++
				lines[k] = fmt.Sprintf("line %d of the base: %d", n, n*n)
			}
		}
	}
	return d
}

// changed returns the notebook after some edits. A non-empty tag makes new lines unique to this side.
func (d drawn) changed(t *rapid.T, tag string) drawn {
	out := slices.Clone(d)
	line := func() string { return tag + rapid.SampledFrom(words).Draw(t, "word") }
	edit := func(lines []string) []string {
		lines = slices.Clone(lines)
		at := rapid.IntRange(0, len(lines)).Draw(t, "line")
		if at == len(lines) || rapid.Bool().Draw(t, "insert") {
			return slices.Insert(lines, at, line())
		}
		if rapid.Bool().Draw(t, "delete") {
			return slices.Delete(lines, at, at+1)
		}
		lines[at] = line()
		return lines
	}
	for range rapid.IntRange(0, 4).Draw(t, "edits") {
		i := rapid.IntRange(0, len(out)).Draw(t, "place")
		if i == len(out) {
			c := drawCell(t, len(out)+rapid.IntRange(10, 12).Draw(t, "id"))
			c.lines = append(c.lines, line())
			out = append(out, c)
			continue
		}
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			out[i].lines = edit(out[i].lines)
		case 1:
			out[i].prose = edit(out[i].prose)
		case 2:
			out = slices.Delete(out, i, i+1)
		case 3:
			c := out[i]
			out = slices.Delete(out, i, i+1)
			out = slices.Insert(out, rapid.IntRange(0, len(out)).Draw(t, "to"), c)
		case 4:
			c := drawCell(t, i+20)
			c.lines = append(c.lines, line())
			out = slices.Insert(out, i, c)
		}
	}
	return out
}

func (d drawn) markdown() string {
	var b strings.Builder
	for _, c := range d {
		for _, l := range c.prose {
			b.WriteString(l + "\n")
		}
		b.WriteString("\n```bash {")
		if c.id != "" {
			b.WriteString("#" + c.id)
		} else {
			b.WriteString(".run")
		}
		b.WriteString("}\n")
		for _, l := range c.lines {
			b.WriteString(l + "\n")
		}
		b.WriteString("```\n")
	}
	return b.String()
}

func (d drawn) jupyter() string {
	var cells []string
	for _, c := range d {
		for _, part := range [][]string{c.prose, c.lines} {
			cells = append(cells, fmt.Sprintf("i%s%d|%s|%s", c.id, len(cells),
				strings.Join(part, ";"), strings.Join(part, "")))
		}
	}
	return jsonOf(5, meta, cells...)
}

// forms are the two ways to write what is drawn.
var forms = map[string]func(drawn) string{"markdown": drawn.markdown, "jupyter": drawn.jupyter}

func mergeOf(t *rapid.T, form, base, ours, theirs string, opt Options) *Result {
	opt.Jupyter = form == "jupyter"
	got, err := notebooksBySteps([]byte(base), []byte(ours), []byte(theirs), opt)
	if err != nil {
		t.Fatalf("%v\n%s\n%s\n%s", err, base, ours, theirs)
	}
	return got
}

func eachForm(t *testing.T, check func(t *rapid.T, form string, write func(drawn) string)) {
	for form, write := range forms {
		t.Run(form, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { check(t, form, write) })
		})
	}
}

// TestOneSide is merge(base, a, base) = merge(base, base, a) = merge(base, a, a) = a, byte for byte, without the short
// cut for it.
func TestOneSide(t *testing.T) {
	eachForm(t, func(t *rapid.T, form string, write func(drawn) string) {
		d := drawNotebook(t)
		base, a := write(d), write(d.changed(t, ""))
		for _, sides := range [][2]string{{a, base}, {base, a}, {a, a}} {
			got := mergeOf(t, form, base, sides[0], sides[1], Options{})
			if string(got.Bytes) != a || len(got.Conflicts) > 0 {
				t.Fatalf("base:\n%s\nours:\n%s\ntheirs:\n%s\ngot:\n%s\n%v", base, sides[0],
					sides[1], got.Bytes, got.Conflicts)
			}
		}
	})
}

// textLines counts the lines of a notebook.
func textLines(t *rapid.T, form, text string) map[string]int {
	out := map[string]int{}
	if form == "markdown" {
		for _, l := range strings.Split(text, "\n") {
			out[l]++
		}
		return out
	}
	nb, err := ipynb.Parse("a.ipynb", []byte(text))
	if err != nil || !codec.Raw(text).IsValid() {
		t.Fatalf("the result is no notebook: %v\n%s", err, text)
	}
	for _, c := range nb.Cells {
		for _, l := range strings.Split(c.Source, "\n") {
			out[l]++
		}
	}
	return out
}

// TestNoLineIsLost: every line written by only one side is in the result, with or without conflicts.
func TestNoLineIsLost(t *testing.T) {
	eachForm(t, func(t *rapid.T, form string, write func(drawn) string) {
		d := drawNotebook(t)
		base, ours, theirs := write(d), write(d.changed(t, "o-")), write(d.changed(t, "t-"))
		style := rapid.SampledFrom([]Style{Plain, Diff3, ZDiff3}).Draw(t, "style")
		got := mergeOf(t, form, base, ours, theirs, Options{Style: style})
		lines := textLines(t, form, string(got.Bytes))
		for side, prefix := range map[string]string{ours: "o-", theirs: "t-"} {
			for l, n := range textLines(t, form, side) {
				if strings.HasPrefix(l, prefix) && lines[l] < n {
					t.Fatalf("%q is lost\nbase:\n%s\nours:\n%s\ntheirs:\n%s\ngot:\n%s",
						l, base, ours, theirs, got.Bytes)
				}
			}
		}
		inBase := textLines(t, form, base)
		for l, n := range lines { // and nothing is invented
			if strings.HasPrefix(l, "o-") && n > textLines(t, form, ours)[l] ||
				strings.HasPrefix(l, "t-") && n > textLines(t, form, theirs)[l] {
				if len(got.Conflicts) == 0 {
					t.Fatalf("%q is there %d times\nbase:\n%s\nours:\n%s\ntheirs:\n%s\ngot:\n%s",
						l, n, base, ours, theirs, got.Bytes)
				}
			}
			if !isMark(l) && inBase[l] == 0 && textLines(t, form, ours)[l] == 0 && textLines(t, form, theirs)[l] == 0 &&
				!strings.HasPrefix(l, "```bash") {
				t.Fatalf("%q is from nowhere\n%s", l, got.Bytes)
			}
		}
		if marks := strings.Count(string(got.Bytes), "<<<<<<< ours"); marks != len(got.Conflicts) {
			t.Fatalf("%d marks and %d conflicts\n%s", marks, len(got.Conflicts), got.Bytes)
		}
	})
}

func isMark(line string) bool {
	return strings.HasPrefix(line, "<<<<<<< ") || strings.HasPrefix(line, "||||||| ") || line == "=======" ||
		strings.HasPrefix(line, ">>>>>>> ")
}

// TestLinesOfTheBaseStay: a line present in all three notebooks is in the result.
func TestLinesOfTheBaseStay(t *testing.T) {
	eachForm(t, func(t *rapid.T, form string, write func(drawn) string) {
		d := drawDistinct(t)
		base, ours, theirs := write(d), write(d.changed(t, "o-")), write(d.changed(t, "t-"))
		got := textLines(t, form, string(mergeOf(t, form, base, ours, theirs, Options{}).Bytes))
		o, h := textLines(t, form, ours), textLines(t, form, theirs)
		for l := range textLines(t, form, base) {
			if strings.Contains(l, "of the base: ") && o[l] > 0 && h[l] > 0 && got[l] == 0 {
				t.Fatalf("%q is lost\nbase:\n%s\nours:\n%s\ntheirs:\n%s", l, base, ours, theirs)
			}
		}
	})
}

// TestEqualChangesMergeOnce: equal changes of both sides appear once, along with changes elsewhere.
func TestEqualChangesMergeOnce(t *testing.T) {
	eachForm(t, func(t *rapid.T, form string, write func(drawn) string) {
		d := drawDistinct(t)
		both := d.changed(t, "b-")
		end := func(d drawn, line string) drawn {
			return append(slices.Clone(d), cellOf{id: "end", lines: []string{"the", "end", line},
				prose: []string{"Now", "comes", "the last one"}})
		}
		base, ours, theirs := write(end(d, "here")), write(end(both, "here")), write(end(both, "t-end"))
		got := mergeOf(t, form, base, ours, theirs, Options{})
		want, have := textLines(t, form, theirs), textLines(t, form, string(got.Bytes))
		delete(want, "")
		delete(have, "")
		if len(got.Conflicts) > 0 || !maps.Equal(have, want) {
			t.Fatalf("%v\nbase:\n%s\nours:\n%s\ntheirs:\n%s\ngot:\n%s", got.Conflicts, base, ours, theirs, got.Bytes)
		}
	})
}

// TestSidesSwapped: the result is the same up to the order within conflicts.
func TestSidesSwapped(t *testing.T) {
	eachForm(t, func(t *rapid.T, form string, write func(drawn) string) {
		d := drawNotebook(t)
		base, ours, theirs := write(d), write(d.changed(t, "o-")), write(d.changed(t, "t-"))
		one := mergeOf(t, form, base, ours, theirs, Options{Ours: "A", Theirs: "B"})
		two := mergeOf(t, form, base, theirs, ours, Options{Ours: "B", Theirs: "A"})
		if len(one.Conflicts) != len(two.Conflicts) {
			t.Fatalf("%v and %v", one.Conflicts, two.Conflicts)
		}
		a, b := sidesSorted(string(one.Bytes)), sidesSorted(string(two.Bytes))
		if a != b {
			t.Fatalf("base:\n%s\nours:\n%s\ntheirs:\n%s\none:\n%s\ntwo:\n%s", base, ours, theirs, a, b)
		}
	})
}

// sidesSorted puts the lines of each conflict in order, its marks too.
func sidesSorted(text string) string {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if !strings.Contains(lines[i], "<<<<<<<") {
			continue
		}
		end := i
		for !strings.Contains(lines[end], ">>>>>>>") {
			end++
		}
		for k := i; k <= end; k++ {
			lines[k] = strings.NewReplacer("<<<<<<< ", "", ">>>>>>> ", "", `"A"`, `"A\n"`, `"B"`,
				`"B\n"`).Replace(strings.TrimSuffix(lines[k], ","))
			lines[k] = strings.Replace(lines[k], `\n"`, `"`, 1)
		}
		slices.Sort(lines[i : end+1])
		i = end
	}
	return strings.Join(lines, "\n")
}

// FuzzMerge merges any bytes: no crash, Jupyter notebooks stay valid, and a line of one side is lost only if the other
// removed it.
func FuzzMerge(f *testing.F) {
	f.Add(plain, strings.Replace(plain, "fetch", "o", 1), strings.Replace(plain, "Intro", "t", 1), false)
	f.Add("---\na: 1\n---\n", "---\na: 2\nb: 3\n---\n", "---\na: 3\n---\n```sh {#a}\n", false)
	f.Add(jsonOf(5, meta, "a|x|1"), jsonOf(5, meta, "a|y|2", "b||"), jsonOf(4, "{}", "a|z|"), true)
	f.Fuzz(func(t *testing.T, base, ours, theirs string, jupyter bool) {
		opt := Options{Name: "a", Jupyter: jupyter}
		got, err := notebooksBySteps([]byte(base), []byte(ours), []byte(theirs), opt)
		if err != nil {
			got = Lines([]byte(base), []byte(ours), []byte(theirs), opt)
		} else if jupyter {
			if _, err := ipynb.Parse("a", got.Bytes); err != nil {
				t.Fatalf("%v\n%s", err, got.Bytes)
			}
		} else if s := region.Strip("a", got.Bytes); len(s.Problems) > 0 &&
			len(region.Strip("a", []byte(ours)).Regions) > 0 && len(got.Conflicts) == 0 {
			t.Fatalf("%v\n%s", s.Problems, got.Bytes)
		}
		if !jupyter || err != nil {
			have := map[string]bool{}
			for _, l := range strings.FieldsFunc(string(got.Bytes), lineEnd) {
				have[l] = true
			}
			if err != nil { // by line
				for _, l := range slices.Concat(strings.FieldsFunc(ours, lineEnd),
					strings.FieldsFunc(theirs, lineEnd)) {
					if !have[l] && !bytes.Contains([]byte(base), []byte(l)) {
						t.Fatalf("%q is lost:\n%s", l, got.Bytes)
					}
				}
			}
		}
	})
}

func lineEnd(r rune) bool { return r == '\n' }
