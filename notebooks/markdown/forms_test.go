package markdown

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFormExamples runs the examples of each form: each file in testdata/forms holds a text and the steps to find in
// it. Every form in the table needs one.
func TestFormExamples(t *testing.T) {
	for _, s := range syntaxes {
		name := string(s.form)
		if _, err := os.Stat(filepath.Join("testdata", "forms", name+".txt")); err != nil {
			t.Errorf("the form has no examples: %v", err)
		}
	}
	files, err := filepath.Glob(filepath.Join("testdata", "forms", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			src, want, ok := strings.Cut(strings.ReplaceAll(string(b), "\r\n", "\n"), "-- step --\n")
			if !ok {
				t.Fatal("the file has no section -- step --")
			}
			nb, err := Parse("n.md", []byte(src))
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, s := range nb.Steps {
				fmt.Fprintf(&got, "form %s\n", nb.Form)
				if s.Explicit {
					fmt.Fprintf(&got, "id %s\n", s.ID)
				}
				fmt.Fprintf(&got, "lang %s\ntags %s\ncode %s", s.Lang, strings.Join(s.Tags, " "),
					strings.TrimLeft(string(s.Code), "\n"))
			}
			if got.String() != want {
				t.Errorf("got\n%s\nwant\n%s", got.String(), want)
			}
		})
	}
}
