// Records makes a store of runs that never ran, to measure the index with:
//
//	go run ./bench/records -runs 100000 -whole 100 DIR/.markmill
//
// Every record has a valid journal and source; each -whole-th also has its views and checksums, so that markmill runs
// verify finds nothing. The index reads only journals.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"markmill/cmd/api"
	"markmill/runs"
	"markmill/runs/runstest"
)

func main() {
	count := flag.Int("runs", 1000, "how many runs to make")
	notebooks := flag.Int("notebooks", 0, "how many notebooks they are of (default: three)")
	whole := flag.Int("whole", 1, "write the views of each run whose number this divides")
	flag.Parse()
	if flag.NArg() != 1 || *count < 1 || *whole < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if *notebooks > 0 {
		runstest.Notebooks = nil
		for i := range *notebooks {
			runstest.Notebooks = append(runstest.Notebooks, fmt.Sprintf("jobs/%d/report-%03d.md", i%10, i))
		}
	}
	store := runs.Store{Dir: flag.Arg(0)}
	var workers sync.WaitGroup
	for first := range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := first; i < *count; i += runtime.GOMAXPROCS(0) {
				if err := write(store, i, i%*whole == 0); err != nil {
					fmt.Fprintln(os.Stderr, "records:", err)
					os.Exit(1)
				}
			}
		})
	}
	workers.Wait()
}

func write(store runs.Store, i int, whole bool) error {
	id, err := runstest.Make(store, time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC), i, false)
	if err != nil || !whole {
		return err
	}
	record := store.Record(id)
	run, _, err := record.Load()
	if err != nil {
		return err
	}
	return api.Rebuild(record, run)
}
