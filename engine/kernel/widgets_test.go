package kernel

import (
	"testing"

	"markmill/engine/kernel/jupyter"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// What a step tells of widgets is the whole state of those that it changed, in the order in which it first changed
// them.
func TestWidgets(t *testing.T) {
	var w widgets
	state := func(text string) map[string]codec.Raw {
		var out map[string]codec.Raw
		if err := codec.Unmarshal(codec.Raw(text), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	told := func(list []runs.OutputData) string {
		raw, err := codec.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	w.update(jupyter.Output{Comm: "b", State: state(`{"_model_name":"B","value":1}`)})
	w.update(jupyter.Output{Comm: "a", State: state(`{"format":"png"}`),
		Buffers: []jupyter.Buffer{{Path: codec.Raw(`["value"]`), Data: []byte("one")}}})
	w.update(jupyter.Output{Comm: "b", State: state(`{"value":2}`)})
	first := w.taken()
	if got, want := told(first), `[{"data":{"_model_name":"B","value":2},"name":"b","type":"widget"},`+
		`{"buffers":[{"data":"b25l","encoding":"base64","path":["value"]}],"data":{"format":"png"},"name":"a","type":"widget"}]`; got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
	w.update(jupyter.Output{Comm: "a", State: state(`{}`),
		Buffers: []jupyter.Buffer{{Path: codec.Raw(`["value"]`), Data: []byte("two")}}})
	if got, want := told(w.taken()),
		`[{"buffers":[{"data":"dHdv","encoding":"base64","path":["value"]}],"data":{"format":"png"},"name":"a","type":"widget"}]`; got != want {
		t.Errorf("bytes that took the place of others: got  %s\nwant %s", got, want)
	}
	w.update(jupyter.Output{Comm: "a", State: state(`{"value":null}`)})
	if got, want := told(w.taken()),
		`[{"data":{"format":"png","value":null},"name":"a","type":"widget"}]`; got != want {
		t.Errorf("a value that is no bytes any more: got  %s\nwant %s", got, want)
	}
	if got := w.taken(); got != nil {
		t.Errorf("nothing has changed, and it is told: %s", told(got))
	}
	if string(first[0].Data["value"]) != "2" {
		t.Errorf("what was told has changed: %s", told(first))
	}
}
