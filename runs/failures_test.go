package runs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/runs"
)

// TestFailedTests reads what each runner printed (testdata/failed): after the output, each failed test on a line.
func TestFailedTests(t *testing.T) {
	outputs, err := filepath.Glob("testdata/failed/*.txt")
	if err != nil || len(outputs) < 10 {
		t.Fatalf("%d outputs, %v", len(outputs), err)
	}
	for _, name := range outputs {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			output, want, _ := strings.Cut(string(text), "-- failed --\n")
			list := runs.FailedTests([]byte(output))
			if filepath.Base(name) == "junit-xml.txt" {
				list = runs.FailedInJUnit(strings.NewReader(output))
			}
			var got strings.Builder
			for _, f := range list {
				load := ""
				if f.Load {
					load = " does not load"
				}
				got.WriteString(strings.Join([]string{f.File, f.Name, f.Words}, "|") + load + "\n")
			}
			if got.String() != want {
				t.Errorf("got\n%swant\n%s", got.String(), want)
			}
		})
	}
}

func TestFailedTestsOfOtherTextAreNone(t *testing.T) {
	for _, text := range []string{"", "FAILED to open a.py\n", "ok\n", "  1) a list\n", "not ok\n",
		"error: no\n --> a\n", "✖ nothing\n"} {
		if list := runs.FailedTests([]byte(text)); list != nil {
			t.Errorf("%q: %v", text, list)
		}
	}
}
