package diff

import (
	"fmt"
	"runtime"
	"testing"
)

// allocated returns how many bytes a function allocates, freed or not.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestManyPiecesOfAStream: each piece is copied once. Quadratic copying of 20,000 pieces of 100 bytes would take 20 GB.
func TestManyPiecesOfAStream(t *testing.T) {
	const n = 20_000
	list := make([]Output, n)
	for i := range list {
		list[i] = Output{Name: Stdout, Data: []Datum{{MIME: "text/plain", Text: fmt.Sprintf("%099d\n", i)}}}
	}
	var joined []Output
	if took := allocated(func() { joined = joinStreams(list) }); took > 100<<20 {
		t.Errorf("%d MiB to join a stream of 2 MB", took>>20)
	}
	if len(joined) != 1 || len(joined[0].Data[0].Text) != 100*n || len(list[0].Data[0].Text) != 100 {
		t.Errorf("%d outputs, the first of %d bytes; the piece it began with has %d", len(joined),
			len(joined[0].Data[0].Text), len(list[0].Data[0].Text))
	}
}

// TestManyOutputs compares a cell whose outputs, tags, scraps and representations all changed. They are found by name:
// comparing all pairs would take minutes.
func TestManyOutputs(t *testing.T) {
	const n = 30_000
	side := func(mime, text string) *Document {
		c := Cell{ID: "a", Label: "a", Kind: Code, Outputs: make([]Output, n), Scraps: make([]Scrap, n),
			Tags: make([]string, n)}
		many := make([]Datum, n)
		for i := range n {
			c.Outputs[i] = Output{Name: Display, Data: []Datum{{MIME: mime, Text: fmt.Sprint(text, i)}}}
			c.Scraps[i] = Scrap{Name: fmt.Sprint(text, i), Value: []byte("1")}
			c.Tags[i] = fmt.Sprint(text, i)
			many[i] = Datum{MIME: fmt.Sprint("text/x-", i), Text: text}
		}
		c.Outputs = append(c.Outputs, Output{Name: "other", Data: many})
		return &Document{Cells: []Cell{c}}
	}
	d := Compare(side("text/plain", "x"), side("text/html", "y"), Options{})
	if len(d.Outputs) != 2*n+1 || len(d.Scraps) != 2*n || len(d.Cells[0].Tags.Added) != n {
		t.Errorf("%d outputs, %d scraps", len(d.Outputs), len(d.Scraps))
	}
	if last := d.Outputs[n]; last.What != Edited || len(last.Data) != n {
		t.Errorf("the output in many representations is %s in %d of them", last.What, len(last.Data))
	}
	d = Compare(side("text/plain", "x"), side("text/plain", "y"), Options{})
	if len(d.Outputs) != n+1 || d.Outputs[7].Old.Data[0].Text != "x7\n" || d.Outputs[7].New.Data[0].Text != "y7\n" {
		t.Errorf("%d outputs are paired in another order", len(d.Outputs))
	}
}
