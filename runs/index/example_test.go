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

// A program that looks for runs with a low loss, and asks in SQL how many there are of each notebook.
func ExampleIndex_List() {
	dir, err := os.MkdirTemp("", "runs-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store := runs.Store{Dir: filepath.Join(dir, ".markmill")}
	for i := range 20 {
		if _, err := runstest.Make(store, time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC), i, false); err != nil {
			log.Fatal(err)
		}
	}

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
