package sheet_test

import (
	"fmt"
	"os"

	"markmill/notebooks/codec"
	"markmill/render/sheet"
)

// Of what did not pass nothing is best, and its time says nothing; of a scrap whose name says nothing no value is best,
// and nothing is where all are the same.
func ExampleCompare() {
	run := func(name, status, loss, f1, size string, seconds float64) *sheet.ComparedRun {
		return sheet.Scrapped(name, status, map[string]codec.Raw{"loss": codec.Raw(loss), "f1": codec.Raw(f1),
			"same": codec.Raw("7"), "width": codec.Raw(size)}, seconds)
	}
	t := sheet.Compare([]*sheet.ComparedRun{run("a", "pass", "0.5", "0.7", "1", 3), run("b", "pass", "0.2", "0.6", "2",
		1), run("c", "fail", "0.1", "0.9", "3", 9), run("d", "pass", "0.9", "0.8", "4", 2)}, nil)
	if err := t.Write(os.Stdout, "csv"); err != nil {
		panic(err)
	}
	for i, row := range t.Marks {
		fmt.Printf("%s %q\n", t.Runs[i].Name, row[2:])
	}
	// Output:
	// run,status,f1,loss,same,width,seconds
	// a,pass,0.7,0.5,7,1,3
	// b,pass,0.6,0.2,7,2,1
	// c,fail,0.9,0.1,7,3,9
	// d,pass,0.8,0.9,7,4,2
	// a ["" "" "" "lowest" "worst"]
	// b ["worst" "best" "" "" "best"]
	// c ["" "" "" "" ""]
	// d ["best" "worst" "" "highest" ""]
}
