package markdown

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/region"
)

// corpusWant holds the result for files that have steps or are rejected. All others are documents without steps
// or mistakes.
var corpusWant = map[string]string{
	"jupytext.md": "jupytext 4", "myst.md": "myst 3", "native.md": "markmill 2", "quarto.qmd": "quarto 2",
	"rmarkdown.Rmd": "quarto 3", "runme.md": "runme 2",
	"agent-fix.md": "markmill 3", "expressions.md": "markmill 1", "fix-a-bug.md": "markmill 3",
	"line-patches.md": "markmill 1", "observatory.md": "markmill 11", "release-notes.md": "markmill 3",
	"system-health.md": "markmill 4",

	"jupytext--chunk_options.Rmd":            "quarto 3",
	"jupytext--fenced_code_vs_code_cells.md": "myst 1",
	"jupytext--invalid_file_896.md": "jupytext--invalid_file_896.md:14:8: byte 0xe0 " +
		"is not UTF-8; save the file as UTF-8",
	"jupytext--jupytext_markdown.md":                               "jupytext 2",
	"jupytext--knitr-spin.Rmd":                                     "quarto 9",
	"jupytext--notebook.myst.md":                                   "myst 2",
	"jupytext--reference_link.md":                                  "myst 1",
	"jupytext-md--Line_breaks_in_LateX_305.md":                     "jupytext 0",
	"jupytext-md--Notebook_with_function_and_cell_metadata_164.md": "jupytext 4",
	"jupytext-md--Notebook_with_metadata_and_long_cells.md":        "jupytext 2",
	"jupytext-md--The_flavors_of_raw_cells.md":                     "jupytext 0",
	"jupytext-md--demo_gdl_fbp.md":                                 "jupytext 8",
	"jupytext-md--hello_world_gonb.md":                             "jupytext 7",
	"jupytext-md--jupyter_with_raw_cell_on_top.md":                 "jupytext 2",
	"jupytext-md--jupyterlab-slideshow_1441.md":                    "jupytext 0",
	"jupytext-md--jupytext_replication.md":                         "jupytext 1",
	"jupytext-md--raw_cell_with_complex_yaml_like_content.md":      "jupytext 1",
	"jupytext-md--sample_rise_notebook_66.md":                      "jupytext 1",
	"jupytext-myst--Notebook_with_metadata_and_long_cells.md":      "myst 2",
	"jupytext-myst--Reference_Guide_for_Calysto_Scheme.md":         "myst 43",
	"jupytext-myst--julia_benchmark_plotly_barchart.md":            "myst 3",
	"jupytext-myst--jupyter_with_raw_cell_with_invalid_yaml.md":    "myst 1",
	"jupytext-pandoc--jupyter_with_raw_cell_in_body.md":            "jupytext 1",
	"jupytext-pandoc--nteract_with_parameter.md":                   "jupytext 4",
	"runme--CONTRIBUTING.md":                                       "runme 9",
	"runme--RELATIVE.md": "runme--RELATIVE.md:12:8: step \"relative-rel-pwd\": cwd: \"../\" leaves the worktree\n" +
		"runme--RELATIVE.md:16:8: step \"relative-abs-pwd\": cwd: expected a folder of the worktree, with slashes, " +
		"such as cwd=src/app, got \"/opt\"",
	"runme--ZSH.md":   "runme 0",
	"runme--happy.md": "runme 10",
	"runme--session-01HJS35FZ2K0JBWPVAXPMMVTGN.md": "runme 1",
}

// TestCorpus reads the notebooks of this repository, and those of many tools where they are beside it, or where
// MARKMILL_SHARED names their folder.
func TestCorpus(t *testing.T) {
	patterns := []string{"../../cmd/cmdtest/testdata/cells/*.*md", "../../examples/*.md"}
	if root := os.Getenv("MARKMILL_SHARED"); root != "" {
		patterns = append(patterns, filepath.Join(root, "corpus/md/*.*md"))
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		patterns = append(patterns, filepath.Join(filepath.Dir(dir), "shared/corpus/md/*.*md"))
	}
	var files []string
	for _, pattern := range patterns {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	if len(files) < 12 {
		t.Fatalf("only %d files", len(files))
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".out.md") {
			continue
		}
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			nb, err := Parse(name, src)
			got := fmt.Sprintf("%s %d", nb.Form, len(nb.Steps))
			if err != nil {
				got = err.Error()
			}
			want, ok := corpusWant[name]
			if !ok {
				want = "markmill 0"
			}
			if got != want {
				t.Errorf("got %s\nwant %s", got, want)
			}
			var regions []region.Region
			for _, s := range nb.Steps {
				regions = append(regions, region.Region{ID: string(s.ID), At: s.Fence.End,
					Body: []byte("```text {.output}\nhello\n```\n")})
			}
			stripped := region.Strip(name, region.Splice(src, regions, notebooks.Manifest{Status: "pass"}))
			if !bytes.Equal(stripped.Source, src) || len(stripped.Problems) > 0 ||
				len(stripped.Regions) != len(regions) {
				t.Errorf("strip of the output: %v", stripped.Problems)
			}
		})
	}
}
