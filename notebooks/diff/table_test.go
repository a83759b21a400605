package diff

import (
	"fmt"
	"strings"
	"testing"

	"markmill/notebooks/codec"
)

func TestValuesOfTablesHaveTheirPlaces(t *testing.T) {
	for _, c := range []struct{ old, now, want string }{
		{`[{"name":"eu","loss":0.5},{"name":"us","loss":0.7}]`, `[{"name":"eu","loss":0.5},{"name":"us","loss":0.9}]`,
			"row us, column loss: 0.7 -> 0.9"},
		// The rows are found by what their first column says, wherever they stand.
		{`[{"name":"eu","loss":0.5},{"name":"us","loss":0.7}]`, `[{"name":"jp","loss":1},{"name":"us","loss":0.7}]`,
			`row eu: {"loss":0.5,"name":"eu"} -> ; row jp:  -> {"loss":1,"name":"jp"}`},
		{`{"columns":["n","m"],"data":[[1,2],[3,4]]}`, `{"columns":["n","m"],"data":[[1,2],[3,5]]}`,
			"row 2, column m: 4 -> 5"},
		{`{"columns":["n"],"rows":[["a"],["b"]]}`, `{"columns":["n","k"],"rows":[["a",1],["b",2]]}`,
			"row a, column k:  -> 1; row b, column k:  -> 2"},
		{`{"a":{"y":[1,2]},"b":1}`, `{"a":{"y":[1,3]},"c":1}`, "a.y[1]: 2 -> 3; b: 1 -> ; c:  -> 1"},
		{`[1,2]`, `[1,2,3]`, ""},
		{`"a"`, `"b"`, ""},
	} {
		var a, b any
		if codec.Unmarshal([]byte(c.old), &a) != nil || codec.Unmarshal([]byte(c.now), &b) != nil {
			t.Fatal(c)
		}
		var got []string
		for _, v := range changesOf(a, b).values {
			got = append(got, fmt.Sprintf("%s: %s -> %s", v.At, string(v.Old), string(v.New)))
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s\n%s\n got %s\nwant %s", c.old, c.now, text, c.want)
		}
	}
}

func TestManyValuesAreComparedByLines(t *testing.T) {
	a, b := map[string]any{}, map[string]any{}
	for i := range maxCellValues + 1 {
		a[fmt.Sprint(i)], b[fmt.Sprint(i)] = 1.0, 2.0
	}
	if got := changesOf(a, b).values; got != nil {
		t.Errorf("%d values", len(got))
	}
}
