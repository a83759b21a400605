package index_test

import (
	"cmp"
	"slices"
	"testing"

	"markmill/runs"
	"markmill/runs/index"
)

// TestRecent: the newest runs of each notebook, and pages of the list, are those of the whole list.
func TestRecent(t *testing.T) {
	t.Parallel()
	x, _ := open(t, aStore(t, 60))
	all, err := x.List(index.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	const most = 7
	want := map[string][]runs.RunID{}
	for _, item := range all {
		if list := want[item.Notebook]; len(list) < most {
			want[item.Notebook] = append(list, item.ID)
		}
	}
	recent, err := x.Recent(most)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(recent, func(a, b index.Recent) int { return cmp.Compare(a.Notebook, b.Notebook) }) ||
		len(recent) != len(want) {
		t.Errorf("%d notebooks, want %d", len(recent), len(want))
	}
	for _, n := range recent {
		var got []runs.RunID
		for _, e := range n.Runs {
			got = append(got, e.ID)
			if i := slices.IndexFunc(all,
				func(item index.Item) bool { return item.ID == e.ID }); all[i].Status != e.Status ||
				!all[i].StartedAt.Equal(e.StartedAt) || len(got) == 1 && (all[i].Reason != e.Reason ||
				all[i].Decision != e.Decision || !all[i].FinishedAt.Equal(e.FinishedAt)) {
				t.Errorf("%+v, want %+v", e, all[i])
			}
		}
		if !slices.Equal(got, want[n.Notebook]) {
			t.Errorf("%s: %v, want %v", n.Notebook, got, want[n.Notebook])
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
