package runs

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

func TestReadScraps(t *testing.T) {
	const good = `{"name":"n","type":"json","value":12345678901234567890123}` + "\n"
	n := ScrapData{Name: "n", Type: ScrapJSON, Value: codec.Raw("12345678901234567890123")}
	for _, c := range []struct {
		name, text string
		scraps     []ScrapData
		offset     int
		lines      []int // of the errors
	}{
		{"nothing", "", nil, 0, nil},
		{"one", good, []ScrapData{n}, len(good), nil},
		{"CRLF and empty lines", "\n\r\n" + strings.TrimSuffix(good, "\n") + "\r\n", []ScrapData{n}, len(good) + 4,
			nil},
		{"text", `{"name":"t","type":"text","value":"x"}` + "\n",
			[]ScrapData{{Name: "t", Type: ScrapText, Value: codec.Raw(`"x"`)}}, 39, nil},
		{"null", `{"name":"t","type":"json","value":null}` + "\n",
			[]ScrapData{{Name: "t", Type: ScrapJSON, Value: codec.Raw(`null`)}}, 40, nil},
		{"file", `{"name":"f","type":"file","file":"a.txt","display":true}` + "\n",
			[]ScrapData{{Name: "f", Type: ScrapFile, File: "a.txt", Display: true}}, 57, nil},
		{"still being written", good + `{"name":"m","ty`, []ScrapData{n}, len(good), nil},
		{"bad lines, and good ones after them", "{\n" + good + "[]\n" + good, []ScrapData{n, n}, 2*len(good) + 5,
			[]int{1, 3}},
		{"no name", `{"type":"json","value":1}` + "\n", nil, 26, []int{1}},
		{"no type", `{"name":"n","value":1}` + "\n", nil, 23, []int{1}},
		{"unknown type", `{"name":"n","type":"pickle","value":1}` + "\n", nil, 39, []int{1}},
		{"no value", `{"name":"n","type":"json"}` + "\n", nil, 27, []int{1}},
		{"text that is none", `{"name":"n","type":"text","value":1}` + "\n", nil, 37, []int{1}},
		{"image without a file", `{"name":"n","type":"image","value":1}` + "\n", nil, 38, []int{1}},
		{"a key twice", `{"name":"n","name":"m","type":"json","value":1}` + "\n", nil, 48, []int{1}},
		{"not UTF-8", "{\"name\":\"\xff\",\"type\":\"json\",\"value\":1}\n", nil, 37, []int{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			scraps, offset, err := ReadScraps(strings.NewReader(c.text))
			var list notebooks.ErrorList
			var lines []int
			if errors.As(err, &list) {
				for _, e := range list {
					lines = append(lines, e.Line)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(scraps, c.scraps) || offset != int64(c.offset) || !reflect.DeepEqual(lines, c.lines) {
				t.Errorf("got %+v, offset %d, lines %v (%v); want %+v, %d, %v", scraps, offset, lines, err, c.scraps,
					c.offset, c.lines)
			}
		})
	}
}

// FuzzReadScraps: whatever a step writes, reading does not fail otherwise than by naming lines; it
// can be read in two parts; and what was read can be journalled.
func FuzzReadScraps(f *testing.F) {
	f.Add([]byte(`{"name":"n","type":"json","value":1.50}`+"\n"+`{"name":"t","type":"te`), 40)
	f.Add([]byte("{}\n[]\nnull\n\n\xff\n"), 3)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		scraps, offset, err := ReadScraps(bytes.NewReader(text))
		var list notebooks.ErrorList
		if err != nil && !errors.As(err, &list) {
			t.Fatal(err)
		}
		if want := bytes.LastIndexByte(text, '\n') + 1; offset != int64(want) {
			t.Fatalf("offset %d, want %d", offset, want)
		}
		for _, scrap := range scraps {
			if _, err := codec.Marshal(scrap); err != nil {
				t.Fatalf("%+v: %v", scrap, err)
			}
		}
		cut = max(0, min(cut, len(text)))
		first, offset, _ := ReadScraps(bytes.NewReader(text[:cut]))
		rest, _, _ := ReadScraps(bytes.NewReader(text[offset:]))
		if both := append(first, rest...); len(both) != len(scraps) {
			t.Fatalf("%d scraps in two parts and %d in one", len(both), len(scraps))
		}
	})
}
