package worktree_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"markmill/engine/worktree/listing"
)

// TestShell: which names count of a folder that a script listed.
func TestShell(t *testing.T) {
	t.Parallel()
	const every = "every name"
	for script, want := range map[string]string{
		"cat a.txt | sort | head -3":       every, // it is not known what listed the folder
		"cat *.txt":                        "./*.txt",
		"wc -l src/*.py lib/*.c":           "./*.c ./*.py",
		"cat */*.py":                       every,
		"for f in *.md; do wc -l $f; done": "./*.md",
		"P='*.md'; cat $P":                 every,
		"cat $1":                           every,
		"n=3; head -$n *.csv":              "./*.csv",
		"echo a.{b,c}; cat [ab].txt":       "./[ab].txt",
		"ls":                               every,
		"ls *.py":                          every,
		"git status":                       every,
		"make test":                        every,
		"./run.sh":                         every,
		"$RUNNER x":                        every,
		"grep -r TODO .":                   every,
		"grep TODO *.go":                   "./*.go",
		"rm -rf build; cat *.c":            every,
		"cp -a src dst":                    every,
		"find . -name '*.go' | wc -l":      "*.go",
		"find . -name '*.go' -o -name x":   every,
		"find src -type f":                 every,
		"python3 -m pytest -q tests":       ":python",
		"pytest -q && mypy src":            ":python",
		"cd tests && timeout 60 pytest -x | tail -5":           ":python",
		"env A=1 python3.12 -m unittest":                       ":python",
		"uv run pytest -q":                                     ":python",
		"uv sync":                                              every,
		". .venv/bin/activate; pytest":                         ":python",
		". ./settings.sh; pytest":                              every,
		"go test ./... | tail -3":                              ":go",
		"go mod tidy":                                          every,
		"bash -c 'pytest -q'":                                  ":python",
		"bash run.sh":                                          every,
		"f() { pytest; }; f":                                   ":python",
		"eval pytest":                                          every,
		"python3 -c 'import os; print(os.listdir())'":          every,
		"python3 report.py":                                    every, // nothing was opened in the folder
		"if then fi":                                           every,
		"shopt -s extglob; cat !(a).txt":                       every,
		"node test.js":                                         every,
		"cat <<X\n$(ls)\nX\npytest":                            every,
		"x=$(git rev-parse HEAD); pytest -q":                   every,
		"[[ $a == *.py ]] && pytest":                           ":python",
		"case $a in *.py) pytest;; esac":                       ":python",
		"python3 -m compileall -q src; python3 -m http.server": every,
	} {
		got := every
		if names := listing.Of("bash", script).Names("docs", map[string]bool{}); names != nil {
			got = strings.Join(names, " ")
		}
		if got != want {
			t.Errorf("%s: %s counts, want %s", script, got, want)
		}
	}
}

// TestOpened: what a step opened says which names its programs list folders for.
func TestOpened(t *testing.T) {
	t.Parallel()
	opened := map[string]bool{"tests/a.py": true, "tests/data/x.csv": true, "Makefile": true}
	for _, c := range []struct{ kernel, code, folder, want string }{
		{"bash", "pytest", "tests", "*.csv :python Makefile"},
		{"bash", "pytest", "docs", "*.csv :python Makefile"},
		{"bash", "python3 report.py", "tests/data", "*.csv :python Makefile"},
		{"bash", "python3 report.py", "docs", ""}, // the program may have counted the names
		{"bash", "python3 report.py", ".", "*.csv :python Makefile"},
		{"bash", "go test", "testdata", ""},
		{"bash", "go test", "docs", "*.csv :go :python Makefile"},
		{"python", "import a", ".", "*.csv :python Makefile"},
		{"python", "import a", "docs", ""},
		{"python", "import json, os.path\nfrom datetime import date", ".", ":python"}, // only modules are looked for
		{"python", "import json, pandas", ".", "*.csv :python Makefile"},
		{"python", "from pathlib import Path\nlen(list(Path().iterdir()))", ".", ""},
		{"python", "!ls", ".", ""},
		{"r", "list.files()", ".", ""},
	} {
		if got := strings.Join(listing.Of(c.kernel, c.code).Names(c.folder, opened), " "); got != c.want {
			t.Errorf("%s, %s: of %s counts %q, want %q", c.kernel, c.code, c.folder, got, c.want)
		}
	}
}

// TestMatch: what of a folder counts for the tools of a language.
func TestMatch(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]string{"a.py": ":python", "conftest.py": ":python", "pytest.ini": ":python",
		"x.so": ":python", ".gitignore": ":python", "range.ts": ":node", "node_modules": ":node",
		".mocharc.yml": ":node",
		"a_test.go":    ":go", "x.syso": ":go", "go.work": ":go", "vendor": ":go", "a.csv": "*.csv", "x": "x"} {
		if !listing.Match([]string{of}, name) {
			t.Errorf("%s does not count for %s", name, of)
		}
		if !listing.Match(nil, name) {
			t.Errorf("%s does not count where every name does", name)
		}
	}
	for name, of := range map[string]string{"README.md": ":python", "data.csv": ":node", "a.py": ":go",
		"b.csv": "*.txt"} {
		if listing.Match([]string{of}, name) {
			t.Errorf("%s counts for %s", name, of)
		}
	}
}

// TestLooked: which names tools look for beside what was read.
func TestLooked(t *testing.T) {
	t.Parallel()
	got := listing.Looked(map[string][]string{"src/pkg/a.py": nil, "lib/classes/index.js": nil, "x.txt": nil,
		"go/all": {":go"}})
	for dir, names := range map[string][]string{
		"src/pkg":     {"conftest.py", "__init__.py", "tox.ini"},
		"src":         {"conftest.py"},
		".":           {"pytest.ini", "package.json", "go.mod"},
		"lib/classes": {"package.json", "index", "index.json"},
		"lib":         {"classes.js", "node_modules"},
		"go/all":      {"go.mod"},
	} {
		for _, name := range names {
			if !slices.Contains(got[dir], name) {
				t.Errorf("in %s nobody looks for %s: %q", dir, name, got[dir])
			}
		}
	}
	if slices.Contains(got["src"], "package.json") || slices.Contains(got["lib/classes"], "index.test.js") {
		t.Errorf("%q", got)
	}
}

// TestKindOf tells notebooks and what runs left of them from other files.
func TestKindOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]listing.Kind{
		"# A\n\n```bash {#a}\nls\n```\n": listing.Notebook,
		"# A\n\n```bash\nls\n```\n":      listing.Other,
		"# A {braces}\n":                 listing.Other,
		"---\ntitle: {a: b}\n---\n# A\n": listing.Other,
	} {
		if got := listing.KindOf("a.md", []byte(text)); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
	text, err := os.ReadFile("../../examples/expressions.out.md")
	if got := listing.KindOf("a.md", text); err != nil || got != listing.Output {
		t.Errorf("an output is %d, %v", got, err)
	}
	if got := listing.KindOf("a.ipynb", []byte(`{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":5}`)); got !=
		listing.Notebook {
		t.Errorf("a Jupyter notebook is %d", got)
	}
}

// TestCalls: whether a step may run what is installed for the repository.
func TestCalls(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]bool{"ls -R src": false, "git ls-files | sort": false, "wc -l *.py": false,
		"find . -name '*.py'": false, "find . -name '*.py' -exec x {} +": true, "pytest": true, "python3 x.py": true,
		"npx mocha": true, "make": true, "$RUN": true, ".venv/bin/ls": true, "env A=1 pytest": true, "": false,
		"timeout 5 mypy src": true, "xargs wc": true, "python3 -m pytest": true, "go vet": true,
		"x() { jest; }; x": true, "/usr/bin/wc -l a": false, "sh -c 'pytest -q'": true, "sh -c 'ls src'": false,
		"tox": true, "npm test": true, "trap 'rm x' EXIT": false, "trap jest EXIT": true, "git bisect run x": true,
		"git submodule foreach make": true} {
		if got := listing.Of("bash", script).Calls(); got != want {
			t.Errorf("%s: %t, want %t", script, got, want)
		}
	}
	for script, want := range map[string]string{"find . -name '*.js'": "both", "find": "both",
		"find src lib -type f":  "",
		"find packages -name x": "packages/a/node_modules", "cd packages && find a": "packages/a/node_modules",
		"ls": "", "ls -l src": "", "ls *": "both", "ls -R": "both", "ls -lR src": "", "grep -r x": "both",
		"grep -rn x .": "both", "grep -rn x src": "", "grep x *.py": "", "du -s .": "both", "du -s src": "",
		"tree":           "both",
		"cp -a . /tmp/x": "both", "cp -a src dst": "", "find $DIR": "both", "git ls-files": "", "stat *": "",
		"sh -c 'find .'": "both", "diff -r a ../b": "both", "rm -rf build": ""} {
		got := ""
		for _, folder := range []string{"node_modules", "packages/a/node_modules"} {
			if l := listing.Of("bash", script); l.Walks(folder) {
				if got != "" {
					folder = "both"
				}
				got = folder
			}
		}
		if got != want {
			t.Errorf("%s walks %q, want %q", script, got, want)
		}
	}
	if !listing.Of("python", "import x").Calls() || !listing.Of("r", "x").Calls() {
		t.Error("an interpreter calls nothing")
	}
}
