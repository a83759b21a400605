package cmdtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// judgeBase makes a repository whose notebook runs a Makefile that runs four tests, one of them with a snapshot.
const judgeBase = `
git init -q --initial-branch=main .
mkdir -p src tests snap
cat > src/ranges.py <<'P'
def expand(text):
    out = []
    for part in text.split(","):
        lo, _, hi = part.partition("-")
        if hi and int(hi) < int(lo):
            raise ValueError(part)
        out += range(int(lo), int(hi or lo) + 1)
    return out


def spare():
    return 1
P
cat > tests/test_ranges.py <<'P'
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "src"))
from ranges import expand
import ranges


class Ranges(unittest.TestCase):
    def test_one(self):
        self.assertEqual(expand("3"), [3])

    def test_many(self):
        self.assertEqual(expand("1-3,7"), [1, 2, 3, 7])

    def test_backwards(self):
        with self.assertRaises(ValueError):
            expand("5-1")

    def test_snapshot(self):
        want = (ROOT / "snap" / "expand.txt").read_text()
        self.assertEqual(repr(expand("2-5")) + "\n", want)
P
cat > tests/test_spare.py <<'P'
import sys
sys.path.insert(0, "src")
from ranges import spare
import unittest


class Spare(unittest.TestCase):
    def test_spare(self):
        self.assertEqual(spare(), 1)
P
echo '[2, 3, 4, 5]' > snap/expand.txt
printf 'test:\n\t@python3 -m unittest discover -q -s tests\n' > Makefile
cat > fix.md <<'P'
---
require: [tests]
protect: ["tests/**"]
---
# Ranges

~~~bash {#verify .test}
make test
~~~
P
printf '.markmill\n__pycache__\n' > .gitignore
git add -A && git commit -qm base && git checkout -qb pr
`

// inRepository runs a shell script in a folder, with the variables of a user whose home is new.
func inRepository(t *testing.T, dir, script string, env ...string) (string, int) {
	t.Helper()
	c := exec.Command("bash", "-e", "-c", script)
	c.Dir = dir
	c.Env = append(os.Environ(), "HOME="+filepath.Join(dir, ".home"), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A",
		"GIT_AUTHOR_EMAIL=a@localhost", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@localhost",
		"XDG_CACHE_HOME="+filepath.Join(dir, ".home"), "GOCACHE="+filepath.Join(testSetup.disk, "judge-go"),
		"PATH="+testSetup.binaries+":"+os.Getenv("PATH"))
	c.Env = append(c.Env, env...)
	out, err := c.Output()
	if err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	if exit, ok := err.(*exec.ExitError); ok && len(exit.Stderr) > 0 {
		t.Logf("%s", exit.Stderr)
	}
	return string(out), c.ProcessState.ExitCode()
}

// judgeRepository is a new repository of judgeBase.
func judgeRepository(t *testing.T, base string) string {
	t.Helper()
	for _, program := range []string{"git", "bash", "make", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("no " + program)
		}
	}
	builtProgram(t)
	dir := t.TempDir()
	if out, code := inRepository(t, dir, base); code != 0 {
		t.Fatalf("base: exit %d: %s", code, out)
	}
	return dir
}

// branchTools are commands for the scripts of branches.
const branchTools = `
edit() { sed "$2" "$1" > edited; cat edited > "$1"; rm edited; }
broken() { edit src/ranges.py '/if hi and/,+1d'; }
`

// TestJudgedBranches judges bad and honest branches (testdata/judge), and compares the exit code and what is read
// first.
func TestJudgedBranches(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/judge/*.txtar")
	if err != nil || len(archives) < 3 {
		t.Fatalf("%d archives, %v", len(archives), err)
	}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			base, branches := judgeBase, archive.Files
			if branches[0].Name == "base" {
				base, branches = string(branches[0].Data), branches[1:]
			}
			judgeBranches(t, base, branches)
		})
	}
}

func judgeBranches(t *testing.T, base string, branches []txtar.File) {
	for _, b := range branches {
		head, script, _ := strings.Cut(string(b.Data), "\n\n")
		t.Run(strings.ReplaceAll(b.Name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			want, args := "", ""
			var words []string
			for line := range strings.SplitSeq(head, "\n") {
				switch key, value, _ := strings.Cut(line, " "); key {
				case "exit":
					want = value
				case "args":
					args = value
				case "needs":
					if _, err := exec.LookPath(value); err != nil {
						t.Skip("no " + value)
					}
				case "read":
					words = append(words, value)
				case "all":
					if !everything() {
						t.Skip("MARKMILL_ALL runs it")
					}
				default:
					t.Fatalf("unknown: %s", line)
				}
			}
			dir := judgeRepository(t, base)
			out, code := inRepository(t, dir, branchTools+script+"\ngit add -A\ngit commit -qm work\n"+
				"exec markmill review --judge main...HEAD "+args)
			if strconv.Itoa(code) != want {
				t.Errorf("exit %d, want %s", code, want)
			}
			read := firstWords(out)
			for _, w := range words {
				if !strings.Contains(read, w) {
					t.Errorf("%q is not read first", w)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

// firstWords are the title of a review and its first findings.
func firstWords(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "## ") || len(out) < 4 && line[0] >= '1' && line[0] <= '9' {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}
