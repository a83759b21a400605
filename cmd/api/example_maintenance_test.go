package api_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"markmill/cmd/internal/maintenance"
	"markmill/engine"
	"markmill/runs"
	"markmill/runs/runstest"
)

// A program that says what is kept and what pruning would remove, and prunes.
func Example_maintenance() {
	dir, err := os.MkdirTemp("", "runs-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store := runs.Store{Dir: filepath.Join(dir, ".markmill")}
	day := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	for i := range 6 {
		if _, err := runstest.Make(store, day, i, false); err != nil {
			log.Fatal(err)
		}
	}

	keep, now := engine.Retention{Runs: 2, Days: 7}, day.AddDate(0, 1, 0)
	report, err := maintenance.Look(context.Background(), store, filepath.Join(dir, "cache"), keep, now)
	if err != nil {
		log.Fatal(err)
	}
	for _, kept := range report.Kept {
		if kept.Count > 0 {
			fmt.Println(kept.Kind, kept.Count)
		}
	}
	gone, err := store.Prune(report.Runs, time.Duration(report.Days)*24*time.Hour, now)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(report.Due.Runs), "were due,", len(gone), "are gone")
	// Output:
	// records 6
	// other 2
	// 4 were due, 4 are gone
}
