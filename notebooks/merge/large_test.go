package merge

import (
	"fmt"
	"strings"
	"testing"
)

// TestManyMembers merges large metadata: lookups by name must be near linear. Scanning would take minutes.
func TestManyMembers(t *testing.T) {
	const n = 50_000
	object := func(from, value int) string {
		members := make([]string, n)
		for i := range members {
			members[i] = fmt.Sprintf(`"k%d":%d`, from+i, value)
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	m := newMerger(nil, nil, Options{})
	// One side has new values; the other removed half of the members and added as many.
	got := m.value("metadata.a", object(0, 1), object(0, 2), object(n/2, 1))
	if len(m.result.Conflicts) != n/2 {
		t.Errorf("%d conflicts, want one for each member that is gone", len(m.result.Conflicts))
	}
	if count := strings.Count(got, ":"); count != n+n/2 {
		t.Errorf("%d members", count)
	}
	tags := func(from int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`"%d"`, from+i)
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	// Each side removed a quarter and added as many.
	if got, ok := mergeTags(tags(n/4), tags(0), tags(n/2)); !ok || strings.Count(got, ",") != n-1 {
		t.Errorf("%d tags", strings.Count(got, ",")+1)
	}
}

// TestManyCellsOfOneID merges invalid notebooks with repeated ids: duplicates on a side are found once.
func TestManyCellsOfOneID(t *testing.T) {
	const n = 20_000
	cells := func(edit func(i int) string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`{"cell_type":"raw","id":"same","metadata":{},"source":%q}`, edit(i))
		}
		return `{"cells":[` + strings.Join(list, ",") + `],"metadata":{},"nbformat":4,"nbformat_minor":5}`
	}
	line := func(i int) string { return fmt.Sprintf("text of cell %d", i) }
	base := cells(line)
	ours := cells(func(i int) string { return line(i) + strings.Repeat(" ours", 1-min(i, 1)) })
	theirs := cells(func(i int) string { return line(i) + strings.Repeat(" theirs", i/(n-1)) })
	r, err := Notebooks([]byte(base), []byte(ours), []byte(theirs), Options{Name: "n.ipynb", Jupyter: true})
	if err != nil || len(r.Conflicts) > 0 {
		t.Fatal(err, r.Conflicts)
	}
	for _, want := range []string{`"text of cell 0 ours"`, fmt.Sprintf(`"text of cell %d theirs"`, n-1)} {
		if !strings.Contains(string(r.Bytes), want) {
			t.Errorf("%s is not in the result", want)
		}
	}
}
