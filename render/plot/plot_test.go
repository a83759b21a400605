package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

// TestText: text of a notebook stays text, and the drawing is XML that loads nothing.
func TestText(t *testing.T) {
	const shown = `<a href="x">&"'`
	const hostile = shown + "\x01"
	lines, err := Lines(hostile, hostile, []string{hostile, "b"}, []Line{{hostile, []float64{1, math.NaN()}},
		{"b", []float64{2, 3}}})
	if err != nil {
		t.Fatal(err)
	}
	heat, err := Heat(hostile, hostile, hostile, []string{hostile, "b"}, []string{"c"}, [][]float64{{1, math.Inf(1)}})
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
