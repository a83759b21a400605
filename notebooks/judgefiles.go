package notebooks

import (
	"path"
	"strings"
	"sync"
)

// Families of files, by the language of the tools that read them. No pattern of a name has a colon.
const (
	FamilyPython = ":python"
	FamilyNode   = ":node"
	FamilyGo     = ":go"
)

// LookedFor are the names that the tools of a family look for.
func LookedFor(family string) (names []string) {
	for _, row := range JudgeTable {
		if row.Family == family {
			names = append(names, row.Looked...)
		}
	}
	return names
}

// JudgeTable says which files decide what tests say: tests, their data and snapshots, settings of runners, drivers, CI.
// A pattern is one of names, as path.Match has it, of a file in any folder; one that ends in a slash is of a folder, or
// of folders below each other, that stand anywhere in a path.
//
// No judges are the testing.py of a library, Go's test_helpers.go, documentation, examples and benchmarks. Tests inside
// of a product file, as Rust's #[cfg(test)], cannot be told apart by path.
//
// Looked are the names that the tools look for beside each file of their family that they read, and in the folders
// above it, without listing a folder: also names that do not judge, as __init__.py.
//
// Made says that tests make such files while they run: they judge a branch, and no run.
var JudgeTable = []struct {
	Of       string
	Patterns []string
	Made     bool
	Family   string
	Looked   []string
}{
	{Of: "any runner",
		Patterns: []string{"test/", "tests/", "spec/", "specs/", "e2e/", "fixtures/", "snapshots/", "snap/",
			"__snapshots__/", "golden/", "cassettes/", "approvals/", "__mocks__/", "*.snap", "*.golden",
			"*.approved.*"}},
	{Of: "pytest, unittest, nose",
		Patterns: []string{"test_*.py", "*_test.py", "*_tests.py", "test.py", "tests.py", "conftest.py",
			"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", ".coveragerc", "nose*.cfg"},
		Family: FamilyPython,
		Looked: []string{"conftest.py", "__init__.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml",
			"setup.cfg", "pyproject.toml", ".coveragerc"}},
	{Of: "mypy, ruff, flake8", Family: FamilyPython,
		Looked: []string{"mypy.ini", ".mypy.ini", "ruff.toml", ".ruff.toml", ".flake8"}},
	{Of: "what stands in for a runner of Python",
		Patterns: []string{"pytest.py", "pytest/", "_pytest.py", "_pytest/", "unittest.py",
			"unittest/", "sitecustomize.py", "sitecustomize/", "usercustomize.py", "usercustomize/"}},
	{Of: "tox, nox", Patterns: []string{"tox.ini", "noxfile.py"},
		Family: FamilyPython, Looked: []string{"tox.ini"}},
	{Of: "go test", Patterns: []string{"*_test.go", "testdata/"}, Family: FamilyGo,
		Looked: []string{"go.mod", "go.work", "go.sum", "vendor"}},
	{Of: "jest, vitest, node --test",
		Patterns: []string{"*.test.*", "*.spec.*", "*-test.js", "*-test.mjs", "*-test.cjs", "*-test.ts",
			"*-test.jsx", "*-test.tsx", "test.js", "test.mjs", "test.cjs", "test.ts", "*.test-d.ts", "__tests__/",
			"jest.config.*", "jest.setup.*", "vitest.config.*", "vitest.setup.*", "vitest.workspace.*", ".npmrc"},
		Family: FamilyNode, Looked: []string{"package.json", "node_modules", "tsconfig.json", "jsconfig.json",
			"jest.config.*", "vitest.config.*", "vite.config.*", "babel.config.*", ".babelrc*", ".npmrc"}},
	{Of: "ESLint", Family: FamilyNode, Looked: []string{"eslint.config.*", ".eslintrc*"}},
	{Of: "mocha, ava, tap, karma",
		Patterns: []string{".mocharc*", "ava.config.*", ".taprc", "tap-snapshots/", "karma.conf.*",
			".nycrc*", ".c8rc*"}, Family: FamilyNode, Looked: []string{".mocharc.*"}},
	{Of: "playwright, cypress", Patterns: []string{"*.e2e.*", "*.cy.*", "playwright.config.*", "cypress.config.*"}},
	{Of: "cargo test, nextest", Patterns: []string{"tests.rs", "*_test.rs", "nextest.toml"}},
	{Of: "JUnit, TestNG, NUnit, XCTest",
		Patterns: []string{"src/test/", "*Test.*", "*Tests.*", "*TestCase.*", "*IT.java", "*IT.kt",
			"testng.xml"}},
	{Of: "PHPUnit", Patterns: []string{"phpunit.xml*"}},
	{Of: "RSpec", Patterns: []string{"*_spec.rb", ".rspec"}},
	{Of: "ExUnit", Patterns: []string{"*_test.exs", "test_helper.exs"}},
	{Of: "CTest", Patterns: []string{"*_test.c", "*_test.cc", "*_test.cpp", "CTestTestfile.cmake"}},
	{Of: "drivers",
		Patterns: []string{"Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", "Taskfile.y*ml", "Rakefile"}},
	{Of: "CI",
		Patterns: []string{".github/workflows/", ".github/actions/", ".circleci/", ".buildkite/", ".forgejo/",
			".gitea/", ".gitlab-ci.yml", ".travis.yml", "azure-pipelines*.yml", "Jenkinsfile",
			"bitbucket-pipelines.yml"}},
	{Of: "compiled files, and names before a runner's", Made: true,
		Patterns: []string{"__pycache__/", "*.pyc", "*.pth", "node_modules/.bin/"}},
}

// MixedTable names files that hold settings of runners beside those of the product, and says whether the two are told
// apart.
var MixedTable = map[string]bool{"pyproject.toml": true, "setup.cfg": true, "package.json": true,
	"tsconfig.json": false, "go.mod": false, "go.work": false, "Cargo.toml": false, "pom.xml": false,
	"build.gradle": false, "build.gradle.kts": false, "CMakeLists.txt": false}

// judgePatterns are those of the table by how they are looked up.
type judgePatterns struct {
	names          map[string]bool
	globs, folders []string
}

// ofTable sorts the patterns that judge runs, and those that judge branches.
var ofTable = sync.OnceValue(func() *[2]judgePatterns {
	var p [2]judgePatterns
	for _, row := range JudgeTable {
		for i := range p {
			if row.Made && i == 0 {
				continue
			}
			p[i].add(row.Patterns)
		}
	}
	return &p
})

func (p *judgePatterns) add(patterns []string) {
	if p.names == nil {
		p.names = map[string]bool{}
	}
	for _, pattern := range patterns {
		switch {
		case strings.HasSuffix(pattern, "/"):
			p.folders = append(p.folders, "/"+pattern)
		case strings.ContainsRune(pattern, '*'):
			p.globs = append(p.globs, pattern)
		default:
			p.names[pattern] = true
		}
	}
}

// IsJudgeFile reports whether a file, by its path in the repository, is one of JudgeTable that judges a run.
func IsJudgeFile(name string) bool { return ofTable()[0].match(name) }

// JudgesBranch reports whether a file is one of JudgeTable.
func JudgesBranch(name string) bool { return ofTable()[1].match(name) }

func (p *judgePatterns) match(name string) bool {
	base := path.Base(name)
	if p.names[base] {
		return true
	}
	for _, folder := range p.folders {
		if strings.Contains("/"+name, folder) {
			return true
		}
	}
	for _, glob := range p.globs {
		if ok, _ := path.Match(glob, base); ok { // the patterns are valid: a test matches each
			return true
		}
	}
	return false
}

// IsCode reports whether a file is a program in a language that test runners know, by its name.
func IsCode(name string) bool {
	return strings.Contains(" .py .js .mjs .cjs .ts .mts .jsx .tsx .go .rs .java .kt .scala .cs .php "+
		".swift .rb .ex .exs .c .cc .cpp .h .hpp .sh .bash .pl .lua ", " "+path.Ext(name)+" ") && path.Ext(name) != ""
}

// IsMixedFile reports whether a file, by its path in the repository, is one of MixedTable.
func IsMixedFile(name string) bool {
	_, mixed := MixedTable[path.Base(name)]
	return mixed
}
