package index_test

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"markmill/notebooks/codec"
	"markmill/runs"
	"markmill/runs/index"
	"markmill/runs/runstest"
	"markmill/runs/testhome"
)

func TestMain(m *testing.M) { testhome.Main(m) }

// wait is how long a test waits for the lock of another; several processes take turns in TestManyAtOnce.
const wait = 2 * time.Second

var start = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// aStore is a store with so many runs, some of which were interrupted.
func aStore(t testing.TB, count int) runs.Store {
	t.Helper()
	store := runs.Store{Dir: filepath.Join(t.TempDir(), ".markmill")}
	for i := range count {
		make1(t, store, i)
	}
	return store
}

func make1(t testing.TB, store runs.Store, i int) runs.RunID {
	t.Helper()
	id, err := runstest.Make(store, start, i, true)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// open opens the index and returns the notes that this gave.
func open(t testing.TB, store runs.Store) (x *index.Index, notes *[]string) {
	t.Helper()
	notes = &[]string{}
	x, err := index.Open(t.Context(), store, index.Options{Wait: wait,
		Note: func(words string) { *notes = append(*notes, words) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x, notes
}

func list(t testing.TB, x *index.Index, f index.Filter) []index.Item {
	t.Helper()
	items, err := x.List(f)
	if err != nil {
		t.Fatal(err)
	}
	return items
}

// same fails the test unless the index lists what the records say.
func same(t testing.TB, store runs.Store) (notes []string) {
	t.Helper()
	x, said := open(t, store)
	want, err := store.List()
	if err != nil {
		t.Fatal(err)
	}
	got := list(t, x, index.Filter{})
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("%d runs, and there are %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i].Entry, want[i]) {
			t.Fatalf("got\n%+v\nwant\n%+v", got[i].Entry, want[i])
		}
	}
	return *said
}

// The index says what the records say, whatever happened to them between two questions.
func TestFollowsTheRecords(t *testing.T) {
	store := aStore(t, 40)
	same(t, store)
	make1(t, store, 40)
	if err := os.MkdirAll(filepath.Join(store.Dir, "runs", "odd"), 0o755); err != nil {
		t.Fatal(err)
	}
	same(t, store)
	if gone, err := store.Prune(30, time.Hour, start.Add(1000*time.Hour)); err != nil || len(gone) == 0 {
		t.Fatal(gone, err)
	}
	same(t, store)
	entries, err := store.List()
	if err != nil {
		t.Fatal(err)
	}
	done := 0
	for _, e := range entries {
		if e.Status != runs.Interrupted {
			continue
		}
		nothing := func(*runs.Record, *runs.Run) error { return nil }
		if _, err := runs.At(e.Dir).Reconcile(time.Now, nothing); err != nil {
			t.Fatal(err)
		}
		done++
	}
	if done == 0 {
		t.Fatal("no run was interrupted")
	}
	if notes := same(t, store); len(notes) > 0 {
		t.Error(notes)
	}
}

// Update is only quicker: with and without it the index says the same, and a store without an index gets none.
func TestUpdate(t *testing.T) {
	store := aStore(t, 5)
	id := make1(t, store, 5)
	if err := index.Update(t.Context(), store, id); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(store.IndexFile()); err == nil {
		t.Fatal("Update made an index")
	}
	same(t, store)
	id = make1(t, store, 6)
	if err := index.Update(t.Context(), store, id, "gone"); err != nil {
		t.Fatal(err)
	}
	same(t, store)
}

// A filter chooses what the same question to the folds of the journals does.
func TestListIsAsTheFold(t *testing.T) {
	const count = 150
	store := aStore(t, count)
	x, _ := open(t, store)
	entries, err := store.List()
	if err != nil {
		t.Fatal(err)
	}
	folds := map[runs.RunID]*runs.Run{}
	for _, e := range entries {
		if _, folds[e.ID] = store.Claim(e.ID); folds[e.ID] == nil {
			t.Fatal(e)
		}
	}
	conditions := func(t *rapid.T, label string, words ...string) (all []index.Condition) {
		for range rapid.IntRange(0, 2).Draw(t, label) {
			c, err := index.ParseCondition(rapid.SampledFrom(words).Draw(t, label))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, c)
		}
		return all
	}
	rapid.Check(t, func(t *rapid.T) {
		at := func(label string) time.Time {
			if rapid.Bool().Draw(t, label) {
				return time.Time{}
			}
			return start.Add(time.Duration(rapid.IntRange(0, count).Draw(t, label+" minute")) * time.Minute)
		}
		f := index.Filter{Since: at("since"), Until: at("until"), Limit: rapid.IntRange(0, 9).Draw(t, "limit"),
			Notebook: rapid.SampledFrom([]string{"", "report.md", "load.md", "nightly/train.md", "jobs/*",
				"oad.md"}).Draw(t, "notebook"),
			Base: rapid.SampledFrom([]string{"", "1", "22", "22a"}).Draw(t, "base"),
			Params: conditions(t, "param", "flag=true", "flag!=true", "flag=1", "month=3", "month<3", "month>=11.5",
				"region=eu", "region=1", "region!=1", "region=", "region<us", "region<2", "none=1", "none!=1"),
			Scraps: conditions(t, "scrap", "loss<0.2", "loss!=0.5", "loss>=0.5", "model=tree", "model<tree")}
		if s := rapid.SampledFrom([]runs.Status{"", runs.Pass, runs.Fail, runs.Interrupted}).Draw(t,
			"status"); s != "" {
			f.Statuses = []runs.Status{s}
		}
		var want []runs.RunID
		for _, e := range entries {
			if chosen(&e, folds[e.ID], f) {
				want = append(want, e.ID)
			}
		}
		key := rapid.SampledFrom([]string{"", "seconds", "-param:month", "scrap:loss"}).Draw(t, "sort")
		if key != "" {
			k, err := index.ParseKey(key)
			if err != nil {
				t.Fatal(err)
			}
			f.Sort = []index.Key{k}
			sorted(want, entries, folds, k)
		}
		if f.Limit > 0 && len(want) > f.Limit {
			want = want[:f.Limit]
		}
		items, err := x.List(f)
		if err != nil {
			t.Fatal(err)
		}
		var got []runs.RunID
		for _, item := range items {
			got = append(got, item.ID)
			for _, c := range f.Params {
				if value := valueIn(folds[item.ID], "param", c.Name); string(item.Params[c.Name]) != string(value) {
					t.Fatalf("%s of %s is %s, want %s", c.Name, item.ID, item.Params[c.Name], value)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%+v:\ngot  %v\nwant %v", f, got, want)
		}
	})
}

func valueIn(r *runs.Run, kind, name string) codec.Raw {
	if kind == "param" {
		for _, p := range r.Contract.Parameters {
			if p.Name == name {
				return p.Value
			}
		}
		return nil
	}
	for _, s := range r.Scraps() {
		if s.Name == name {
			return s.Value
		}
	}
	return nil
}

func chosen(e *runs.Entry, r *runs.Run, f index.Filter) bool {
	switch {
	case len(f.Statuses) > 0 && !slices.Contains(f.Statuses, e.Status),
		!f.Since.IsZero() && e.StartedAt.Before(f.Since), !f.Until.IsZero() && !e.StartedAt.Before(f.Until),
		!strings.HasPrefix(r.Contract.BaseCommit, f.Base),
		strings.HasSuffix(f.Notebook, "*") && !strings.HasPrefix(e.Notebook, strings.TrimSuffix(f.Notebook, "*")),
		!strings.Contains(f.Notebook, "*") && f.Notebook != "" && !strings.HasSuffix("/"+e.Notebook, "/"+f.Notebook):
		return false
	}
	for _, c := range f.Params {
		if !c.Holds(valueIn(r, "param", c.Name)) {
			return false
		}
	}
	for _, c := range f.Scraps {
		if !c.Holds(valueIn(r, "scrap", c.Name)) {
			return false
		}
	}
	return true
}

// A value meets a condition in Go exactly if it does in SQL.
func TestHolds(t *testing.T) {
	values := []string{"1", "1.0", "-2", "0.15", "1e3", "9007199254740993", "9007199254740992", `"1"`, `"1.0"`, `"abc"`,
		`"true"`,
		"true", "false", `"null"`, "[1,2]", `{"a":1}`, `"[1,2]"`, `"10 %"`}
	wanted := []string{"1", "1.0", "2", "-2", "0.15", "1000", "9007199254740993", "abc", "b", "", "true", "false",
		"null", "[1,2]", "10 %"}
	store := runs.Store{Dir: filepath.Join(t.TempDir(), ".markmill")}
	byValue := map[runs.RunID]codec.Raw{}
	for i, value := range values {
		id, err := runstest.MakeScrap(store, start, i, "it", codec.Raw(value))
		if err != nil {
			t.Fatal(err)
		}
		byValue[id] = codec.Raw(value)
	}
	x, _ := open(t, store)
	for _, text := range wanted {
		for _, op := range []string{"=", "!=", "<", "<=", ">", ">="} {
			c := index.Condition{Name: "it", Op: op, Value: text}
			var got []runs.RunID
			for _, item := range list(t, x, index.Filter{Scraps: []index.Condition{c}}) {
				got = append(got, item.ID)
			}
			for id, value := range byValue {
				if want := slices.Contains(got, id); c.Holds(value) != want {
					t.Errorf("%s %s %s is %v in Go, and %v in SQL", value, op, text, !want, want)
				}
			}
		}
	}
	if (index.Condition{Op: "!=", Value: "1"}).Holds(nil) {
		t.Error("a missing value meets a condition")
	}
}

func sorted(ids []runs.RunID, entries []runs.Entry, folds map[runs.RunID]*runs.Run, k index.Key) {
	value := func(id runs.RunID) (float64, bool) {
		if k.Column == "seconds" {
			e := entries[slices.IndexFunc(entries, func(e runs.Entry) bool { return e.ID == id })]
			return e.FinishedAt.Sub(e.StartedAt).Seconds(), !e.FinishedAt.IsZero()
		}
		f, err := strconv.ParseFloat(string(valueIn(folds[id], k.Column, k.Name)), 64)
		return f, err == nil
	}
	slices.SortStableFunc(ids, func(a, b runs.RunID) int {
		x, hasX := value(a)
		y, hasY := value(b)
		switch {
		case !hasX || !hasY:
			return map[bool]int{true: 0, false: 1}[hasX] - map[bool]int{true: 0, false: 1}[hasY]
		case k.Descending:
			return cmp.Compare(y, x)
		}
		return cmp.Compare(x, y)
	})
}

func TestConditionsThatAreNone(t *testing.T) {
	for _, words := range []string{"", "loss", "=1", "<"} {
		if c, err := index.ParseCondition(words); err == nil {
			t.Errorf("%q is %+v", words, c)
		}
	}
	if _, err := index.ParseKey("size"); err == nil {
		t.Error("size is a key")
	}
}

// A question ends when its context does.
func TestOpenIsInterruptible(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	store := aStore(t, 3)
	if x, err := index.Open(ctx, store, index.Options{}); err == nil {
		t.Error("it was opened", x.Close())
	}
	left, err := filepath.Glob(filepath.Join(store.Dir, "*"))
	if err != nil || slices.ContainsFunc(left, func(file string) bool { return strings.Contains(file, ".db") }) {
		t.Error(left, err)
	}
}
