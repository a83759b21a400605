package html

import (
	"fmt"
	"testing"

	"markmill/notebooks/diff"
)

// TestManyEqualNames: numbers already given to a name are not tried again, which would take minutes.
func TestManyEqualNames(t *testing.T) {
	const n = 50_000
	ids := headingIDs{newNames()}
	ids.used["same-7"] = true
	for range n {
		ids.Generate([]byte("Same"), 0)
	}
	if got := string(ids.Generate([]byte("Same"), 0)); got != fmt.Sprint(headingPrefix, "same-", n+1) {
		t.Errorf("the last heading is %s", got)
	}
	if !ids.used["same"] || !ids.used["same-1"] || ids.used[fmt.Sprint("same-", n+2)] {
		t.Error("numbers were left out, or given twice")
	}
}

// TestCellsOfOneName: a removed cell and its replacement have the same name, and each keeps its own outputs.
func TestCellsOfOneName(t *testing.T) {
	cell := func(id, source, output string) *diff.Document {
		return &diff.Document{Cells: []diff.Cell{{ID: id, Label: "cell-1", Kind: diff.Code,
			Source: source, Status: "pass",
			Outputs: []diff.Output{{Name: diff.Stdout, Data: []diff.Datum{{MIME: "text/plain", Text: output}}}},
			Scraps:  []diff.Scrap{{Name: output, Value: []byte("1")}}}}}
	}
	d := diff.Compare(cell("x", "load the table of the year before", "old\n"),
		cell("y", "1 + 1", "new\n"), diff.Options{})
	p := diffPage{page: newPage("", nil), d: d, prefix: stepPrefix}
	p.gather()
	if len(p.cells) != 2 {
		t.Fatalf("%d cells", len(p.cells))
	}
	for i, c := range p.cells {
		if len(c.outputs) != 1 || len(c.scraps) != 1 || c.outputs[0].What != d.Cells[i].What ||
			c.scraps[0].What != d.Cells[i].What {
			t.Errorf("the cell that was %s has %d outputs and %d scraps",
				d.Cells[i].What, len(c.outputs), len(c.scraps))
		}
	}
}
