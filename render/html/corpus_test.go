package html

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/notebooks/diff"
	"markmill/notebooks/ipynb"
	"markmill/render/documents"
)

// corpus returns the folders of this repository that hold notebooks, and that of real ones where it is beside it, or
// where MARKMILL_SHARED names it.
func corpus(t *testing.T) []string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	folders := []string{"../../examples", "../../docs", "../testdata", "../../cmd/cmdtest/testdata"}
	roots := []string{os.Getenv("MARKMILL_SHARED")}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		roots = append(roots, filepath.Join(filepath.Dir(dir), "shared"))
	}
	for _, root := range roots {
		if info, err := os.Stat(filepath.Join(root, "corpus")); root != "" && err == nil && info.IsDir() {
			return append(folders, filepath.Join(root, "corpus"))
		}
	}
	return folders
}

// TestCorpus: the page of every real notebook is safe, and so is its comparison with the previous one.
func TestCorpus(t *testing.T) {
	pages, refused := 0, 0
	var before *diff.Document
	visit := func(path string, d fs.DirEntry, err error) error {
		ext := strings.ToLower(filepath.Ext(path))
		if err != nil || d.IsDir() || ext != ".md" && ext != ".qmd" && ext != ".rmd" && ext != ".ipynb" {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil || len(src) > 2<<20 {
			return err
		}
		var page []byte
		if ext == ".ipynb" {
			nb, err := ipynb.Parse(path, src)
			if err != nil {
				refused++
				return nil
			}
			page = Jupyter(nb, os.DirFS(filepath.Dir(path)), nil).Page
		} else if page, err = plainPage(path, src, os.DirFS(filepath.Dir(path))); err != nil {
			refused++
			return nil
		}
		pages++
		if found := unsafe(page); len(found) > 0 {
			t.Errorf("%s: %s", path, strings.Join(found, "; "))
		}
		if doc, err := documents.Read(path, src, nil); err == nil {
			if before != nil {
				if found := unsafe(Diff(diff.Compare(before, doc, diff.Options{}))); len(found) > 0 {
					t.Errorf("%s, compared: %s", path, strings.Join(found, "; "))
				}
			}
			before = doc
		}
		return nil
	}
	for _, folder := range corpus(t) {
		if err := filepath.WalkDir(folder, visit); err != nil {
			t.Fatal(err)
		}
	}
	if pages < 50 {
		t.Fatalf("only %d pages", pages)
	}
	t.Logf("%d pages, %d files refused", pages, refused)
}
