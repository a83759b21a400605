package engine

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"markmill/notebooks/codec"
	"markmill/notebooks/lazyregexp"
)

// JudgeGroup is a row of the table of judge files: patterns as protect: has them, and what they are of.
type JudgeGroup struct {
	Name     string
	Patterns []string
}

// judgeTable lists the files that judge a change by the conventions of the test runners that are known: tests, fixtures
// and snapshots, settings, drivers, workflows of CI. A file in which tests and code are mixed, such as a Rust module
// with #[cfg(test)], is none: no path tells the two apart.
var judgeTable = []JudgeGroup{
	{"CI", []string{".github/workflows/**", ".github/actions/**", ".circleci/**", ".buildkite/**", "**/.gitlab-ci.yml",
		".forgejo/**", ".gitea/**", ".travis.yml", "azure-pipelines*.yml", "Jenkinsfile", "bitbucket-pipelines.yml"}},
	{"drivers", []string{"**/Makefile", "**/makefile", "**/GNUmakefile", "**/justfile", "**/Justfile",
		"**/Taskfile.y*ml", "**/tox.ini", "**/noxfile.py", "**/Rakefile"}},
	{"folders", []string{"**/test/**", "**/tests/**", "**/spec/**", "**/specs/**", "**/e2e/**", "**/fixtures/**",
		"**/snapshots/**", "**/snap/**", "**/__snapshots__/**", "**/tap-snapshots/**", "**/golden/**",
		"**/cassettes/**", "**/approvals/**", "**/__mocks__/**", "**/__tests__/**", "**/testdata/**", "**/*.snap",
		"**/*.golden", "**/*.approved.*"}},
	{"Python", []string{"**/test_*.py", "**/*_test.py", "**/*_tests.py", "**/test.py", "**/tests.py", "**/conftest.py",
		"**/pytest.ini", "**/.pytest.ini", "**/.coveragerc", "**/nose*.cfg"}},
	{"names before a runner's", []string{"**/pytest.py", "**/pytest/**", "**/_pytest.py", "**/_pytest/**",
		"**/unittest.py", "**/unittest/**", "**/sitecustomize.py", "**/sitecustomize/**", "**/usercustomize.py",
		"**/usercustomize/**", "**/node_modules/.bin/**", "**/__pycache__/**", "**/*.pyc", "**/*.pth"}},
	{"Go", []string{"**/*_test.go"}},
	{"JavaScript, TypeScript", slices.Concat(
		endings("**/*.test", scripts), endings("**/*.spec", scripts), endings("**/*-test", scripts),
		endings("**/*_test", scripts), endings("**/test", scripts), endings("**/*.e2e", scripts),
		endings("**/*.cy", scripts), []string{"**/*.test-d.ts", "**/.mocharc*", "**/jest.config.*",
			"**/jest.setup.*", "**/vitest.config.*", "**/vitest.setup.*", "**/vitest.workspace.*", "**/ava.config.*",
			"**/karma.conf.*", "**/playwright.config.*", "**/cypress.config.*", "**/.taprc", "**/.nycrc*",
			"**/.c8rc*"})},
	{"Rust", []string{"**/tests.rs", "**/*_test.rs", "**/nextest.toml"}},
	{"JVM, .NET, PHP, Swift", slices.Concat(endings("**/*Test", classes), endings("**/*Tests", classes),
		endings("**/*TestCase", classes), endings("**/*IT", classes), []string{"**/phpunit.xml*", "**/testng.xml"})},
	{"Ruby, Elixir", []string{"**/*_spec.rb", "**/*_test.rb", "**/.rspec", "**/*_test.exs"}},
	{"C, C++", []string{"**/*_test.c", "**/*_test.cc", "**/*_test.cpp", "**/*_unittest.cc", "**/CTestTestfile.cmake"}},
}

var (
	scripts = []string{"js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts"}
	classes = []string{"java", "kt", "scala", "groovy", "cs", "php", "swift"}
)

func endings(stem string, list []string) (out []string) {
	for _, e := range list {
		out = append(out, stem+"."+e)
	}
	return out
}

// mixedFiles have settings of the product and of its tests.
var mixedFiles = []string{"pyproject.toml", "setup.cfg", "package.json"}

// JudgeFiles says which files judge a change: the table, what Also adds, and without what Not names.
type JudgeFiles struct{ Also, Not []string }

// Table is the table of judge files with the additions, for people.
func (j JudgeFiles) Table() []JudgeGroup {
	list := append(slices.Clone(judgeTable), JudgeGroup{"test tables of", endings("**/", nil)})
	list[len(list)-1].Patterns = mixedFiles
	if len(j.Also) > 0 {
		list = append(list, JudgeGroup{"protect: and judges:", j.Also})
	}
	if len(j.Not) > 0 {
		list = append(list, JudgeGroup{"not these (not-judges:)", j.Not})
	}
	return list
}

// Is reports whether a path is that of a judge file.
func (j JudgeFiles) Is(name string) bool {
	if MatchesAny(j.Also, name) {
		return true
	}
	return !MatchesAny(j.Not, name) && slices.ContainsFunc(judgeTable, func(g JudgeGroup) bool {
		return MatchesAny(g.Patterns, name)
	})
}

// IsMixed reports whether a file has settings of the product and of its tests.
func (j JudgeFiles) IsMixed(name string) bool {
	return slices.Contains(mixedFiles, path.Base(name)) && !j.Is(name)
}

// testTable matches the names of tables of test runners in TOML and INI.
var testTable = lazyregexp.New(`^\[+ *"?(?:tool[.:] *"?(?:pytest|coverage|tox|nox|green|mutmut|hatch\.envs\.[\w.-]*test)|` +
	`pytest|coverage:|nosetests|aliases|testenv|unittest)`)

// testKeys are the members of package.json that are settings of test runners.
var testKeys = []string{"jest", "mocha", "ava", "c8", "nyc", "vitest", "tap", "jasmine", "karma", "playwright"}

var testScript = regexp.MustCompile(`^(?:pre|post)?test(?:$|[:_-])`)

// Mixed is the head's version of a file with the test tables of the base's. nil stands for a file that is not there.
func Mixed(name string, head, base []byte) []byte {
	if path.Base(name) == "package.json" {
		return mixedJSON(head, base)
	}
	if head == nil && base == nil {
		return nil
	}
	rest, _ := splitTables(head)
	_, tests := splitTables(base)
	if head == nil && len(tests) == 0 {
		return nil
	}
	if len(tests) > 0 && len(rest) > 0 && rest[len(rest)-1] != '\n' {
		rest = append(rest, '\n')
	}
	return append(rest, tests...)
}

// splitTables divides a file by its tables: those of test runners, and the rest.
func splitTables(text []byte) (rest, tests []byte) {
	to := &rest
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("[")) && bytes.Contains(line, []byte("]")) {
			to = &rest
			if testTable.Match(line) {
				to = &tests
			}
		}
		*to = append(*to, line...)
	}
	return rest, tests
}

// mixedJSON is Mixed of a package.json. One that is no JSON is left as the head has it.
func mixedJSON(head, base []byte) []byte {
	var is, was map[string]codec.Raw
	if head == nil || codec.Unmarshal(head, &is) != nil || base != nil && codec.Unmarshal(base, &was) != nil {
		return head
	}
	for _, key := range testKeys {
		delete(is, key)
		if v, ok := was[key]; ok {
			is[key] = v
		}
	}
	scripts := func(doc map[string]codec.Raw) (out map[string]codec.Raw) {
		if raw, ok := doc["scripts"]; !ok || codec.Unmarshal(raw, &out) != nil {
			return map[string]codec.Raw{}
		}
		return out
	}
	all := scripts(is)
	for name := range all {
		if testScript.MatchString(name) {
			delete(all, name)
		}
	}
	for name, v := range scripts(was) {
		if testScript.MatchString(name) {
			all[name] = v
		}
	}
	if text, err := codec.Marshal(all); err == nil && len(all) > 0 {
		is["scripts"] = text
	}
	text, err := codec.Marshal(is)
	if err != nil {
		return head
	}
	return text
}

// Drives reports whether a file that is neither a test nor used by one decides how tests run: it is named as what saved
// a test.
func Drives(name string) bool {
	return configuresTests(name) || strings.HasPrefix(path.Base(name), ".") ||
		slices.ContainsFunc(judgeTable[:2], func(g JudgeGroup) bool { return MatchesAny(g.Patterns, name) })
}
