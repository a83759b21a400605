package api_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"markmill/cmd/internal/lookup"
	"markmill/notebooks/diff"
)

// Example_lookup compares two folders of notebooks.
func Example_lookup() {
	dir, err := os.MkdirTemp("", "lookup")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{
		"a/same.md": "```sh {#one}\necho 1\n```\n", "b/same.md": "```sh {#one}\necho 1\n```\n",
		"a/edited.md": "```sh {#one}\necho 1\n```\n", "b/edited.md": "```sh {#one}\necho 2\n```\n",
		"b/new.md": "```sh {#one}\necho 1\n```\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}
	var sides []*lookup.Folder
	for _, name := range []string{"a", "b"} {
		folder, ok, err := lookup.Reader{}.Folder(filepath.Join(dir, name))
		if err != nil || !ok {
			log.Fatal(err)
		}
		sides = append(sides, folder)
	}
	d, err := lookup.CompareFolders(sides[0], sides[1], diff.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range d.Notebooks {
		fmt.Println(n.Path, n.In, n.Same)
	}
	// Output:
	// edited.md both false
	// new.md b false
	// same.md both true
}
