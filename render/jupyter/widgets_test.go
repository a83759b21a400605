package jupyter

import (
	"testing"
	"testing/fstest"

	"markmill/runs"
)

// TestWidgets: the metadata hold the last state of each widget under an id that is stable across runs, and outputs
// refer to it.
func TestWidgets(t *testing.T) {
	const random = "0e81ab4eb95c4d169537ccad14c6260e"
	files := fstest.MapFS{
		"steps/01-a/outputs.jsonl": {Data: []byte(`{"type":"widget","name":"f1",` +
			`"data":{"_model_name":"L","n":1}}` + "\n" +
			`{"type":"widget","name":"` + random +
			`","data":{"_model_name":"S","layout":"IPY_MODEL_f1","value":3}}` + "\n" +
			`{"type":"widget","name":"other","data":{"a":1}}` + "\n")},
		"steps/02-b/outputs.jsonl": {Data: []byte(`{"type":"widget","name":"` + random +
			`","data":{"_model_name":"S","layout":"IPY_MODEL_f1","value":9},` +
			`"buffers":[{"data":"AA==","encoding":"base64","path":["x"]}]}` + "\n")},
		"steps/03-c/outputs.jsonl": {Data: []byte(`{"type":"stream","name":"stdout","bytes":1}` + "\n")},
	}
	r := &recorded{files: files}
	for _, file := range []string{"steps/01-a/outputs.jsonl", "", "steps/02-b/outputs.jsonl",
		"steps/03-c/outputs.jsonl"} {
		r.steps = append(r.steps,
			runs.StepRecord{Finished: &runs.StepFinishedData{Outputs: runs.StreamData{File: file}}})
	}
	w, err := r.readWidgets()
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.setting(func(s string) string { return s })
	if err != nil || len(got) != 1 || got[0].Name != "widgets" {
		t.Fatalf("%v, %v", got, err)
	}
	const first, second = "00000000000000000000000000000001", "00000000000000000000000000000002"
	want := `{"application/vnd.jupyter.widget-state+json":{"state":{` +
		`"` + first + `":{"model_module":null,"model_module_version":null,"model_name":"L",` +
		`"state":{"_model_name":"L","n":1}},` +
		`"` + second + `":{"buffers":[{"data":"AA==","encoding":"base64","path":["x"]}],"model_module":null,` +
		`"model_module_version":null,"model_name":"S",` +
		`"state":{"_model_name":"S","layout":"IPY_MODEL_` + first +
		`","value":9}}},"version_major":2,"version_minor":0}}`
	if string(got[0].Value) != want {
		t.Errorf("got  %s\nwant %s", got[0].Value, want)
	}
	if got := string(w.renamed([]byte(`{"model_id":"` + random + `"}`))); got != `{"model_id":"`+second+`"}` {
		t.Error(got)
	}
	r.steps = r.steps[3:]
	if w, err = r.readWidgets(); err != nil {
		t.Fatal(err)
	}
	if got, err := w.setting(func(s string) string { return s }); got != nil || err != nil {
		t.Errorf("a run without widgets: %v, %v", got, err)
	}
}
