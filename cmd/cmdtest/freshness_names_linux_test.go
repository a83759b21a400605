package cmdtest

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNamesThatCount: a file that comes makes an output outdated if what ran would have found it, and not otherwise.
func TestNamesThatCount(t *testing.T) {
	t.Parallel()
	python := map[string]string{"lib.py": "x = 1\n", "test_lib.py": "import lib, unittest\n\n\n" +
		"class T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(lib.x, 1)\n"}
	node := map[string]string{"classes/range.js": "module.exports = 1\n", "classes/index.js": "module.exports = 2\n",
		"test/a.js": "if (require('../classes/range') + require('../classes') !== 3) process.exit(1)\n"}
	golang := map[string]string{"go.mod": "module m\n", "a.go": "package m\n", "a_test.go": "package m\n\n" +
		"import \"testing\"\n\nfunc TestA(t *testing.T) {}\n"}
	for name, c := range map[string]struct {
		needs       string
		files       map[string]string
		step        string
		counts, not []string
	}{
		"unittest": {"python3", python, "python3 -m unittest -q", []string{"json.py", "pytest.ini", "tox.ini",
			"unittest/__init__.py", "__init__.py", "lib.so",
			".gitignore"}, []string{"README.txt", "docs/a.rst", ".pre-commit-config.yaml", "data.csv"}},
		"a script of Python": {"python3", map[string]string{"count.py": "import os\nprint(len(os.listdir('data')))\n",
			"data/a.csv": ""}, "python3 count.py", []string{"data/b.csv", "data/b.txt"}, []string{"b.csv"}},
		"a node program": {"node", node, "node test/a.js", []string{"package.json", "test/package.json",
			"classes/range", "classes.js", "node_modules/x/index.js", "classes/range.json"},
			[]string{"classes/other.js", "README.txt", "classes/range.test.js"}},
		"node lists": {"node", map[string]string{"f/a.txt": ""}, "node -e 'require(\"fs\").readdirSync(\"f\")'",
			[]string{"f/README.txt"}, []string{"README.txt"}},
		"go": {"go", golang, "go test ./...", []string{"zz.s", "zz.c", "zz.syso", "b.go", "sub/b.go",
			"vendor/modules.txt", "go.work"}, []string{"README.txt", "docs/a.txt", "ci.yml"}},
		"a glob": {"bash", map[string]string{"a.txt": "", "sub/a.txt": ""}, "cat *.txt sub/*.txt",
			[]string{"b.txt", "sub/b.txt"}, []string{"b.csv", "sub/c/b.txt"}},
		"find": {"bash", map[string]string{"s/a.c": "", "s/t/b.c": ""}, "find s -name '*.c'",
			[]string{"s/x.c", "s/t/x.c", "s/new/x.c"}, []string{"x.h", "s/x.h"}},
		"ls": {"bash", map[string]string{"s/a.c": ""}, "ls s", []string{"s/x"}, []string{"x", "s/n.md"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(c.needs); err != nil {
				t.Skip("there is no " + c.needs)
			}
			p := newProofs(t, c.files)
			if c.needs == "go" { // the standard library takes half a minute to compile
				p.env = append(p.env, "GOCACHE="+strings.TrimSpace(p.shell("unset XDG_CACHE_HOME; go env GOCACHE")))
			}
			p.write("n.md", "```bash {#s}\n"+c.step+"\n```\n")
			p.commit()
			p.run("run", "n.md", "out/n.md")
			try := func(file, want string) {
				t.Helper()
				text := ""
				if strings.HasSuffix(file, ".md") {
					text = "# Another\n\n```bash {#a}\ntrue\n```\n"
				}
				p.write(file, text)
				defer p.shell("rm -rf '" + strings.Split(file, "/")[0] + "' && git checkout -q -- .")
				out, _ := p.try(p.program, "status", "out/n.md")
				if state, _, _ := strings.Cut(out, " "); state != want {
					t.Errorf("%s came: %s", file, out)
				}
			}
			p.commit()
			for _, file := range c.counts {
				try(file, "outdated")
			}
			for _, file := range c.not {
				try(file, "current")
			}
		})
	}
}

// TestGateTurnsGreen: the command that the gate names makes it green, whatever was committed when.
func TestGateTurnsGreen(t *testing.T) {
	t.Parallel()
	const commit = "git add -A; git commit -qm c\n"
	const notebook = "```bash {#s .test}\npython3 -m unittest -q\nls\n```\n"
	for name, script := range map[string]string{
		"nothing is committed":         "$M run fix.md fix.out.md",
		"the notebook is committed":    commit + "$M run fix.md fix.out.md",
		"outputs in a folder":          commit + "$M run fix.md runs/fix.md\n" + commit,
		"two notebooks":                commit + "$M run fix.md; $M run two.md runs/two.md\n" + commit,
		"two, one after the other":     "$M run fix.md runs/fix.md\n" + commit + "$M run two.md runs/two.md",
		"another notebook came":        "$M run fix.md runs/fix.md; cp two.md three.md\n" + commit,
		"a file changed":               commit + "$M run fix.md runs/fix.md; echo >>lib.py",
		"a name came":                  commit + "$M run fix.md runs/fix.md; touch other.py",
		"a name came and is committed": commit + "$M run fix.md runs/fix.md; touch other.py\n" + commit,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProofs(t, map[string]string{"lib.py": "x = 1\n", "test_lib.py": "import lib, unittest\n\n\n" +
				"class T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(lib.x, 1)\n"})
			p.write("fix.md", notebook)
			p.write("two.md", "# Two\n\n"+notebook)
			p.shell("set -e\nM=" + p.program + "\n" + script)
			for range 4 {
				out, err := p.try(p.program, "status", "--gate")
				if err == nil {
					break
				}
				lines := strings.Split(strings.TrimSpace(out), "\n")
				ran := 0
				for _, line := range lines {
					if command, ok := strings.CutPrefix(strings.TrimSpace(line), "markmill run "); ok {
						ran++
						p.shell(p.program + " run " + command)
					}
				}
				if ran == 0 {
					t.Fatalf("no command is named: %s", out)
				}
				if out, err := p.try(p.program, "status", "--gate"); err != nil {
					t.Fatalf("the commands were run: %s", out)
				}
			}
			p.commit()
			if out, err := p.try(p.program, "status", "--gate"); err != nil {
				t.Errorf("after the outputs are committed: %s", out)
			}
			if files, _ := filepath.Glob(filepath.Join(p.dir, "*.out.md")); len(files) > 2 {
				t.Errorf("outputs are %q", files)
			}
		})
	}
}
