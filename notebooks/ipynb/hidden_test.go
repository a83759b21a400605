package ipynb

import (
	"strings"
	"testing"

	"markmill/notebooks/codec"
)

// Cells that a run hides are hidden in Jupyter, keep their other metadata, and are restored byte for byte.
func TestHidden(t *testing.T) {
	for _, metadata := range []string{
		`{}`, `{"jupyter": {}}`, `{"jupyter": { }}`, `{"jupyter": {"source_hidden": false}}`,
		`{"jupyter": {"source_hidden" : true}}`,
		`{"jupyter": {"outputs_hidden": true, "x": [1.50, "\u00e9"]}, "tags": []}`,
		`{"tags": ["a"], "jupyter": {"source_hidden":null,"y":{"source_hidden":1}}}`,
		"{\n    \"jupyter\": {\n     \"outputs_hidden\": true\n    }\n   }",
	} {
		src := `{"cells": [{"cell_type": "code", "execution_count": null, "metadata": ` + metadata +
			`, "outputs": [], "source": "x"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}`
		nb, err := Parse("n.ipynb", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		out, err := nb.With(Result{Cells: map[int]CellResult{0: {Hidden: true,
			Metadata: []Setting{{Name: "papermill", Value: codec.Raw(`{"status": "completed"}`)}}}},
			Added: []AddedCell{{Source: "y", CellResult: CellResult{Hidden: true, Outputs: codec.Raw("[]")}}}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse("n.ipynb", out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for i := range got.Cells {
			if !got.Cells[i].Hides() {
				t.Errorf("%s: cell %d is not hidden:\n%s", metadata, i, out)
			}
		}
		// itself, and in the note
		if strings.Contains(metadata, "outputs_hidden") && strings.Count(string(out), "outputs_hidden") < 2 {
			t.Errorf("%s: existing metadata is lost:\n%s", metadata, out)
		}
		if back := Source(got, false); string(back) != src {
			t.Errorf("%s: the source is not restored:\n%s", metadata, back)
		}
	}
	// A note that Markmill did not write does not break the file.
	src := `{"cells": [{"cell_type": "code", "execution_count": null, "metadata": {"jupyter": {"a": 1}, "markmill": ` +
		`{"jupyter_was": "}"}}, "outputs": [], "source": "x"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}`
	nb, err := Parse("n.ipynb", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse("n.ipynb", Source(nb, false)); err != nil {
		t.Error(err)
	}
}
