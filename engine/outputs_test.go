package engine

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"markmill/engine/mask"
	"markmill/notebooks/keys"
	"markmill/runs"
)

func TestTheOrderOfAMaskedStreamIsItsFiles(t *testing.T) {
	s := &stream{dir: t.TempDir(), name: "stdout",
		mask: mask.New([]string{"hunter2-is-it"}).Stream(), keys: keys.Shown(nil).Stream()}
	var list []runs.OutputData
	for _, piece := range []struct{ kind, text string }{
		{runs.OutputStream, "before hunter2-is-it\n"}, {runs.OutputResult, ""}, {runs.OutputCleared,
			"'hunter2-is-it'\n"},
		{runs.OutputStream, "hunter2-"}, {runs.OutputDisplay, ""}, {runs.OutputStream, "is-it after\n"},
	} {
		if _, err := s.Write([]byte(piece.text)); err != nil {
			t.Fatal(err)
		}
		list = append(list, runs.OutputData{Type: piece.kind, Name: "stdout", Bytes: int64(len(piece.text))})
	}
	if _, err := s.finish(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(s.dir, s.name))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range masked(list, [2]*stream{s, {}}) {
		if o.Type == runs.OutputStream || o.Type == runs.OutputCleared {
			got, raw = append(got, string(raw[:o.Bytes])), raw[o.Bytes:]
		}
	}
	if want := []string{"before ***\n", "'***'\n", "***", " after\n"}; !slices.Equal(got, want) || len(raw) > 0 {
		t.Errorf("got %q and the rest %q, want %q", got, raw, want)
	}
}
