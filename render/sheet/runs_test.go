package sheet_test

import (
	"fmt"
	"os"

	"markmill/notebooks/codec"
	"markmill/render/sheet"
)

// Of what did not pass nothing is best, and of a scrap whose name says nothing no value is.
func ExampleCompare() {
	run := func(name, status, loss, size string, seconds float64) *sheet.ComparedRun {
		return sheet.Scrapped(name, status, map[string]codec.Raw{"loss": codec.Raw(loss), "width": codec.Raw(size)}, seconds)
	}
	t := sheet.Compare([]*sheet.ComparedRun{run("a", "pass", "0.5", "1", 3), run("b", "pass", "0.2", "2", 1),
		run("c", "fail", "0.1", "3", 0.1), run("d", "pass", "0.9", "4", 2)}, nil)
	if err := t.Write(os.Stdout, "csv"); err != nil {
		panic(err)
	}
	for i, row := range t.Marks {
		fmt.Println(t.Runs[i].Name, row[2:])
	}
	// Output:
	// run,status,loss,width,seconds
	// a,pass,0.5,1,3
	// b,pass,0.2,2,1
	// c,fail,0.1,3,0.1
	// d,pass,0.9,4,2
	// a [ lowest worst]
	// b [best  best]
	// c [  ]
	// d [worst highest ]
}
