package merge

import (
	"fmt"
	"testing"
)

// BenchmarkMerge merges notebooks of which each side edited some cells, added some and moved one.
func BenchmarkMerge(b *testing.B) {
	for _, n := range []int{500, 4000} {
		var base, ours, theirs drawn
		for i := range n {
			c := cellOf{id: fmt.Sprintf("s%d", i), prose: []string{"# Part " + fmt.Sprint(i), "", "Some words."}}
			for k := range 10 {
				c.lines = append(c.lines, fmt.Sprintf("value_%d = compute(%d, %d)", k, i, k*i))
			}
			base = append(base, c)
			o, t := c, c
			o.lines, t.lines = append([]string{}, c.lines...), append([]string{}, c.lines...)
			if i%20 == 3 {
				o.lines[2] = "ours"
			}
			if i%20 == 7 || i%60 == 3 {
				t.lines[8] = "theirs"
			}
			if i%50 == 11 {
				theirs = append(theirs, cellOf{id: fmt.Sprintf("new%d", i), lines: []string{"new", fmt.Sprint(i)},
					prose: []string{"New."}})
			}
			ours, theirs = append(ours, o), append(theirs, t)
		}
		ours = append(ours[1:], ours[0])
		for form, write := range forms {
			x, y, z := []byte(write(base)), []byte(write(ours)), []byte(write(theirs))
			b.Run(fmt.Sprintf("%s-%d", form, n), func(b *testing.B) {
				for b.Loop() {
					if got, err := Notebooks(x, y, z, Options{Jupyter: form == "jupyter"}); err != nil ||
						len(got.Conflicts) > 0 {
						b.Fatal(err, got.Conflicts)
					}
				}
			})
		}
	}
}
