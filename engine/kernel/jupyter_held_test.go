//go:build unix

package kernel

import (
	"os"
	"path/filepath"
	"testing"
)

// TestHeldResults: results are held in memory up to a bound, and in files beyond it; what is dropped leaves room.
func TestHeldResults(t *testing.T) {
	s := &jupyterStep{r: Request{DisplayDir: filepath.Join(t.TempDir(), "step")}}
	half := make([]byte, heldMost/2+1)
	for _, name := range []string{"display-1.png", "display-2.png"} {
		if err := s.keep(name, half); err != nil {
			t.Fatal(err)
		}
	}
	if _, held := s.held["display-1.png"]; !held || len(s.held) != 1 {
		t.Errorf("%d are held", len(s.held))
	}
	file := filepath.Join(s.r.DisplayDir, "display-2.png")
	if info, err := os.Stat(file); err != nil || info.Size() != int64(len(half)) {
		t.Errorf("the second stands in no file: %v, %v", info, err)
	}
	s.drop("display-2.png")
	if _, err := os.Stat(file); err == nil {
		t.Error("what was dropped is still in its file")
	}
	s.drop("display-1.png")
	if err := s.keep("display-3.png", half); err != nil || len(s.held) != 1 || s.heldBytes != len(half) {
		t.Errorf("%d are held, %d bytes, %v", len(s.held), s.heldBytes, err)
	}
}
