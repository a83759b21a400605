package html

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/net/html"

	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
)

// jupyter returns the page of cells, and its text.
func jupyter(t *testing.T, cells ...map[string]any) (page []byte, words string) {
	t.Helper()
	for i, c := range cells {
		if c["cell_type"] == "code" && c["outputs"] == nil {
			c["outputs"] = []any{}
		}
		c["metadata"], c["id"] = map[string]any{}, fmt.Sprint("c", i)
	}
	src, err := codec.Marshal(map[string]any{"nbformat": 4, "nbformat_minor": 5, "cells": cells,
		"metadata": map[string]any{"language_info": map[string]any{"name": "python"}}})
	if err != nil {
		t.Fatal(err)
	}
	nb, err := ipynb.Parse("x.ipynb", src)
	if err != nil {
		t.Fatal(err)
	}
	page = Jupyter(nb, nil, nil).Page
	checkSafe(t, page)
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return page, textOf(root)
}

func codeWith(count any, outputs ...any) map[string]any {
	return map[string]any{"cell_type": "code", "source": "print(1)", "execution_count": count, "outputs": outputs}
}

func shows(data map[string]any) map[string]any {
	return map[string]any{"output_type": "display_data", "metadata": map[string]any{}, "data": data}
}

func TestHostileJupyter(t *testing.T) {
	svg := strings.ReplaceAll(hostileSVG, "HOST", "http://127.0.0.1:1")
	for _, text := range hostile {
		text = strings.ToValidUTF8(strings.ReplaceAll(text, "HOST", "http://127.0.0.1:1"), "?")
		page, _ := jupyter(t, map[string]any{"cell_type": "markdown", "source": text + "\n\n![a](attachment:a.svg)",
			"attachments": map[string]any{
				"a.svg": map[string]any{"image/svg+xml": base64.StdEncoding.EncodeToString([]byte(svg))}}},
			map[string]any{"cell_type": "raw", "source": text},
			codeWith(1, map[string]any{"output_type": "stream", "name": "stdout", "text": text},
				shows(map[string]any{"text/html": text, "text/plain": text}),
				shows(map[string]any{"text/html": []string{"<p>a</p>",
					text}}), shows(map[string]any{"text/markdown": text}), shows(map[string]any{"image/svg+xml": svg}),
				shows(map[string]any{"application/json": map[string]any{text: text}}), shows(map[string]any{text: "x"}),
				shows(map[string]any{"application/javascript": text}),
				map[string]any{"output_type": "error", "ename": text, "evalue": text, "traceback": []string{text}}))
		// one of the two: HTML before it may have swallowed the other
		if bytes.Count(page, []byte(`<img src="data:image/svg+xml;base64,`)) < 1 {
			t.Errorf("%.60q: the pictures are not shown", text)
		}
	}
}

func TestJupyter(t *testing.T) {
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\nrest"))
	page, words := jupyter(t, map[string]any{"cell_type": "markdown",
		"source": "# The title\n\nSee [later](#results)."},
		codeWith(1, map[string]any{"output_type": "stream", "name": "stdout", "text": []string{"one ", "two\n"}},
			map[string]any{"output_type": "stream", "name": "stdout", "text": "\x1b[31mthree\x1b[0m\n"}),
		map[string]any{"cell_type": "markdown", "source": "## Results"},
		codeWith(3, shows(map[string]any{"text/plain": "<Figure>", "image/png": png})),
		codeWith(2, shows(map[string]any{"text/html": "<script>x</script>", "text/plain": "in words"}),
			shows(map[string]any{"text/html": "<table><tr><td>cell of a table</td></tr></table>",
				"text/plain": "no table"})),
		codeWith(4, map[string]any{"output_type": "error", "ename": "ValueError", "evalue": "bad",
			"traceback": []string{}}), codeWith(nil))
	for _, want := range []string{"1 cell failed", "3 run", "1 not run", "not run from top to bottom", "one two\nthree",
		"cell of a table", "An HTML result is not shown", "in words", "ValueError: bad", "[3]"} {
		if !strings.Contains(words, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, not := range []string{"<Figure>", "no table"} {
		if strings.Contains(words, not) {
			t.Errorf("the page says %q, where it shows something richer", not)
		}
	}
	for _, want := range []string{"<title>The title</title>", `href="#h-results"`, `<span class="f1">three</span>`,
		"data:image/png;base64," + png, `id="step-c4"`} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the page does not hold %s", want)
		}
	}
	if _, words := jupyter(t, codeWith(1), codeWith(2)); strings.Contains(words, "top to bottom") ||
		!strings.Contains(words, "With outputs") {
		t.Errorf("a notebook in order:\n%s", words)
	}
}

// TestResultsOfOtherPrograms: the page says what only another program draws, and does not print it.
func TestResultsOfOtherPrograms(t *testing.T) {
	page, words := jupyter(t, codeWith(1,
		shows(map[string]any{"application/vnd.plotly.v1+json": map[string]any{"layout": map[string]any{"inner": 1}}}),
		shows(map[string]any{"application/vnd.jupyter.widget-view+json": map[string]any{"model_id": "x"},
			"text/plain": "IntSlider(value=0)"}),
		shows(map[string]any{"application/json": map[string]any{"shown": 1}})))
	for _, want := range []string{"type application/vnd.plotly.v1+json is not shown", "widget-view+json is not shown",
		"IntSlider(value=0)", "shown"} {
		if !strings.Contains(words, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if bytes.Contains(page, []byte("layout")) {
		t.Error("the page prints what it cannot draw")
	}
}

// TestPicturesBesideJupyter: pictures beside the notebook are embedded, the title keeps its own, and what is missing is
// said.
func TestPicturesBesideJupyter(t *testing.T) {
	const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	data, err := base64.StdEncoding.DecodeString(png)
	if err != nil {
		t.Fatal(err)
	}
	src, err := codec.Marshal(map[string]any{"nbformat": 4, "nbformat_minor": 5, "metadata": map[string]any{},
		"cells": []any{map[string]any{"cell_type": "markdown", "id": "a", "metadata": map[string]any{},
			"source":      "# A [link](https://example.org) ![t](attachment:a.png)",
			"attachments": map[string]any{"a.png": map[string]any{"image/png": png}}},
			map[string]any{"cell_type": "markdown", "id": "b", "metadata": map[string]any{},
				"source": "![c](q.png) ![d](./sub/q.png) <img src=\"q.png\"> ![e](no.png)"}}})
	if err != nil {
		t.Fatal(err)
	}
	nb, err := ipynb.Parse("x.ipynb", src)
	if err != nil {
		t.Fatal(err)
	}
	page := Jupyter(nb, fstest.MapFS{"q.png": {Data: data}, "sub/q.png": {Data: data}}, nil).Page
	checkSafe(t, page)
	if n := bytes.Count(page, []byte(png)); n != 4 {
		t.Errorf("%d pictures, not 4", n)
	}
	if !bytes.Contains(page, []byte(`>link</a> <img src="data:image/png`)) {
		t.Error("the title has no link and picture")
	}
	if got := Missing(page); len(got) != 1 || got[0] != "Picture e (no.png): not found beside the notebook" {
		t.Errorf("missing: %q", got)
	}
}
