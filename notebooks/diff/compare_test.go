package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"markmill/notebooks/codec"
)

// patched rebuilds the cells of b from those of a and the comparison.
func patched(a []Cell, d *Diff) ([]string, error) {
	var out []string
	used := map[int]bool{}
	for _, ch := range d.Cells {
		if ch.A != nil {
			if used[ch.A.Place] {
				return nil, fmt.Errorf("cell %d is reported twice", ch.A.Place)
			}
			used[ch.A.Place] = true
		}
		switch {
		case ch.B == nil:
		case ch.A == nil:
			out = append(out, ch.New.Source)
		case ch.What == Split || ch.What == Joined: // compared with their parts
			out = append(out, ch.New.Source)
		default:
			out = append(out, ch.Source.apply(a[ch.A.Place].Source))
		}
	}
	if len(used) != len(a) {
		return nil, fmt.Errorf("%d of %d cells are reported", len(used), len(a))
	}
	return out, nil
}

// apply makes the new text of the old one.
func (t *Text) apply(old string) string {
	if t == nil {
		return old
	}
	lines := Lines(old)
	for _, h := range slices.Backward(t.Hunks) {
		lines = slices.Replace(lines, h.A-1, h.A-1+len(h.Old), h.New...)
	}
	return strings.Join(lines, "")
}

func document(cells []Cell) *Document { return &Document{Cells: cells} }

// TestDiffApplies: a diff applied to one side gives the other, a diff with itself is empty, and both directions have
// equal counts.
func TestDiffApplies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := cellList().Draw(t, "a")
		b := edited(t, a)
		for _, opt := range []Options{{}, {All: true}} {
			d := Compare(document(a), document(b), opt)
			got, err := patched(a, d)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, c := range b {
				want = append(want, c.Source)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("got %q, want %q", got, want)
			}
			back := Compare(document(b), document(a), opt)
			if mirror(d.Counts) != back.Counts || mirror(d.Prose) != back.Prose || d.Same != back.Same {
				t.Fatalf("%+v, and back %+v", d.Counts, back.Counts)
			}
			if own := Compare(document(a), document(a), opt); !own.Same ||
				len(own.Outputs)+len(own.Files)+len(own.Scraps) > 0 {
				t.Fatalf("a and itself differ: %+v", own.Counts)
			}
		}
	})
}

// TestTextApplies: the hunks turn the old text into the new one.
func TestTextApplies(t *testing.T) {
	line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "d"})
	rapid.Check(t, func(t *rapid.T) {
		a := strings.Join(rapid.SliceOf(line).Draw(t, "a"), "")
		b := strings.Join(rapid.SliceOf(line).Draw(t, "b"), "")
		text := compareText(a, b, nil)
		if got := text.apply(a); got != b {
			t.Fatalf("got %q, want %q", got, b)
		}
		if (text == nil) != (a == b) {
			t.Fatal("nil is not the same")
		}
	})
}

// TestWordsKeepTheLines: the segments of each line add up to it.
func TestWordsKeepTheLines(t *testing.T) {
	line := rapid.StringMatching(`[ab1_ =(é\t]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		ended := func(lines []string) []string {
			for i := range lines {
				lines[i] += "\n"
			}
			return lines
		}
		h := Hunk{Old: ended(rapid.SliceOfN(line, 1, 4).Draw(t, "old")),
			New: ended(rapid.SliceOfN(line, 1, 4).Draw(t, "new"))}
		old, new, _ := Words(h)
		for _, side := range []struct {
			want []string
			got  [][]Segment
		}{{h.Old, old}, {h.New, new}} {
			if len(side.got) != len(side.want) {
				t.Fatalf("%d lines became %d", len(side.want), len(side.got))
			}
			for i, words := range side.got {
				text := ""
				for _, w := range words {
					text += w.Text
				}
				if text != side.want[i] {
					t.Fatalf("%q became %q", side.want[i], text)
				}
			}
		}
	})
}

func TestWords(t *testing.T) {
	old, new, ok := Words(Hunk{Old: []string{"total = price * 2\n"}, New: []string{"total = price * 3 + tax\n"}})
	if !ok {
		t.Fatal("no words")
	}
	marks := func(lines [][]Segment) string {
		var b strings.Builder
		for _, words := range lines {
			for _, w := range words {
				if w.Changed {
					b.WriteString("[" + w.Text + "]")
				} else {
					b.WriteString(w.Text)
				}
			}
		}
		return b.String()
	}
	if got := marks(old) + marks(new); got != "total = price * [2]\ntotal = price * [3 + tax]\n" {
		t.Error(got)
	}
	if _, _, ok := Words(Hunk{Old: []string{"alpha beta\n"}, New: []string{"(1)\n"}}); ok {
		t.Error("words of two lines that share nothing were marked")
	}
	long := strings.Repeat("a b ", 1000) + "\n"
	if _, _, ok := Words(Hunk{Old: []string{long}, New: []string{"x" + long}}); ok {
		t.Error("a line of thousands of words was searched for words")
	}
}

func step(id string, change func(*Cell)) *Document {
	c := Cell{ID: id, Label: id, Kind: Code, Source: "x\n", Status: "pass"}
	change(&c)
	return document([]Cell{c})
}

// TestNoiseIsNotCompared: noise is ignored unless the options ask for it.
func TestNoiseIsNotCompared(t *testing.T) {
	for name, pair := range map[string][2]*Document{
		"execution count": {step("a", func(c *Cell) { c.Count = 1 }), step("a", func(c *Cell) { c.Count = 2 })},
		"time":            {step("a", func(c *Cell) { c.Took = 1 }), step("a", func(c *Cell) { c.Took = 2 })},
		"generated id": {step("", func(c *Cell) { c.ID, c.GeneratedID = "1", true }),
			step("", func(c *Cell) { c.ID, c.GeneratedID = "2", true })},
		"volatile metadata": {step("a", func(c *Cell) {}),
			step("a", func(c *Cell) {
				c.Options = []Field{{Name: "collapsed",
					Value: codec.Raw("true"), Volatile: true}}
			})},
		"address": {step("a", func(c *Cell) { c.Outputs = printed("<function f at 0x7f0011223344>\nok\n") }),
			step("a", func(c *Cell) { c.Outputs = printed("<function f at 0x7fa0aabbccdd>\nok\n") })},
		"volatile step": {step("a", func(c *Cell) { c.Tags, c.Outputs = []string{"volatile"}, printed("1\n") }),
			step("a", func(c *Cell) { c.Tags, c.Outputs = []string{"volatile"}, printed("2\n") })},
	} {
		t.Run(name, func(t *testing.T) {
			if d := Compare(pair[0], pair[1], Options{}); !d.Same {
				t.Errorf("different: %+v", d)
			}
			if d := Compare(pair[0], pair[1], Options{All: true}); d.Same {
				t.Error("the same with All")
			}
		})
	}
	// Text that only resembles noise is compared.
	a := step("a", func(c *Cell) { c.Outputs = printed("mask 0x7f0011223344\n") })
	b := step("a", func(c *Cell) { c.Outputs = printed("mask 0x7fa0aabbccdd\n") })
	if Compare(a, b, Options{}).Same {
		t.Error("a hexadecimal number was taken for an address")
	}
}

func printed(text string) []Output {
	return []Output{{Name: Stdout, Data: []Datum{{MIME: "text/plain", Text: text}}}}
}

// TestStreamPiecesAreJoined: Jupyter stores a stream in the pieces in which it arrived.
func TestStreamPiecesAreJoined(t *testing.T) {
	a := step("a", func(c *Cell) { c.Outputs = append(printed("one\ntw"), printed("o\n")...) })
	b := step("a", func(c *Cell) { c.Outputs = printed("one\ntwo\n") })
	if d := Compare(a, b, Options{All: true}); !d.Same {
		t.Errorf("%+v", d.Outputs)
	}
}

// TestScraps: numbers are compared as numbers.
func TestScraps(t *testing.T) {
	for _, c := range []struct {
		old, new, difference, relative string
		within                         bool
	}{
		{"100", "101", "1", "0.01", true},
		{"100", "102", "2", "0.02", false},
		{"100", "99", "-1", "-0.01", true},
		{"-100", "-101", "-1", "-0.01", true},
		{"0", "1", "1", "", false},
		{`"7"`, "7.07", "0.07", "0.01", true},
		{`"a"`, `"b"`, "", "", false},
		{`{"a":[100,2],"b":"x"}`, `{"a":[101,2],"b":"x"}`, "", "0.01", true},
		{`{"a":[100,2],"b":"x"}`, `{"a":[101,2],"b":"y"}`, "", "", false},
		{"null", "1", "", "", false},
		{"12345678901234567890123", "12345678901234567890124", "0", "0", true},
	} {
		a := step("a", func(s *Cell) { s.Scraps = []Scrap{{Name: "n", Type: "json", Value: codec.Raw(c.old)}} })
		b := step("a", func(s *Cell) { s.Scraps = []Scrap{{Name: "n", Type: "json", Value: codec.Raw(c.new)}} })
		d := Compare(a, b, Options{Tolerances: map[string]float64{"n": 0.01000001}})
		if len(d.Scraps) != 1 {
			t.Errorf("%s %s: %d changes", c.old, c.new, len(d.Scraps))
			continue
		}
		show := func(f *float64) string {
			if f == nil {
				return ""
			}
			return fmt.Sprintf("%.6g", *f)
		}
		s := d.Scraps[0]
		if show(s.Difference) != c.difference || show(s.Relative) != c.relative || s.Within != c.within ||
			d.Same != c.within {
			t.Errorf("%s %s: difference %s, relative %s, within %t, same %t", c.old, c.new,
				show(s.Difference), show(s.Relative),
				s.Within, d.Same)
		}
	}
}

// TestNewFailuresComeFirst: new failures come first, in any order of the notebook.
func TestNewFailuresComeFirst(t *testing.T) {
	side := func(status ...string) *Document {
		var cells []Cell
		for i, s := range status {
			c := Cell{ID: fmt.Sprint("s", i), Label: fmt.Sprint("s", i), Kind: Code,
				Source: fmt.Sprint("run ", i, "\n"),
				Status: s}
			if i > 1 {
				c.Tags = []string{"test"}
			}
			cells = append(cells, c)
		}
		return document(cells)
	}
	d := Compare(side("fail", "pass", "fail", "pass"), side("pass", "fail", "pass", "fail"), Options{})
	var got []string
	for _, r := range d.Results {
		got = append(got, r.Step+" "+string(r.Turned))
	}
	if want := "s3 red, s1 red, s2 green, s0 green"; strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
	if d := Compare(side("", ""), side("pass", "pass"), Options{}); len(d.Results) > 0 {
		t.Errorf("every step of a source is reported as not run: %+v", d.Results)
	}
	if d := Compare(side("pass", "pass", "pass"), side("pass", "pass"), Options{}); len(d.Results) != 1 ||
		!d.Results[0].Test {
		t.Errorf("a removed test is not reported: %+v", d.Results)
	}
}

// TestCountsFromText: it is a change when counts of tests that were reported are only printed, and none that an older
// output notebook does not say where its counts are from.
func TestCountsFromText(t *testing.T) {
	side := func(from string) *Document {
		return document([]Cell{{ID: "s", Kind: Code, Source: "run\n", Status: "pass", Tests: &Tests{Passed: 3,
			From: from}}})
	}
	for _, c := range []struct {
		was, now string
		differ   bool
	}{{"", "printed", false}, {"printed", "", false}, {"printed", "printed", false}, {"reported", "printed", true}} {
		if d := Compare(side(c.was), side(c.now), Options{}); len(d.Results) > 0 != c.differ {
			t.Errorf("%q, then %q: %+v", c.was, c.now, d.Results)
		}
	}
}

// TestPatchChange: shifted line numbers of hunks are not a change.
func TestPatchChange(t *testing.T) {
	patch := func(lines ...string) *Document {
		return step("a", func(c *Cell) { c.Files = []FilePatch{{Path: "f", Status: "modified", Lines: lines}} })
	}
	a := patch("@@ -1,2 +1,2 @@", " a", "-b", "+c")
	if d := Compare(a, patch("@@ -7,2 +8,2 @@", " a", "-b", "+c"), Options{}); !d.Same {
		t.Errorf("%+v", d.Files)
	}
	d := Compare(a, patch("@@ -1,2 +1,2 @@", " a", "-b", "+d"), Options{})
	if len(d.Files) != 1 || d.Files[0].Text == nil || d.Files[0].Text.Hunks[0].Old[0] != "+c\n" ||
		d.Files[0].Text.Hunks[0].New[0] != "+d\n" {
		t.Errorf("%+v", d.Files)
	}
}
