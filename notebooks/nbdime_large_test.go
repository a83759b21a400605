package notebooks_test

import (
	"runtime"
	"strings"
	"testing"

	"markmill/notebooks/diff/nbdime"
	"markmill/notebooks/ipynb"
)

// TestDeepMetadata: deeply nested metadata is copied once, not once for each level.
func TestDeepMetadata(t *testing.T) {
	const depth, size = 500, 1 << 20
	nested := func(depth int, text string) *ipynb.Notebook {
		nb, err := ipynb.Parse("x.ipynb", []byte(`{"cells":[],"metadata":{"a":`+strings.Repeat(`{"a":`,
			depth)+`"`+strings.Repeat("x", size)+text+`"`+
			strings.Repeat("}", depth)+`},"nbformat":4,"nbformat_minor":4}`))
		if err != nil {
			t.Fatal(err)
		}
		return nb
	}
	if _, err := nbdime.Diff(nested(6000, "1"), nested(6000, "2")); err == nil ||
		!strings.HasPrefix(err.Error(), "x.ipynb:1:1: what changed stands too deep") {
		t.Errorf("%.200v", err)
	}
	a, b := nested(depth, "1"), nested(depth, "2")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out, err := nbdime.Diff(a, b)
	runtime.ReadMemStats(&after)
	if err != nil || strings.Count(string(out), `"patch"`) != depth+1 || !strings.Contains(string(out), `"replace"`) {
		t.Errorf("%v, %d patches", err, strings.Count(string(out), `"patch"`))
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 100<<20 {
		t.Errorf("%d MiB for two notebooks of 1 MB", took>>20)
	}
}
