package render_test

import (
	"strings"
	"testing"

	"markmill/notebooks/ipynb"
	"markmill/render/compare"
)

const jupyterCells = `{"cells": [
{"cell_type": "code", "id": "a", "metadata": {}, "execution_count": 9, "source": "a", "outputs": [
 {"output_type": "stream", "name": "stderr", "text": "w\n"}, {"output_type": "stream", "name": ` +
	`"stdout", "text": ["1\n", "10%\r100%"]},
 {"output_type": "display_data", "metadata": {"x": 1}, "data": {"text/plain": "<F at 0x7f12345>", "image/png": ` +
	`"AAAA", "application/json": {"b": 1, "a": "/repo/x"}}},
 {"output_type": "stream", "name": "stdout", "text": "\u001b[31m2\u001b[0m\n"}, {"output_type": "execute_result", ` +
	`"execution_count": 9, "metadata": {}, "data": {"text/plain": ["<G at 0x7f12345>\n", "y"]}}]},
{"cell_type": "code", "id": "b", "metadata": {}, "execution_count": 10, "source": "b", "outputs": [{"output_type": ` +
	`"error", "ename": "E", "evalue": "no\n  way", "traceback": ["t"]}]},
{"cell_type": "code", "id": "c", "metadata": {}, "execution_count": null, "source": "c", "outputs": []}
], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`

func TestJupyter(t *testing.T) {
	nb, err := ipynb.Parse("n.ipynb", []byte(jupyterCells))
	if err != nil {
		t.Fatal(err)
	}
	cells, err := nb.StepCells(false)
	if err != nil {
		t.Fatal(err)
	}
	const first = "✓ a||[stdout]|1|100%2||[stderr]|w||[result application/json]|{|  \"a\": \"<r>/x\",|  \"b\": 1|}|"
	const last = "|[result text/plain]|<F>||[result text/plain]|<G at 0x7f12345>|y"
	for _, c := range []struct {
		foreign bool
		want    []string
	}{
		{true, []string{first + last, "✗ b · E: no way", "unrun"}},
		{false, []string{first +
			"|[result image/png]|sha256:709e80c88487a2411e1ee4dfb9f22a861492d20c4765150c0c794abd70f8147c|" + last,
			"✗ b · E: no way"}},
	} {
		got := compare.Jupyter(nb, cells, compare.JupyterOptions{Foreign: c.foreign,
			Paths: func(s string) string { return strings.ReplaceAll(s, "/repo", "<r>") }})
		if len(got.Steps) != len(c.want) {
			t.Fatalf("%d steps, want %d", len(got.Steps), len(c.want))
		}
		for i, s := range got.Steps {
			lines := strings.Join(s.Lines, "|")
			if s.Unrun {
				lines = "unrun"
			}
			if lines != c.want[i] {
				t.Errorf("%v: %s\nwant %s", c.foreign, lines, c.want[i])
			}
		}
	}
}
