package notebooks_test

import (
	"path"
	"strings"
	"testing"

	"markmill/notebooks"
)

// TestIsJudgeFile: the table takes the files of each runner, by name or folder, and leaves those of the product alone.
func TestIsJudgeFile(t *testing.T) {
	for _, name := range []string{"tests/x.txt", "a/test/b/c.c", "src/test/java/A.java", "test_a.py", "a/b_test.go",
		"pkg/testdata/in", "conftest.py", "docs/conftest.py", "pytest.py", "lib/unittest/case.py", "x.test.tsx",
		"a-test.mjs", "jest.config.ts", ".mocharc.yml", "a_spec.rb", "FooTest.java", "phpunit.xml.dist", "Makefile",
		"b/__snapshots__/b.snap", ".github/workflows/ci.yml", "noxfile.py", "a_test.exs", "b_test.cpp", "x.cy.js",
		"a/b/tests.rs"} {
		if !notebooks.IsJudgeFile(name) {
			t.Errorf("%s judges", name)
		}
	}
	for _, name := range []string{"lib.py", "src/testing.py", "test_helpers.go", "latest/a.py", "tests", "contest.py",
		"docs/testing.md", "pkg/attestation.go", "src/latest.js", ".github/FUNDING.yml", "package.json"} {
		if notebooks.IsJudgeFile(name) {
			t.Errorf("%s judges nothing", name)
		}
	}
	if !notebooks.IsMixedFile("a/pyproject.toml") || notebooks.IsMixedFile("pyproject.py") {
		t.Error("pyproject.toml is mixed")
	}
}

// TestJudgeTable: each pattern is valid and matches a path that is made from it.
func TestJudgeTable(t *testing.T) {
	if len(notebooks.JudgeTable) < 14 {
		t.Errorf("%d rows", len(notebooks.JudgeTable))
	}
	for _, row := range notebooks.JudgeTable {
		for _, pattern := range row.Patterns {
			name := strings.ReplaceAll(pattern, "*", "x")
			if strings.HasSuffix(name, "/") {
				name += "x"
			}
			name = "a/" + name
			if _, err := path.Match(pattern, ""); err != nil || !notebooks.JudgesBranch(name) ||
				notebooks.IsJudgeFile(name) == row.Made {
				t.Errorf("%s: %s does not match %s (%v)", row.Of, pattern, name, err)
			}
		}
	}
}
