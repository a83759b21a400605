package cmdtest

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// cheat is a way to make a bad change look good. do runs in a branch of a repository whose tests have passed; then the
// notebook runs, everything is committed, and the branch is reviewed against main, without and with main's tests.
type cheat struct {
	name, do      string
	plain, judged int    // exit codes of review, and of review --judge
	words         string // of one of the first findings of the latter
}

// reviewFinding is one of review --json, as far as a test reads it.
type reviewFinding struct {
	Objection                    bool
	Condition, Path, Step, Words string
}

const mostFindings = 4 // what a reviewer reads first

// TestCheats: none ends in a plain ✓. What main's tests can catch is an objection or to be decided, with the test by
// its name; every other one is told first.
func TestCheats(t *testing.T) {
	t.Parallel()
	builtProgram(t)
	for _, name := range []string{"git", "bash", "make", "python3"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
	for kind, list := range map[string][]cheat{"python": pythonCheats, "pytest": pytestCheats, "go": goCheats,
		"node": nodeCheats, "notebook": notebookCheats} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			needs := map[string]string{"pytest": "python3 -m pytest --version", "go": "go version",
				"node": "node --version"}
			if check := needs[kind]; check != "" && exec.Command("bash", "-c", check).Run() != nil {
				t.Skip("no " + kind)
			}
			base := cheatBase(t, kind)
			for i, c := range list {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					if i%8 != 0 && os.Getenv("MARKMILL_ALL") == "" {
						t.Skip("MARKMILL_ALL runs the rest")
					}
					c.try(t, base)
				})
			}
		})
	}
}

func (c *cheat) try(t *testing.T, base string) {
	dir := t.TempDir()
	cheatShell(t, dir, "cp -a "+base+"/. . && cd repo && . ../lib.sh && git checkout -qb pr && RUN=yes && "+c.do+`
git add -A && git commit -q --allow-empty -m cheat
if [ "$RUN" = yes ]; then markmill run tests.md tests.out.md >../run.log 2>&1 </dev/null || true; fi
git add -A && git commit -q --allow-empty -m output`)
	repo := filepath.Join(dir, "repo")
	plain, _ := reviewed(t, repo)
	judged, findings := reviewed(t, repo, "--judge")
	var list strings.Builder
	matched := false
	for i, f := range findings {
		line := f.Path + " " + f.Step + ": " + f.Words
		list.WriteString("\n\t" + line)
		matched = matched || i < mostFindings && regexp.MustCompile(c.words).MatchString(line)
	}
	if plain != c.plain || judged != c.judged || !matched {
		t.Errorf("review exits with %d, want %d; with --judge with %d, want %d; want /%s/ of the first of%s",
			plain, c.plain, judged, c.judged, c.words, &list)
	}
}

// reviewed is the exit code of a review of the branch, and what it finds.
func reviewed(t *testing.T, repo string, options ...string) (int, []reviewFinding) {
	cmd := exec.Command("markmill", append([]string{"review", "main...HEAD", "--json"}, options...)...)
	cmd.Dir = repo
	out, err := cmd.Output()
	var exit *exec.ExitError
	code := 0
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Findings []reviewFinding }
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatalf("exit %d: %v: %s", code, err, exit.Stderr)
	}
	return code, doc.Findings
}

func cheatShell(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.Command("bash", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@example.org", "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// cheatBase makes the folder of a repository whose tests have passed, with the output on main.
func cheatBase(t *testing.T, kind string) string {
	dir := t.TempDir()
	files := map[string]string{"lib.sh": cheatLib, "repo/.gitignore": ".markmill/\n__pycache__/\n.pytest_cache/\n",
		"repo/README.md": "# Ranges\n", "repo/requirements.txt": "six==1.16.0\n",
		"repo/.github/workflows/ci.yml": "on: push\njobs: {test: {runs-on: ubuntu, steps: [{run: make test}]}}\n"}
	step := "make -s test"
	switch kind {
	case "go":
		step = "go test ./..."
		files["repo/go.mod"] = "module ranges\n\ngo 1.21\n"
		files["repo/ranges.go"], files["repo/ranges_test.go"] = goCode, goTests
	case "node":
		step = "npm test --silent"
		files["repo/package.json"] = `{"name": "ranges", "version": "1.0.0", "scripts": {"test": "node --test test/"}}`
		files["repo/index.js"], files["repo/test/ranges.test.js"] = nodeCode, nodeTests
	default:
		runner := "unittest discover -v -s tests"
		if kind == "pytest" {
			runner = "pytest -q -p no:cacheprovider tests"
			files["repo/pytest.ini"] = "[pytest]\n"
		}
		files["repo/Makefile"] = "test:\n\t@PYTHONPATH=src python3 -m " + runner + "\n"
		files["repo/src/ranges.py"], files["repo/tests/test_ranges.py"] = pythonCode, pythonTests
		files["repo/tests/snap/expand.txt"] = "[1, 2, 3, 5]\n"
	}
	files["repo/tests.md"] = "---\nrequire: [tests]\n---\n# Tests\n\n```bash {#verify .test}\n" + step + "\n```\n"
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	cheatShell(t, dir, `cd repo && git init -q --initial-branch=main && git add -A && git commit -qm base
markmill run tests.md tests.out.md </dev/null && git add -A && git commit -qm proven`)
	return dir
}

// cheatLib has the bad change, which the fourth test finds.
const cheatLib = `
bad() {
  if [ -e src/ranges.py ]; then sed -i 's/^    return numbers/    if len(numbers) > 3:\n        numbers.pop()\n    return numbers/' src/ranges.py; fi
  if [ -e ranges.go ]; then sed -i 's/^\treturn numbers/\tif len(numbers) > 3 {\n\t\tnumbers = numbers[1:]\n\t}\n\treturn numbers/' ranges.go; fi
  if [ -e index.js ]; then sed -i 's/^  return numbers/  if (numbers.length > 3) numbers.pop()\n  return numbers/' index.js; fi
}
T=tests/test_ranges.py
step() { printf -- '---\n%srequire: [tests]\n---\n# Tests\n\n%s' "$2" "$3" >tests.md; printf '~~~bash {#verify .test}\n%s\n~~~\n' "$1" >>tests.md; }
`

const pythonCode = `def parse(text):
    numbers = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        numbers += range(int(low), int(high or low) + 1)
    return numbers
`

const pythonTests = `import os
import unittest

from ranges import parse


class Ranges(unittest.TestCase):
    def test_single(self):
        self.assertEqual(parse("4"), [4])

    def test_range(self):
        self.assertEqual(parse("1-3"), [1, 2, 3])

    def test_list(self):
        self.assertEqual(parse("1,3,5,7"), [1, 3, 5, 7])
        self.assertEqual(len(parse("1-9")), 9)

    def test_snapshot(self):
        with open(os.path.join(os.path.dirname(__file__), "snap", "expand.txt")) as file:
            self.assertEqual(str(parse("1-3,5")), file.read().strip())
`

const goCode = `package ranges

import (
	"strconv"
	"strings"
)

func Parse(text string) (numbers []int) {
	for _, part := range strings.Split(text, ",") {
		n, _ := strconv.Atoi(part)
		numbers = append(numbers, n)
	}
	return numbers
}
`

const goTests = `package ranges

import "testing"

func TestOne(t *testing.T) {
	if got := Parse("4"); len(got) != 1 || got[0] != 4 {
		t.Errorf("got %v", got)
	}
}

func TestMany(t *testing.T) {
	if got := Parse("1,2,3,4,5"); len(got) != 5 {
		t.Errorf("got %v", got)
	}
}
`

const nodeCode = `exports.parse = (text) => {
  const numbers = text.split(',').map(Number)
  return numbers
}
`

const nodeTests = `const test = require('node:test')
const assert = require('node:assert')
const { parse } = require('..')

test('one', () => {
  assert.deepStrictEqual(parse('4'), [4])
})

test('many', () => {
  assert.strictEqual(parse('1,2,3,4,5').length, 5)
})
`
