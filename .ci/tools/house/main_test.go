package main

import (
	"strings"
	"testing"
	"testing/fstest"
)

// Each rule is broken once; a rule that no longer bites would let its case through.
func TestRulesBite(t *testing.T) {
	for _, c := range []struct {
		name, file, src string
		want            string // part of the one finding; "" for none
	}{
		{"notebooks stands alone", "notebooks/a.go", `package notebooks; import _ "markmill/runs"`,
			"notebooks may not import markmill/runs"},
		{"notebooks may import its own", "notebooks/a.go", `package notebooks; import _ "markmill/notebooks/codec"`,
			""},
		{"runs below engine", "runs/a.go", `package runs; import _ "markmill/engine/kernel"`,
			"runs may not import markmill/engine/kernel"},
		{"engine never renders", "engine/a.go", `package engine; import _ "markmill/render"`,
			"engine may not import markmill/render"},
		{"render never engine", "render/terminal/a.go", `package terminal; import _ "markmill/engine"`,
			"render may not import markmill/engine"},
		{"cmd imports all", "cmd/cmdtest/a.go", `package main; import _ "markmill/engine"`, ""},
		{"a test is bound too", "render/a_test.go", `package render_test; import _ "markmill/engine"`,
			"render may not import"},
		{"a file of another system is bound too", "runs/a_windows.go", `package runs; import _ "markmill/engine"`,
			"runs may not import"},
		{"unknown folder", "tools/a.go", `package tools`, `no Go package belongs in the folder "tools"`},
		{"go-json elsewhere", "runs/a.go", `package runs; import _ "github.com/goccy/go-json/v2"`, "JSON goes through"},
		{"go-json in codec", "notebooks/codec/a.go", `package codec; import _ "github.com/goccy/go-json/v2"`, ""},
		{"encoding/json", "notebooks/codec/a.go", `package codec; import _ "encoding/json"`, "JSON goes through"},
		{"encoding/json in a test", "notebooks/codec/a_test.go", `package codec_test; import _ "encoding/json"`, ""},
		{"go-git elsewhere", "engine/a.go", `package engine; import _ "github.com/go-git/go-git/v6"`,
			"Git goes through"},
		{"a reader of HTML elsewhere", "engine/a.go", `package engine; import _ "golang.org/x/net/html"`,
			"where views are made"},
		{"vague package", "engine/utils/a.go", `package utils`, "does not say what it owns"},
		{"init", "runs/a.go", "package runs\nfunc init() {}", "runs/a.go:2:1: no init functions"},
		{"too long", "runs/a.go", "package runs\n" + strings.Repeat("\n", roof), "801 lines"},
		{"a long line", "runs/a.go", "package runs\n\n\t// " + strings.Repeat("é", 114), "a.go:3: 121 columns"},
		{"a line that fits", "runs/a.go", "package runs\n\n\t// " + strings.Repeat("é", 113), ""},
		{"a raw string", "runs/a.go", "package runs\nvar _ = `" + strings.Repeat("x", 121) + "`", ""},
		{"a path of a record elsewhere", "engine/a.go", "package engine\nvar _ = filepath.Join(dir, runs.SumsFile)",
			"a.go:2:9: the paths of a record"},
		{"a folder of a record elsewhere", "engine/a.go",
			`package engine; var _ = filepath.Join(dir, runs.ResumedFile(id))`, "use runs.Record"},
		{"a path of a record in runs", "runs/attest/a.go", `package attest; var _ = filepath.Join(dir, runs.SumsFile)`,
			""},
		{"another path", "engine/a.go", `package engine; var _ = filepath.Join(runs.Store(), name)`, ""},
		{"a file of the store in runs", "runs/a.go", "package runs\nvar _ = os.WriteFile(name, text, 0o644)",
			"a.go:2:9: a file of a store is written by its runs.Writer"},
		{"past the writer in runs", "runs/a.go", "package runs\nvar _ = WriteFile(name, text)", "runs.Writer"},
		{"the writer itself", "runs/writer.go", "package runs; var _, _ = os.OpenFile(name, 0, 0)", ""},
		{"a file of a record in the engine", "engine/a.go",
			"package engine; var _ = runs.WriteFile(r.record.File(name), text)", "runs.Writer"},
		{"a file of the store by its folder", "engine/a.go",
			`package engine; var _, _ = os.Create(filepath.Join(store.Dir, "x"))`, "runs.Writer"},
		{"a file elsewhere", "engine/a.go", "package engine; var _ = os.WriteFile(name, text, 0o600)", ""},
		{"a writer elsewhere", "cmd/cmdtest/a.go", `package main; var _ = os.Create`, "os.Create writes by a path"},
		{"a writer of the store elsewhere", "cmd/api/a.go", `package api; var _ = runs.WriteFile`, "runs/outfile"},
		{"a setting elsewhere", "cmd/cmdtest/a.go", `package main; var _ = outfile.Setting`, "is for settings"},
		{"rules without the policy", "cmd/cmdtest/a.go", `package main; var _ = outfile.Rules{}`, "engine.OutputRules"},
		{"a test that writes", "cmd/cmdtest/a_test.go", `package main; var _ = os.Create`, ""},
		{"a writer that is listed", "cmd/markmill/show/pager.go", `package main; var _ = os.Create`, ""},
		{"a setting that is listed", "cmd/markmill/new/command.go", `package main; var _ = outfile.New`, ""},
		{"hidden folders are not read", ".ci/tools/a.go", `package tools`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := c.file[:strings.LastIndex(c.file, "/")]
			pkg, _, _ := strings.Cut(strings.Fields(c.src)[1], ";")
			found, _, err := check(fstest.MapFS{
				c.file:          {Data: []byte(c.src)},
				dir + "/doc.go": {Data: []byte("// Package comment.\npackage " + strings.TrimSuffix(pkg, "_test"))},
			})
			if err != nil {
				t.Fatal(err)
			}
			// doc.go stands in the same folder, so a rule of folders or packages speaks twice.
			for _, f := range found {
				if c.want == "" || !strings.Contains(f, c.want) {
					t.Errorf("unwanted finding: %s", f)
				}
			}
			if c.want != "" && len(found) == 0 {
				t.Errorf("nothing found, want %q", c.want)
			}
		})
	}
}

func TestPackageWithoutDoc(t *testing.T) {
	found, _, err := check(fstest.MapFS{"runs/a.go": {Data: []byte("package runs")}})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || !strings.Contains(found[0], "no package comment") {
		t.Errorf("found %q", found)
	}
}

// Each way in which a folder and its line can differ is found once.
func TestWeight(t *testing.T) {
	lines := func(n int) string { return strings.Repeat("\n", n) }
	for _, c := range []struct {
		name, weight string
		files        map[string]string
		want         string // part of the one finding; "" for none
	}{
		{"as the line says", "# folder lines files\nruns 3 2\n",
			map[string]string{"runs/a.go": lines(1), "runs/b/b.go": lines(2)}, ""},
		{"tests, generated files, test data and documents do not count", "runs 1 1\n",
			map[string]string{"runs/a.go": lines(1), "runs/a_test.go": lines(9), "runs/testdata/a.go": lines(9),
				"runs/made.go": "// Code generated by x. DO NOT EDIT.\n", "runs/a.md": lines(9)}, ""},
		{"lines", "runs 3 2\n", map[string]string{"runs/a.go": lines(8)},
			"runs: 8 lines of Go without tests, 5 more than the 3 of .ci/weight: remove what"},
		{"files", "runs 3 1\n", map[string]string{"runs/a.go": lines(1), "runs/b/b.go": lines(2)},
			"runs: 2 files of Go without tests, 1 more than the 1 of .ci/weight: move what"},
		{"a little lighter", "runs 303 11\n", map[string]string{"runs/a.go": lines(3)}, ""},
		{"fewer lines", "runs 304 1\n", map[string]string{"runs/a.go": lines(3)},
			`lighter than .ci/weight says, by 301 lines and 0 files: write "runs 3 1" there`},
		{"fewer files", "runs 3 12\n", map[string]string{"runs/a.go": lines(3)}, `write "runs 3 1" there`},
		{"a new folder", "runs 3 1\n", map[string]string{"runs/a.go": lines(3), "docs/a.go": lines(2)},
			`docs: no line for this folder in .ci/weight: add "docs 2 1"`},
		{"a folder that is gone", "runs 3 1\ndocs 2 1\n", map[string]string{"runs/a.go": lines(3)},
			"docs: the line of .ci/weight is for a folder without Go"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := fstest.MapFS{weightFile: {Data: []byte(c.weight)}}
			for name, src := range c.files {
				root[name] = &fstest.MapFile{Data: []byte(src)}
			}
			found, err := checkWeight(root)
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" && len(found) > 0 || c.want != "" && (len(found) != 1 || !strings.Contains(found[0], c.want)) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
	for _, text := range []string{"runs\n", "runs 3\n", "runs 3 x\n", "runs 3 1 2\n"} {
		if _, err := checkWeight(fstest.MapFS{weightFile: {Data: []byte(text)}}); err == nil {
			t.Errorf("%q is no error", text)
		}
	}
	if _, err := checkWeight(fstest.MapFS{}); err == nil {
		t.Error("a missing file is no error")
	}
}
