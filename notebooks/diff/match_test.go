package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// cellsOf reads "id: text" a cell; a generated id begins with %, no id is written as -; ; is a new line.
func cellsOf(lines ...string) []Cell {
	out := make([]Cell, len(lines))
	for i, l := range lines {
		id, text, _ := strings.Cut(l, ": ")
		c := Cell{Kind: Code, Source: strings.ReplaceAll(text, ";", "\n") + "\n", Label: fmt.Sprintf("cell-%d", i+1)}
		if id != "-" {
			c.ID, c.GeneratedID = strings.TrimPrefix(id, "%"), strings.HasPrefix(id, "%")
		}
		if c.ID != "" && !c.GeneratedID {
			c.Label = c.ID
		}
		out[i] = c
	}
	return out
}

const (
	load  = "import pandas as pd;frame = pd.read_csv(path);frame.head()"
	fit   = "model = LinearRegression();model.fit(x, y);score = model.score(x, y);print(score)"
	plot  = "fig, ax = plt.subplots();ax.plot(x, y);ax.set_title('fit')"
	clean = "frame = frame.dropna();frame['t'] = frame.t.astype(float)"
)

// TestCellChanges distinguishes the ways in which a cell can change.
func TestCellChanges(t *testing.T) {
	for name, c := range map[string]struct {
		a, b []Cell
		want string // of every cell of the result: label, what, and its flags
	}{
		"the same": {cellsOf("x: "+load, "y: "+fit), cellsOf("x: "+load, "y: "+fit), "x same, y same"},
		"edited":   {cellsOf("x: " + load), cellsOf("x: " + load + ";frame"), "x edited"},
		"added":    {cellsOf("x: " + load), cellsOf("x: "+load, "y: "+fit), "x same, y added"},
		"removed":  {cellsOf("x: "+load, "y: "+fit), cellsOf("y: " + fit), "x removed, y same"},
		"moved": {cellsOf("x: "+load, "y: "+fit, "z: "+plot),
			cellsOf("z: "+plot, "x: "+load, "y: "+fit), "z same moved, x same, y same"},
		"moved without ids": {cellsOf("-: "+load, "-: "+fit, "-: "+plot),
			cellsOf("-: "+plot, "-: "+load, "-: "+fit), "cell-1 same moved, cell-2 same, cell-3 same"},
		"moved and edited": {cellsOf("-: "+load, "-: "+fit, "-: "+clean, "-: "+plot),
			cellsOf("-: "+fit+";show()", "-: "+load, "-: "+clean, "-: "+plot),
			"cell-1 edited, cell-2 same moved, cell-3 same, cell-4 same"},
		"renamed": {cellsOf("x: "+load, "y: "+fit), cellsOf("x2: "+load, "y: "+fit),
			"x2 same renamed, y same"},
		"renamed and edited": {cellsOf("x: "+load, "y: "+fit), cellsOf("x2: "+load+";1", "y: "+fit),
			"x2 edited renamed, y same"},
		"replaced": {cellsOf("x: "+load, "y: "+fit), cellsOf("x: "+plot, "y: "+fit),
			"x replaced, y same"},
		"ids regenerated": {cellsOf("%a: "+load, "%b: "+fit), cellsOf("%c: "+load, "%d: "+fit),
			"cell-1 same, cell-2 same"},
		"ids regenerated, one edited": {cellsOf("%a: "+load, "%b: "+fit), cellsOf("%c: "+load, "%d: "+fit+";1"),
			"cell-1 same, cell-2 edited"},
		"ids by place, shifted": {cellsOf("%0: "+load, "%1: "+fit), cellsOf("%0: "+plot, "%1: "+load, "%2: "+fit),
			"cell-1 added, cell-2 same, cell-3 same"},
		"generated id, new text": {cellsOf("%a: "+load, "%b: "+fit), cellsOf("%a: "+plot, "%b: "+fit),
			"cell-1 replaced, cell-2 same"},
		"id by place and similar text": {cellsOf("-: x = 1", "-: y = 2"), cellsOf("-: x = 1", "-: y = 3"),
			"cell-1 same, cell-2 edited"},
		"nothing in common": {cellsOf("-: " + load), cellsOf("-: " + plot), "cell-1 added, cell-1 removed"},
		"ids swapped by their author": {cellsOf("x: "+load, "y: "+fit), cellsOf("y: "+load, "x: "+fit),
			"y replaced, x replaced moved"},
		"split": {cellsOf("x: "+load+";"+fit, "z: "+plot), cellsOf("x: "+load, "y: "+fit, "z: "+plot),
			"x split, y part, z same"},
		"split in three": {cellsOf("-: " + load + ";" + fit + ";" + clean),
			cellsOf("-: "+load, "-: "+fit, "-: "+clean), "cell-1 part, cell-2 split, cell-3 part"},
		"joined": {cellsOf("x: "+load, "y: "+fit, "z: "+plot), cellsOf("x: "+load+";"+fit, "z: "+plot),
			"x joined, y part, z same"},
		"twins": {cellsOf("-: "+load, "-: "+load, "-: "+fit),
			cellsOf("-: "+load, "-: "+fit, "-: "+load), "cell-1 same, cell-2 same, cell-3 same moved"},
	} {
		t.Run(name, func(t *testing.T) {
			d := Compare(&Document{Cells: c.a}, &Document{Cells: c.b}, Options{})
			var got []string
			for _, ch := range d.Cells {
				words := ch.Label() + " " + string(ch.What)
				if ch.Renamed {
					words += " renamed"
				}
				if ch.Moved {
					words += " moved"
				}
				got = append(got, words)
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), c.want)
			}
			back := Compare(&Document{Cells: c.b}, &Document{Cells: c.a}, Options{})
			if mirror(d.Counts) != back.Counts {
				t.Errorf("the other way round: %+v and %+v", d.Counts, back.Counts)
			}
		})
	}
}

func mirror(n Counts) Counts {
	n.Added, n.Removed, n.Split, n.Joined = n.Removed, n.Added, n.Joined, n.Split
	return n
}

// cellList draws cells with repeated words, ids and texts.
func cellList() *rapid.Generator[[]Cell] {
	word := rapid.SampledFrom([]string{"x", "y", "=", "1", "2", "print", "(", ")",
		"load", "fit", "plot", "\n", "\n", " ",
		"é", "\u2028"})
	return rapid.Custom(func(t *rapid.T) []Cell {
		n := rapid.IntRange(0, 12).Draw(t, "cells")
		out := make([]Cell, n)
		for i := range out {
			source := strings.Join(rapid.SliceOfN(word, 0, 14).Draw(t, "words"), " ")
			if source != "" {
				source += "\n"
			}
			out[i] = Cell{Kind: rapid.SampledFrom([]CellKind{Code, Code, Markdown}).Draw(t, "kind"), Source: source,
				Label: fmt.Sprint("cell-", i+1)}
			switch rapid.IntRange(0, 2).Draw(t, "id") {
			case 1:
				out[i].ID = rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "name")
			case 2:
				out[i].ID, out[i].GeneratedID = rapid.SampledFrom([]string{"1", "2", "3", "4"}).Draw(t, "number"), true
			}
		}
		return out
	})
}

// edited draws an edited list: cells are added, removed, moved and changed.
func edited(t *rapid.T, cells []Cell) []Cell {
	out := slices.Clone(cells)
	for range rapid.IntRange(0, 6).Draw(t, "edits") {
		if len(out) == 0 {
			break
		}
		i, j := rapid.IntRange(0, len(out)-1).Draw(t, "i"), rapid.IntRange(0, len(out)-1).Draw(t, "j")
		switch rapid.IntRange(0, 4).Draw(t, "what") {
		case 0:
			out = slices.Delete(out, i, i+1)
		case 1:
			c := out[i]
			out = slices.Insert(slices.Delete(out, i, i+1), min(j, len(out)-1), c)
		case 2:
			out[i].Source += "more words\n"
		case 3:
			out[i].ID += "x"
		default:
			out = slices.Insert(out, j, Cell{Kind: Code, Source: out[i].Source, Label: "copy"})
		}
	}
	return out
}

// TestMatchIsSound: a cell is in at most one pair, pairs are of the same kind or share an author's id, cells that
// stayed are in order, and the reverse comparison agrees.
func TestMatchIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := cellList().Draw(t, "a")
		b := edited(t, a)
		if rapid.Bool().Draw(t, "strangers") {
			b = cellList().Draw(t, "b")
		}
		pairs := Match(a, b)
		seen, last := map[int]bool{}, -1
		for i, p := range pairs {
			if i > 0 && pairs[i-1].A >= p.A || seen[p.B] {
				t.Fatalf("not in order of a, or twice: %v", pairs)
			}
			seen[p.B] = true
			if !p.Moved {
				if p.B < last {
					t.Fatalf("%v stayed and is not in order", p)
				}
				last = p.B
			}
			if p.By != ByID && a[p.A].Kind != b[p.B].Kind {
				t.Fatalf("%v are of two kinds", p)
			}
		}
		back := Match(b, a)
		for i, p := range back {
			back[i].A, back[i].B = p.B, p.A
		}
		slices.SortFunc(back, func(x, y Pair) int { return x.A - y.A })
		if !slices.Equal(pairs, back) {
			t.Fatalf("%v and back %v", pairs, back)
		}
	})
}

// TestEqualTextsAreMatched: equal texts without ids are matched as often as both sides have them.
func TestEqualTextsAreMatched(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := cellList().Draw(t, "a")
		for i := range a {
			a[i].ID, a[i].GeneratedID, a[i].Source = "", false, a[i].Source+fmt.Sprint("# ", i, "\n")
		}
		b := rapid.Permutation(a).Draw(t, "b")
		for _, p := range Match(a, b) {
			if a[p.A].Source != b[p.B].Source {
				t.Fatalf("%q was matched with %q", a[p.A].Source, b[p.B].Source)
			}
		}
		if n := len(Match(a, b)); n != len(a) {
			t.Fatalf("%d of %d are matched", n, len(a))
		}
	})
}
