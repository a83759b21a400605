package index_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"markmill/runs"
	"markmill/runs/index"
	"markmill/runs/runstest"
)

// madeStore makes twenty runs of three notebooks.
func madeStore() (store runs.Store, remove func()) {
	dir, err := os.MkdirTemp("", "runs-")
	if err != nil {
		log.Fatal(err)
	}
	store = runs.Store{Dir: filepath.Join(dir, ".markmill")}
	for i := range 20 {
		if _, err := runstest.Make(store, time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC), i, false); err != nil {
			log.Fatal(err)
		}
	}
	return store, func() { os.RemoveAll(dir) }
}

// A program that makes the index again, and counts how often each notebook passed.
func ExampleIndex_Stats() {
	store, remove := madeStore()
	defer remove()

	ctx := context.Background()
	count, err := index.Rebuild(ctx, store, index.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(count, "runs")
	x, err := index.Open(ctx, store, index.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	stats, err := x.Stats(index.Filter{})
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range stats {
		fmt.Printf("%s: %d of %d passed, half of them within %.1f s\n", s.Notebook, s.Statuses["pass"], s.Runs, s.P50)
	}
	// Output:
	// 20 runs
	// jobs/nightly/train.md: 7 of 8 passed, half of them within 27.1 s
	// jobs/load.md: 6 of 7 passed, half of them within 23.3 s
	// report.md: 4 of 5 passed, half of them within 24.1 s
}

// A program that looks for runs with a low loss, and asks in SQL how many there are of each notebook.
func ExampleIndex_List() {
	store, remove := madeStore()
	defer remove()

	ctx := context.Background()
	x, err := index.Open(ctx, store, index.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	low, err := index.ParseCondition("loss<0.2")
	if err != nil {
		log.Fatal(err)
	}
	found, err := x.List(index.Filter{Scraps: []index.Condition{low}, Statuses: []runs.Status{runs.Pass}})
	if err != nil {
		log.Fatal(err)
	}
	for _, run := range found {
		fmt.Println(run.Notebook, run.Status, index.Text(run.Scraps["loss"]))
	}
	table, err := x.Query(ctx, "SELECT notebook, count(*) AS runs FROM runs GROUP BY notebook ORDER BY notebook")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(table.Columns)
	for _, row := range table.Rows {
		fmt.Println(index.Text(row[0]), string(row[1]))
	}
	// Output:
	// jobs/load.md pass 0.199
	// jobs/nightly/train.md pass 0.047
	// jobs/load.md pass 0.109
	// [notebook runs]
	// jobs/load.md 7
	// jobs/nightly/train.md 8
	// report.md 5
}
