package documents_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"markmill/notebooks/diff"
	"markmill/render"
	"markmill/render/documents"
	"markmill/render/terminal"
)

var update = flag.Bool("update", false, "rewrite what the golden files expect")

// TestGolden compares before.* with after.* in each file, and checks the result against the sections terminal and
// markdown.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/diff/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var sides []*diff.Document
			want := map[string][]byte{}
			inputs := archive.Files[:0:0]
			for _, f := range archive.Files {
				if f.Name == "terminal" || f.Name == "markdown" {
					want[f.Name] = f.Data
					continue
				}
				doc, err := documents.Read(f.Name, f.Data, nil)
				if err != nil {
					t.Fatal(err)
				}
				sides, inputs = append(sides, doc), append(inputs, f)
			}
			d := diff.Compare(sides[0], sides[1], diff.Options{All: strings.Contains(string(archive.Comment), "--all"),
				Tolerance: 0.001})
			var shown bytes.Buffer
			if err := terminal.Diff(&shown, d, false); err != nil {
				t.Fatal(err)
			}
			got := map[string][]byte{"terminal": shown.Bytes(), "markdown": render.DiffMarkdown(d, render.CommentLimit)}
			if *update {
				archive.Files = append(inputs, txtar.File{Name: "terminal", Data: got["terminal"]},
					txtar.File{Name: "markdown", Data: got["markdown"]})
				if err := os.WriteFile(file, txtar.Format(archive), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			for name := range got {
				if !bytes.Equal(got[name], want[name]) {
					t.Errorf("%s:\n%s\nwant:\n%s", name, got[name], want[name])
				}
			}
			for _, doc := range sides {
				if own := diff.Compare(doc, doc, diff.Options{All: true}); !own.Same {
					t.Errorf("%s differs from itself", doc.Name)
				}
			}
		})
	}
}
