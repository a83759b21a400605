//go:build unix

package api_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/sweep"
	"markmill/engine"
	"markmill/notebooks/params"
	"markmill/runs"
)

// Run a notebook over a grid, and read the table.
func Example_sweep() {
	dir, err := os.MkdirTemp("", "markmill-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	source := "```yaml {.parameters}\na: 1\nb: 1\n```\n\n```bash {#product}\necho $((a * b))\n```\n"
	store := runs.Store{Dir: filepath.Join(dir, "records")}

	values := func(name, text string) sweep.Axis {
		list, err := params.ParseValues("program", name, text, sweep.MostRuns)
		if err != nil {
			log.Fatal(err)
		}
		return sweep.Axis{Name: name, Values: list}
	}
	s, err := sweep.Plan(context.Background(), sweep.Options{
		Grid:    sweep.Grid{Axes: []sweep.Axis{values("a", "2..3"), values("b", "5,7")}},
		Request: engine.Request{Path: "product.md", Source: []byte(source), Folder: dir},
		Work: sweep.Work{Engine: func() (*engine.Engine, error) {
			eng, _, err := engines.New(dir)
			if err == nil {
				eng.Store = func(string) runs.Store { return store }
			}
			return eng, err
		}},
	})
	if err != nil {
		log.Fatal(err) // a value or a name is wrong: nothing ran
	}
	done, err := s.Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for i := range done.Rows {
		fmt.Println(sweep.RowWords(done.Rows[i].SweepRow), done.Rows[i].Ended.Status)
	}
	fmt.Println(done.Completed.Status, len(sweep.Table(done, store).Rows), "rows")
	// Output:
	// a=2 b=5 pass
	// a=2 b=7 pass
	// a=3 b=5 pass
	// a=3 b=7 pass
	// pass 4 rows
}
