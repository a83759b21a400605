package cmdtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"markmill/engine/sandbox"
	"markmill/engine/worktree/gittest"
	"markmill/runs"
)

// wrongTree is a way in which what is installed leads from the worktree back to the checkout. The change breaks add of
// the package pkg in src, in Python, or of the package b in b, in JavaScript; its test must fail, or be wrong_tree.
type wrongTree struct {
	name  string
	needs string // a program; "" is made by hand, which is quick
	make  string // in the checkout; $PWD is it
	test  string
	code  string // verification_failed where the test runs on the worktree
	// the run is of a linked worktree below the checkout, and what is installed leads to the main one
	linked bool
}

const (
	checkPython = "python3 tests/test_add.py"
	checkNode   = `node -e 'if (require("b") !== 42) process.exit(1)'`
	npmInstall  = "npm install --silent --no-audit --no-fund --offline"
	// an environment of the system's Python without pip, which takes no time
	environment = "python3 -m venv --without-pip .venv; site=$(echo .venv/lib/python*/site-packages)\n"
)

var wrongTrees = []wrongTree{
	{name: "a .pth file", make: environment + `echo "$PWD/src" > $site/pkg.pth`, test: checkPython},
	{name: "a finder of setuptools", make: environment + `cat > $site/__editable___pkg_finder.py <<END
import importlib.util, sys
MAPPING = {"pkg": "$PWD/src/pkg"}
NAMESPACES = {}
class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name in MAPPING:
            at = MAPPING[name] + "/__init__.py"
            return importlib.util.spec_from_file_location(name, at)
def install():
    sys.meta_path.append(Finder)
END
echo "import __editable___pkg_finder; __editable___pkg_finder.install()" > $site/__editable__.pkg.pth`,
		test: checkPython},
	{name: "a console script", make: environment + `echo "$PWD/src" > $site/pkg.pth
printf '#!%s\nimport pkg, sys\nsys.exit(pkg.add(1, 2) != 3)\n' "$PWD/.venv/bin/python" > .venv/bin/tool
chmod +x .venv/bin/tool`, test: "tool"},
	{name: "without the module that leads", make: environment + `echo "$PWD/src" > $site/pkg.pth`,
		test: "PYTHONPATH= " + checkPython, code: runs.CodeWrongTree},
	{name: "isolated Python", make: environment + `echo "$PWD/src" > $site/pkg.pth`,
		test: "python3 -I tests/test_add.py", code: runs.CodeWrongTree},
	{name: "a linked worktree", make: environment + `echo "$PWD/src" > $site/pkg.pth`, test: checkPython, linked: true},
	{name: "a linked worktree, isolated Python", make: environment + `echo "$PWD/src" > $site/pkg.pth`,
		test: "python3 -I tests/test_add.py", code: runs.CodeWrongTree, linked: true},
	{name: "PYTHONPATH", make: environment, test: `PYTHONPATH=$CHECKOUT/src ` + checkPython, code: runs.CodeWrongTree},
	{name: "a link to node_modules", needs: "node", make: "mkdir node_modules; ln -s ../b node_modules/b",
		test: `ln -s $CHECKOUT/node_modules node_modules; ` + checkNode, code: runs.CodeWrongTree},
	{name: "NODE_PATH", needs: "node", make: "mkdir node_modules; ln -s ../b node_modules/b",
		test: `NODE_PATH=$CHECKOUT/node_modules ` + checkNode, code: runs.CodeWrongTree},
	{name: "a build folder", make: `mkdir build
printf '#!/bin/sh\nPYTHONPATH=%s/src exec python3 %s/tests/test_add.py\n' "$PWD" "$PWD" > build/unit; chmod +x build/unit
echo "$PWD/build/unit" > build/tests`, test: `sh -c "$(cat build/tests)"`, code: runs.CodeWrongTree},
	{name: "a script on PATH", make: environment + `export PATH=$PWD/tools:$PATH`, test: "unit"},
	{name: "a path in a setting", make: environment + `echo "$PWD/src" > src.path`,
		test: `python3 -c "import sys; sys.path.insert(0, open('src.path').read().strip()); import pkg; assert pkg.add(1, 2) == 3"`,
		code: runs.CodeWrongTree},
	{name: "pip, setuptools", needs: "pip", make: "python3 -m venv .venv && .venv/bin/pip install -q -e .",
		test: checkPython},
	{name: "pip, setuptools, strict", needs: "pip", make: "python3 -m venv .venv && " +
		".venv/bin/pip install -q -e . --config-settings editable_mode=strict", test: checkPython,
		code: runs.CodeWrongTree}, // a folder of links in build, which copy: takes along
	{name: "pip, hatch", needs: "pip", make: `
sed -i 's/setuptools.build_meta/hatchling.build/; s/"setuptools"/"hatchling"/' pyproject.toml
git commit -qam hatch; python3 -m venv .venv && .venv/bin/pip install -q -e .`, test: checkPython},
	{name: "pip, flit", needs: "pip", make: `
sed -i 's/setuptools.build_meta/flit_core.buildapi/; s/"setuptools"/"flit_core"/' pyproject.toml
git commit -qam flit; python3 -m venv .venv && .venv/bin/pip install -q -e .`, test: checkPython},
	{name: "npm workspaces", needs: "npm", make: npmInstall, test: checkNode},
	{name: "npm workspaces, linked", needs: "npm", make: npmInstall,
		test: `ln -s $CHECKOUT/node_modules node_modules; ` + checkNode, code: runs.CodeWrongTree},
}

// TestWrongTree: a change that breaks the code never passes because the checkout's code was tested, whether the
// worktree is mounted at the checkout's path or stands elsewhere. Mounted, what is not changed passes, however it is
// installed.
func TestWrongTree(t *testing.T) {
	if sandbox.Probe(t.Context(), "", sandbox.Need{}).Landlock < 6 {
		t.Skip("this kernel has no Landlock 6: nothing was tested")
	}
	for _, c := range wrongTrees {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if !everything() && (c.needs == "pip" || c.needs == "npm") {
				t.Skip("MARKMILL_ALL runs the real tools")
			}
			if _, err := exec.LookPath(c.needs); c.needs != "" && err != nil {
				t.Skipf("no %s on this machine", c.needs)
			}
			for _, tree := range []string{runs.TreeSeparate, runs.TreeMounted} {
				testWrongTree(t, c, tree)
			}
		})
	}
}

func testWrongTree(t *testing.T, c wrongTree, tree string) {
	g := gittest.New(t)
	onDisk, err := os.MkdirTemp(testSetup.disk, "source-") // steps may write all of /dev/shm, where other tests are
	gittest.Must(t, err)
	onDisk = filepath.Join(onDisk, "source")
	gittest.Must(t, exec.CommandContext(t.Context(), "cp", "-a", g.Dir, onDisk).Run())
	g.Dir = onDisk
	for name, text := range map[string]string{
		"src/pkg/__init__.py": "def add(a, b): return a+b\n",
		"tests/test_add.py":   "from pkg import add\nassert add(1, 2) == 3\n",
		"pyproject.toml": "[build-system]\nrequires = [\"setuptools\"]\nbuild-backend = \"setuptools.build_meta\"\n" +
			"[project]\nname = \"pkg\"\nversion = \"1\"\ndescription = \"x\"\n",
		"package.json":   `{"name": "top", "private": true, "workspaces": ["b"]}`,
		"b/package.json": `{"name": "b", "version": "1.0.0", "main": "i.js"}`,
		"b/i.js":         "module.exports = 42\n",
		"tools/unit":     "#!/bin/sh\nexit 0\n",
		"markmill.yaml":  "policy:\n  path: [tools]\n",
		".gitignore":     ".venv/\nnode_modules\nbuild/\n*.egg-info/\n.markmill/\nsrc.path\npackage-lock.json\n",
	} {
		g.Write(name, text)
	}
	gittest.Must(t, os.Chmod(filepath.Join(g.Dir, "tools/unit"), 0o755))
	g.Commit("base")
	variables := filepath.Join(t.TempDir(), "path")
	cmd := exec.CommandContext(t.Context(), "bash", "-ec", c.make+"\necho \"$PATH\" > "+variables)
	cmd.Dir = g.Dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", c.make, err, out)
	}
	path, err := os.ReadFile(variables)
	gittest.Must(t, err)
	main := g.Dir
	if c.linked {
		g.Dir = filepath.Join(main, "build", "linked")
		gittest.GitIn(t, main, nil, "worktree", "add", "-q", g.Dir)
	}
	if tree == runs.TreeMounted && c.linked {
		tree = "" // which is separate there
	} else if tree == runs.TreeMounted {
		c.code = ""
	}
	for name, want := range map[string]struct{ change, code string }{
		"intact.md": {"true", c.code},
		"broken.md": {"sed -i s/a+b/a-b/ src/pkg/__init__.py; echo 'throw new Error(1)' > b/i.js; " +
			"echo 'exit 1' > tools/unit", c.code},
	} {
		if want.code == "" && name == "broken.md" {
			want.code = runs.CodeVerificationFailed
		}
		book := "---\ncopy: [/build, src.path, node_modules/]\nenv: {CHECKOUT: \"" + g.Dir + "\"}\n---\n" +
			"```bash {#change}\n" + want.change + "\n```\n```bash {#unit .test}\n" + c.test + "\n```\n"
		if strings.Contains(c.test, "$CHECKOUT") {
			book = strings.Replace(book, ", node_modules/", "", 1)
		}
		g.Write(name, book)
		run := exec.CommandContext(t.Context(), builtProgram(t), "run", name)
		run.Dir = g.Dir
		run.Env = append(os.Environ(), "MARKMILL_TREE="+tree,
			"PATH="+filepath.Join(main, ".venv", "bin")+":"+strings.TrimSpace(string(path)))
		out, err := run.CombinedOutput()
		told := strings.Contains(string(out), "markmill: "+want.code+": ")
		if want.code == "" && err != nil || want.code != "" && !told {
			t.Errorf("%s, %s: %v, want %q\n%s", tree, name, err, want.code, out)
		}
	}
}
