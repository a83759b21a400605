package render_test

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"markmill/render/plot"
)

// TestText: text of a notebook stays text, and the drawing is XML that loads nothing.
func TestText(t *testing.T) {
	const shown = `<a href="x">&"'`
	const hostile = shown + "\x01"
	lines, err := plot.Lines(hostile, hostile, []string{hostile, "b"}, []plot.Line{{Name: hostile,
		Values: []float64{1, math.NaN()}},
		{Name: "b", Values: []float64{2, 3}}})
	if err != nil {
		t.Fatal(err)
	}
	heat, err := plot.Heat(hostile, hostile, hostile, []string{hostile, "b"}, []string{"c"}, [][]float64{{1,
		math.Inf(1)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, svg := range [][]byte{lines, heat} {
		d := xml.NewDecoder(strings.NewReader(string(svg)))
		found := false
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, svg)
			}
			switch token := token.(type) {
			case xml.StartElement:
				if token.Name.Local == "a" || token.Name.Local == "image" || token.Name.Local == "script" {
					t.Errorf("there is <%s>", token.Name.Local)
				}
			case xml.CharData:
				found = found || strings.Contains(string(token), shown)
			}
		}
		if !found {
			t.Errorf("the text is not there as it is:\n%s", svg)
		}
	}
}
