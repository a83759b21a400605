package index_test

import (
	"cmp"
	"slices"
	"testing"

	"markmill/runs"
	"markmill/runs/index"
)

// TestLatest: the newest runs of each notebook, and pages of the list, are those of the whole list.
func TestLatest(t *testing.T) {
	t.Parallel()
	x, _ := open(t, aStore(t, 60))
	all, err := x.List(index.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	const most = 7
	newest, statuses := map[string]index.Item{}, map[string][]runs.Status{}
	for _, item := range all {
		list := statuses[item.Notebook]
		if len(list) == 0 {
			newest[item.Notebook] = item
		}
		if len(list) < most {
			statuses[item.Notebook] = append(list, item.Status)
		}
	}
	latest, err := x.Latest()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(latest, func(a, b index.Latest) int { return cmp.Compare(a.Notebook, b.Notebook) }) ||
		len(latest) != len(newest) {
		t.Errorf("%d notebooks, want %d", len(latest), len(newest))
	}
	for _, n := range latest {
		e, want := n.Run, newest[n.Notebook]
		if e.ID != want.ID || e.Dir != want.Dir || e.Notebook != want.Notebook || e.Status != want.Status ||
			!e.StartedAt.Equal(want.StartedAt) || !e.FinishedAt.Equal(want.FinishedAt) || e.Reason != want.Reason ||
			e.Decision != want.Decision || e.DecidedBy != want.DecidedBy {
			t.Errorf("%+v, want %+v", e, want)
		}
		got, err := x.Statuses(n.Notebook, most)
		if err != nil || !slices.Equal(got, statuses[n.Notebook]) {
			t.Errorf("%s: %v, %v, want %v", n.Notebook, got, err, statuses[n.Notebook])
		}
	}
	f := index.Filter{Statuses: []runs.Status{runs.Pass}, Limit: 5}
	whole, err := x.List(index.Filter{Statuses: f.Statuses})
	if err != nil {
		t.Fatal(err)
	}
	if count, err := x.Count(f); err != nil || count != len(whole) {
		t.Errorf("%d runs, %v, want %d", count, err, len(whole))
	}
	var paged []runs.RunID
	for ; f.Skip < len(whole); f.Skip += f.Limit {
		page, err := x.List(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page {
			paged = append(paged, item.ID)
		}
	}
	if !slices.EqualFunc(paged, whole, func(id runs.RunID, item index.Item) bool { return id == item.ID }) {
		t.Errorf("the pages have %v", paged)
	}
}
