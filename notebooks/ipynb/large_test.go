package ipynb

import (
	"bytes"
	"fmt"
	"testing"
)

// TestManyCellsOnOneLine reads large notebooks on one line, as json.dumps writes them, and with equal ids. Each step
// must be near linear: counting columns from the line's start, or searching ids from the first number, takes minutes.
func TestManyCellsOnOneLine(t *testing.T) {
	const n = 50_000
	var src bytes.Buffer
	src.WriteString(`{"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": {"name": "python3", ` +
		`"language": "python"}}, "cells": [`)
	for i := range n {
		if i > 0 {
			src.WriteString(", ")
		}
		src.WriteString(`{"cell_type": "code", "id": "same", "metadata": {}, "outputs": [], ` +
			`"execution_count": null, "source": "print(1)"}`)
	}
	src.WriteString("]}")
	nb, err := Parse("n.ipynb", src.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	run, err := nb.Runnable()
	if err != nil {
		t.Fatal(err)
	}
	if last := run.Steps[n-1]; string(last.ID) != fmt.Sprintf("same-%d", n) || last.Line != 1 {
		t.Errorf("the last step is %s in line %d", last.ID, last.Line)
	}
	if w := nb.Warnings[len(nb.Warnings)-1]; len(nb.Warnings) != n-1 || w.Line != 1 ||
		w.Col != nb.Cells[n-1].IDAt.Span.Start+1 {
		t.Errorf("%d warnings, the last is %v", len(nb.Warnings), w)
	}
	if cells, err := nb.StepCells(false); err != nil || len(cells) != n {
		t.Errorf("%d cells of steps, %v", len(cells), err)
	}
}

// TestDraftOfManyEqualCells checks that each cell gets its own id.
func TestDraftOfManyEqualCells(t *testing.T) {
	d := Draft{Cells: make([]DraftCell, 50_000)}
	for i := range d.Cells {
		d.Cells[i] = DraftCell{Type: "code", Source: "print(1)"}
	}
	have := map[string]bool{}
	for i, id := range d.ids() {
		if have[id] || id == "" || !MadeID(id, "code", "print(1)") {
			t.Fatalf("cell %d has the id %q", i+1, id)
		}
		have[id] = true
	}
}
