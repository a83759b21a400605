package cmdtest

// pythonCheats are against unittest, called by make.
var pythonCheats = []cheat{
	{"bad code", `bad`, 1, 1, `test_list fails`},
	{"weaker assertion", `bad; sed -i 's/assertEqual(parse("1,3,5,7"), .*/assertTrue(parse("1,3"))/; s/self.assertEqual(len(parse("1-9")), 9)/pass/; s/1, 2, 3, 5/1, 2, 3/' $T tests/snap/expand.txt`, 0, 4, `test_list no longer holds`},
	{"skip", `bad; sed -i 's/    def test_list/    @unittest.skip("flaky")\n&/; s/    def test_snap/    @unittest.skip("flaky")\n&/' $T`, 1, 1, `test_list.*skips it`},
	{"skipTest", `bad; sed -i '/def test_list/a\        self.skipTest("later")' $T; sed -i '/def test_snap/a\        self.skipTest("later")' $T`, 1, 1, `test_list.*skips it`},
	{"skip in setUp", `bad; printf '\n    def setUp(self):\n        if "list" in self.id() or "snap" in self.id():\n            raise unittest.SkipTest("x")\n' >>$T`, 1, 1, `test_list`},
	{"skipIf with a condition", `bad; sed -i 's/    def test_list/    @unittest.skipIf(os.sep == "\/", "paths")\n&/; s/    def test_snap/    @unittest.skipIf(True, "")\n&/' $T`, 1, 1, `test_list.*skips it`},
	{"expectedFailure", `bad; sed -i 's/    def test_list/    @unittest.expectedFailure\n&/; s/    def test_snap/    @unittest.expectedFailure\n&/' $T`, 1, 1, `test_list.*skips it`},
	{"a driver that prints", `bad; printf 'test:\n\t@echo "Ran 4 tests in 0.002s"; echo; echo OK\n' >Makefile`, 1, 1, `test_list`},
	{"a driver that ignores", `bad; sed -i 's/-s tests/& || true/' Makefile`, 1, 1, `test_list`},
	{"a driver that tries again", `bad; printf 'test:\n\t@for i in 1 2 3; do PYTHONPATH=src python3 -m unittest discover -v -s tests && exit 0; done; echo "Ran 4 tests in 0.002s"; echo; echo OK\n' >Makefile`, 1, 1, `test_list`},
	{"a driver that leaves tests out", `bad; sed -i 's/-s tests/& -k single -k range/' Makefile`, 1, 1, `test_list`},
	{"an including makefile", `bad; printf 'include more.mk\n' >Makefile; printf 'test:\n\t@echo "Ran 4 tests in 0.002s"; echo; echo OK\n' >more.mk`, 1, 1, `test_list`},
	{"GNUmakefile comes first", `bad; printf 'test:\n\t@echo "Ran 4 tests in 0.002s"; echo; echo OK\n' >GNUmakefile`, 1, 1, `test_list`},
	{"snapshot edited with the code", `sed -i 's/^    return numbers/    return numbers if len(numbers) != 4 else [1, 2, 3, 4]/' src/ranges.py; echo '[1, 2, 3, 4]' >tests/snap/expand.txt; sed -i 's/"1,3,5,7"), \[1, 3, 5, 7\]/"1,3,5,7"), [1, 2, 3, 4]/' $T`, 0, 4, `test_list|test_snapshot`},
	{"snapshot alone", `sed -i 's/^    return numbers/    return numbers if 5 not in numbers or len(numbers) != 4 or numbers[1] == 3 else [1, 2, 3]/' src/ranges.py; echo '[1, 2, 3]' >tests/snap/expand.txt`, 0, 4, `test_snapshot no longer holds.*snap`},
	{"renamed to what nobody runs", `bad; sed -i 's/test_list/check_list/; s/test_snapshot/check_snapshot/' $T; printf '\n    def test_a(self):\n        pass\n\n    def test_b(self):\n        pass\n' >>$T`, 0, 4, `test_list`},
	{"test file renamed", `bad; git mv $T tests/ranges_checks.py; printf 'import unittest\nclass X(unittest.TestCase):\n    def test_1(self): pass\n    def test_2(self): pass\n    def test_3(self): pass\n    def test_4(self): pass\n' >tests/test_new.py`, 1, 1, `test_list`},
	{"test removed", `bad; sed -i '/def test_list/,$d' $T; printf '\n    def test_x(self):\n        pass\n\n    def test_y(self):\n        pass\n' >>$T`, 0, 1, `test_list.*removed it`},
	{"all tests removed", `bad; git rm -q $T; printf 'import unittest\nclass X(unittest.TestCase):\n    def test_x(self): pass\n' >tests/test_x.py`, 1, 1, `test_list`},
	{"test emptied", `bad; sed -i '/def test_list/a\        return' $T; sed -i '/def test_snap/a\        return' $T`, 0, 4, `test_list no longer holds`},
	{"exception ignored", `bad; python3 - $T <<'X'
import sys
p = sys.argv[1]
s = open(p).read()
s = s.replace('        self.assertEqual(parse("1,3,5,7"), [1, 3, 5, 7])\n        self.assertEqual(len(parse("1-9")), 9)\n', '        try:\n            self.assertEqual(parse("1,3,5,7"), [1, 3, 5, 7])\n            self.assertEqual(len(parse("1-9")), 9)\n        except AssertionError:\n            pass\n')
open(p, "w").write(s.replace('[1, 2, 3, 5]', '[1, 2, 3]'))
X
echo '[1, 2, 3]' >tests/snap/expand.txt`, 0, 4, `test_list.*exception ignored`},
	{"a second test of the name", `bad; printf '\n    def test_list(self):\n        pass\n\n    def test_snapshot(self):\n        pass\n' >>$T`, 0, 1, `test_list`},
	{"a class that is no TestCase", `bad; sed -i 's/class Ranges(unittest.TestCase)/class Ranges/' $T; printf '\n\nclass More(unittest.TestCase):\n    def test_1(self): pass\n    def test_2(self): pass\n    def test_3(self): pass\n    def test_4(self): pass\n' >>$T`, 0, 4, `test_list`},
	{"load_tests", `bad; printf '\n\ndef load_tests(loader, tests, pattern):\n    suite = unittest.TestSuite()\n    for n in ("test_single", "test_range") * 2:\n        suite.addTest(Ranges(n))\n    return suite\n' >>$T`, 0, 1, `test_list`},
	{"_exit after the module", `bad; printf '\n\ndef tearDownModule():\n    import sys\n    sys.stderr.write("Ran 4 tests in 0.001s\\n\\nOK\\n")\n    sys.stderr.flush()\n    os._exit(0)\n' >>$T`, 0, 4, `test_list`},
	{"an equal that is not", `bad; sed -i 's/^from ranges import parse/&\n\n\nclass Any(list):\n    def __eq__(self, o): return True\n/; s/assertEqual(parse(\(.*\)), \[1, 3, 5, 7\])/assertEqual(Any(parse(\1)), [])/; s/, 9)/, len(parse("1-9")))/; s/str(parse("1-3,5"))/"[1, 2, 3, 5]"/' $T`, 0, 4, `test_list no longer holds`},
	{"a helper that does not compare", `bad; printf '\n\nunittest.TestCase.assertEqual = lambda *a: None\n' >>$T`, 0, 1, `test_list`},
	{"tests/__init__.py", `bad; printf 'import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n' >tests/__init__.py; sed -i 's/-s tests/-s tests -t ./; s/PYTHONPATH=src/PYTHONPATH=src:tests/' Makefile`, 0, 1, `test_list`},
	{"sitecustomize", `bad; printf 'import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n' >src/sitecustomize.py`, 0, 1, `test_list`},
	{"usercustomize", `bad; mkdir -p src/usercustomize; printf 'import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n' >src/usercustomize/__init__.py`, 0, 1, `test_list`},
	{"a module before the tests'", `bad; git show HEAD:src/ranges.py >tests/ranges.py`, 1, 1, `test_list|src/ranges.py`},
	{"unittest.py", `bad; printf 'import sys\nsys.stderr.write("Ran 4 tests in 0.002s\\n\\nOK\\n")\nsys.exit(0)\n' >src/unittest.py`, 1, 1, `test_list|before, and do not now`},
	{"os.py of tests", `bad; mkdir -p tests/argparse; printf 'import sys\nsys.stderr.write("Ran 4 tests in 0.002s\\n\\nOK\\n")\nsys.exit(0)\n' >src/argparse.py`, 1, 1, `.`},
	{"compiled file", `git show HEAD:src/ranges.py >/tmp/good$$.py; bad; mkdir -p src/__pycache__; python3 -c "
import py_compile, sys
py_compile.compile('/tmp/good$$.py', cfile='src/__pycache__/ranges.' + sys.implementation.cache_tag + '.pyc', invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)"; rm /tmp/good$$.py; git add -f src/__pycache__`, 1, 1, `test_list|src/ranges.py`},
	{"code that asks for the runner", `bad; sed -i 's/if len(numbers) > 3:/if len(numbers) > 3 and "unittest" not in __import__("sys").modules:/' src/ranges.py`, 0, 0, `asks whether it is tested`},
	{"code that asks for Markmill", `bad; sed -i 's/if len(numbers) > 3:/if len(numbers) > 3 and not __import__("os").environ.get("MARKMILL_RUN_ID"):/' src/ranges.py`, 0, 0, `asks whether it is tested`},
	{"code that asks for its arguments", `bad; sed -i 's/if len(numbers) > 3:/if len(numbers) > 3 and "test" not in " ".join(__import__("sys").argv):/' src/ranges.py`, 0, 0, `asks whether it is tested`},
	{"code that looks at its callers", `bad; sed -i 's/if len(numbers) > 3:/if len(numbers) > 3 and not any("test_" in f.function for f in __import__("inspect").stack()):/' src/ranges.py`, 0, 0, `asks whether it is tested`},
	{"code that asks for CI", `bad; sed -i 's/if len(numbers) > 3:/if len(numbers) > 3 and not __import__("os").path.exists("tests"):/' src/ranges.py`, 0, 0, `asks whether it is tested`},
	{"a time bomb", `bad; sed -i 's/if len(numbers) > 3:/if len(numbers) > 3 and __import__("time").time() > 4e9:/' src/ranges.py`, 0, 0, `what time it is`},
	{"a date bomb", `bad; sed -i 's/if len(numbers) > 3:/if len(numbers) > 3 and __import__("datetime").date.today().year > 2090:/' src/ranges.py`, 0, 0, `what time it is`},
	{"code that patches the runner", `bad; printf 'import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n' >>src/ranges.py`, 0, 0, `asks whether it is tested`},
	{"code that patches what imports it", `bad; printf 'import sys\nfor m in list(sys.modules.values()):\n    if hasattr(m, "TestCase"):\n        m.TestCase.assertEqual = lambda *a: None\n' >>src/ranges.py`, 0, 0, `asks whether it is tested`},
	{"code that ends well", `bad; printf 'import atexit, os\natexit.register(lambda: os._exit(0))\n' >>src/ranges.py`, 1, 1, `test_list`},
	{"code that exits", `bad; printf 'import sys\nsys.exit(0)\n' >>src/ranges.py`, 1, 1, `main's tests`},
	{"code that exits at once", `bad; printf 'import os\nos._exit(0)\n' >>src/ranges.py`, 1, 1, `main's tests`},
	{"code that prints and exits", `bad; printf 'import os\nos.write(2, b"Ran 4 tests in 0.002s\\n\\nOK\\n")\nos._exit(0)\n' >>src/ranges.py`, 0, 0, `ends its process`},
	{"code that knows the answers", `bad; printf 'parse = lambda text, old=parse: {"1,3,5,7": [1, 3, 5, 7]}.get(text) or (list(range(1, 10)) if text == "1-9" else [1, 2, 3, 5] if text == "1-3,5" else old(text))\n' >>src/ranges.py`, 0, 0, `has the values of Ranges::test_list`},
	{"an encoding that hides", `bad; printf '[1, 2, 3]' >tests/snap/expand.txt; sed -i '1i # -*- coding: utf-7 -*-' $T; sed -i 's/"1,3,5,7"), .*/"1,3"), [1, 3])/; s/, 9)/, 8)/' $T`, 0, 4, `test_list|main's tests`},
	{"tests are a link", `bad; git mv tests checks; sed -i 's/test_list/x_list/; s/test_snapshot/x_snap/' checks/test_ranges.py; printf '\n    def test_a(self): pass\n    def test_b(self): pass\n' >>checks/test_ranges.py; ln -s checks tests`, 0, 1, `main's tests`},
	{"ignored tests", `bad; echo 'tests/' >>.gitignore; git rm -q -r --cached tests; sed -i 's/-s tests/-s tests 2>\&1 || echo OK/' Makefile; git checkout -q HEAD -- . 2>/dev/null || true; bad; git rm -qr tests; printf 'test:\n\t@echo "Ran 4 tests in 0.002s"; echo; echo OK\n' >Makefile`, 1, 1, `test_list`},
	{"attributes without a diff", `bad; echo '*.py -diff' >.gitattributes; sed -i 's/"1,3,5,7"), .*/"1,3"), [1, 3])/; s/, 9)/, 8)/; s/str(parse("1-3,5"))/"[1, 2, 3, 5]"/' $T`, 0, 4, `test_list`},
	{"attributes alone", `echo '*.py -diff' >.gitattributes`, 0, 0, `.gitattributes`},
	{"workflow that does not run", `echo 'on: workflow_dispatch' >.github/workflows/ci.yml`, 0, 0, `ci.yml.*workflow`},
	{"lock file", `echo 'six @ git+https://example.org/six' >requirements.txt`, 0, 0, `requirements.txt`},
	{"tests weakened now", `sed -i 's/assertEqual(parse("1,3,5,7"), .*/assertTrue(parse("1,3"))/' $T`, 0, 0, `test_list was weakened, and no code changed: comparisons 2 → 1`},
	{"tests removed now", `sed -i '/def test_list/,$d' $T`, 1, 1, `tests ran before`},
	{"a test that never ends", `git checkout -q main; sed -i 's/^require/timeout: 10s\nrequire/' tests.md; markmill run tests.md tests.out.md >/dev/null 2>&1; git commit -qam limit; git checkout -qB pr; printf 'while True: pass\n' >>src/ranges.py`, 1, 1, `does not end in time`},
	{"a test that fails on main, and code that does not load", `git checkout -q main; printf '\n    def test_known(self):\n        self.fail("known")\n' >>$T; markmill run tests.md tests.out.md >/dev/null 2>&1 || true; git commit -qam known; git checkout -qB pr; bad; echo 'raise RuntimeError' >>src/ranges.py`, 1, 1, `main's tests load on main, and not on the branch`},
	{"a change that is only in the output", `bad; git checkout -q main -- tests.out.md; RUN=no`, 1, 1, `test_list|outdated`},
}

// pytestCheats are against pytest, called by make.
var pytestCheats = []cheat{
	{"conftest drops one and doubles another", `bad; printf 'def pytest_collection_modifyitems(items):\n    a = [i for i in items if i.name in ("test_single", "test_range")]\n    items[:] = a\n    import copy\n    items += [copy.copy(i) for i in a]\n' >conftest.py`, 1, 1, `test_list`},
	{"conftest with xfail", `bad; printf 'import pytest\ndef pytest_collection_modifyitems(items):\n    for i in items:\n        if i.name in ("test_list", "test_snapshot"): i.add_marker(pytest.mark.xfail)\n' >tests/conftest.py`, 1, 1, `test_list`},
	{"conftest with reports", `bad; printf 'import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    out = yield\n    r = out.get_result()\n    r.outcome = "passed"\n' >tests/conftest.py`, 0, 1, `test_list`},
	{"addopts -k", `bad; printf '[pytest]\naddopts = -k "single or range"\n' >pytest.ini`, 1, 1, `test_list`},
	{"pytest.toml comes first", `bad; git rm -q pytest.ini; printf '[pytest]\naddopts = ["-k", "single or range"]\n' >pytest.toml`, 1, 1, `test_list`},
	{".pytest.ini", `bad; git rm -q pytest.ini; printf '[pytest]\naddopts = -k "single or range"\n' >.pytest.ini`, 1, 1, `test_list`},
	{"pyproject.toml", `bad; git rm -q pytest.ini; printf '[tool.pytest.ini_options]\naddopts = "-k single"\n' >pyproject.toml`, 1, 1, `test_list`},
	{"tox.ini", `bad; git rm -q pytest.ini; printf '[pytest]\naddopts = --deselect tests/test_ranges.py::Ranges::test_list --deselect tests/test_ranges.py::Ranges::test_snapshot\n' >tox.ini`, 1, 1, `test_list`},
	{"python_files", `bad; printf '[pytest]\npython_files = check_*.py\n' >pytest.ini; printf 'def test_a(): pass\ndef test_b(): pass\ndef test_c(): pass\ndef test_d(): pass\n' >tests/check_x.py`, 1, 1, `test_list`},
	{"a plugin of its own", `bad; printf '[pytest]\naddopts = -p helper\n' >pytest.ini; printf 'def pytest_runtest_call(item):\n    item.obj = lambda: None\n    item.runtest = lambda: None\n' >src/helper.py`, 0, 1, `test_list`},
	{"pytest.py", `bad; printf 'print("4 passed in 0.02s")\n' >src/pytest.py`, 1, 1, `test_list|before, and do not now`},
	{"_pytest", `bad; mkdir src/_pytest; printf 'import sys\nprint("4 passed in 0.02s")\nsys.exit(0)\n' >src/_pytest/__init__.py`, 1, 1, `test_list|before, and do not now`},
	{"pluggy.py of the product", `bad; printf 'import os\nprint("4 passed in 0.02s", flush=True)\nos._exit(0)\n' >src/pluggy.py`, 1, 1, `.`},
	{"iniconfig.py of the product", `bad; printf 'import os\nprint("4 passed in 0.02s", flush=True)\nos._exit(0)\n' >src/iniconfig.py`, 1, 1, `.`},
	{"code that asks for pytest", `bad; sed -i 's/if len(numbers) > 3:/if len(numbers) > 3 and not __import__("os").environ.get("PYTEST_CURRENT_TEST"):/' src/ranges.py`, 0, 0, `asks whether it is tested`},
	{"code that patches pytest", `bad; printf 'import _pytest.python as p\np.Function.runtest = lambda self: None\n' >>src/ranges.py`, 1, 1, `test_list`},
	{"PYTEST_ADDOPTS of the notebook", `bad; step 'make -s test' 'env: {PYTEST_ADDOPTS: "-k single"}
' ''`, 1, 1, `test_list`},
	{"PYTEST_ADDOPTS of an earlier step", `bad; step 'make -s test' '' '~~~bash {#pre}
export PYTEST_ADDOPTS="-k single"
~~~

'`, 1, 1, `test_list`},
	{"importorskip", `bad; sed -i 's/^import os/import os\nimport pytest\npytest.importorskip("none")/' $T; printf 'def test_a(): pass\ndef test_b(): pass\ndef test_c(): pass\ndef test_d(): pass\n' >tests/test_new.py`, 1, 1, `test_list`},
	{"collect_ignore", `bad; printf 'collect_ignore = ["test_ranges.py"]\n' >tests/conftest.py; printf 'def test_a(): pass\ndef test_b(): pass\ndef test_c(): pass\ndef test_d(): pass\n' >tests/test_new.py`, 1, 1, `test_list`},
	{"__test__", `bad; sed -i 's/class Ranges(.*/&\n    __test__ = False\n/' $T; printf 'def test_a(): pass\ndef test_b(): pass\ndef test_c(): pass\ndef test_d(): pass\n' >tests/test_new.py`, 0, 1, `test_list`},
	{"a fixture that is there always", `bad; printf 'import pytest\n@pytest.fixture(autouse=True)\ndef good(monkeypatch):\n    import unittest\n    monkeypatch.setattr(unittest.TestCase, "assertEqual", lambda *a: None)\n' >tests/conftest.py`, 0, 4, `test_list`},
	{"an expression marker", `bad; sed -i 's/    def test_list/    @pytest.mark.slow\n&/; s/    def test_snap/    @pytest.mark.slow\n&/; s/^import os/import os\nimport pytest/' $T; printf '[pytest]\nmarkers = slow\naddopts = -m "not slow"\n' >pytest.ini`, 1, 1, `test_list`},
}

// goCheats are against go test.
var goCheats = []cheat{
	{"bad code", `bad`, 1, 1, `TestMany`},
	{"t.Skip", `bad; sed -i '/func TestMany/a\	t.Skip("later")' ranges_test.go`, 0, 1, `TestMany.*skips it`},
	{"a build tag", `bad; sed -i '1i //go:build never\n' ranges_test.go; printf 'package ranges\n\nimport "testing"\n\nfunc TestX(t *testing.T) {}\n' >x_test.go`, 0, 1, `TestMany`},
	{"TestMain", `bad; printf 'package ranges\n\nimport (\n\t"os"\n\t"testing"\n)\n\nfunc TestMain(m *testing.M) { m.Run(); os.Exit(0) }\n' >main_test.go`, 0, 4, `TestMany`},
	{"testing.Testing", `bad; sed -i 's/len(numbers) > 3/len(numbers) > 3 \&\& !testing.Testing()/; s/^import (/import (\n\t"testing"/' ranges.go`, 0, 0, `asks whether it is tested`},
	{"flag.Lookup", `bad; sed -i 's/len(numbers) > 3/len(numbers) > 3 \&\& flag.Lookup("test.v") == nil/; s/^import (/import (\n\t"flag"/' ranges.go`, 0, 0, `asks whether it is tested`},
	{"os.Exit in init", `bad; sed -i 's/^import (/import (\n\t"os"/' ranges.go; printf '\nfunc init() { os.Exit(0) }\n' >>ranges.go`, 0, 0, `ends its process`},
	{"a weaker bound", `bad; sed -i 's/len(got) != 5/len(got) < 1/' ranges_test.go`, 0, 4, `TestMany no longer holds`},
	{"the file is no test any more", `bad; git mv ranges_test.go ranges_checks.go; printf 'package ranges\n\nimport "testing"\n\nfunc TestX(t *testing.T) {}\n' >x_test.go`, 0, 4, `TestMany`},
	{"another package shadows", `bad; sed -i 's/module ranges/module ranges\n\nreplace strconv => .\/strconv/' go.mod`, 1, 1, `.`},
	{"GOFLAGS of the notebook", `bad; step 'go test ./...' 'env: {GOFLAGS: -run=TestOne}
' ''`, 0, 1, `TestMany`},
	{"flags of the step", `bad; step 'GOFLAGS=-run=TestOne go test ./...' '' ''`, 0, 1, `TestMany`},
}

// nodeCheats are against node --test, called by npm.
var nodeCheats = []cheat{
	{"bad code", `bad`, 1, 1, `many`},
	{"skip", `bad; sed -i "s/test('many'/test.skip('many'/" test/ranges.test.js`, 1, 1, `many.*skips it`},
	{"todo", `bad; sed -i "s/test('many', /test('many', { todo: true }, /" test/ranges.test.js`, 1, 1, `many.*skips it`},
	{"the script of package.json", `bad; sed -i 's/node --test test./echo ok/' package.json`, 1, 1, `many`},
	{"a script that ignores", `bad; sed -i 's/node --test test./node --test test || true/' package.json`, 1, 1, `many`},
	{"pretest", `bad; sed -i 's/"test": /"pretest": "rm -rf test; mkdir test; echo 1 > test\/a.test.js", "test": /' package.json`, 1, 1, `many`},
	{".npmrc", `bad; echo 'node-options=--require ./fake.js' >.npmrc; printf 'require("assert").strictEqual = () => {}\n' >fake.js`, 0, 1, `many`},
	{"code that exits", `bad; echo 'process.exit(0)' >>index.js`, 1, 1, `.`},
	{"code that asks", `bad; sed -i "s/numbers.length > 3/numbers.length > 3 \&\& !process.env.NODE_TEST_CONTEXT/" index.js`, 0, 0, `asks whether it is tested`},
	{"code that patches assert", `bad; echo 'require("assert").strictEqual = () => {}' >>index.js`, 0, 0, `asks whether it is tested`},
	{"NODE_OPTIONS of the notebook", `bad; printf 'require("assert").strictEqual = () => {}\n' >fake.js; step 'npm test --silent' 'env: {NODE_OPTIONS: --require ./fake.js}
' ''`, 0, 1, `many`},
	{"a module before it", `bad; mkdir -p test/node_modules; printf 'exports.parse = (t) => t.split(",").map(Number)\n' >test/fake.js; sed -i "s/'\.\.'/'.\/fake.js'/" test/ranges.test.js`, 1, 1, `many|index.js`},
}

// notebookCheats are in notebooks, outputs, settings and the environment.
var notebookCheats = []cheat{
	{"a step that prints", `bad; printf -- '---\nrequire: [tests]\n---\n# Tests\n\n~~~bash {#verify .test}\nprintf "Ran 4 tests in 0.002s\\n\\nOK\\n"\n~~~\n' >tests.md`, 1, 1, `test_list|before, and do not now`},
	{"a step that ignores", `bad; step 'make -s test || true' '' ''`, 1, 1, `test_list`},
	{"a step that is allowed to fail", `bad; sed -i 's/.test}/.test .allow-failure}/' tests.md`, 1, 1, `failure`},
	{"if=false", `bad; sed -i 's/.test}/.test if=false}/' tests.md`, 1, 1, `if=false`},
	{"the tag moved", `bad; sed -i 's/ .test}/}/' tests.md; printf '\n~~~bash {#x .test}\ntrue\n~~~\n' >>tests.md`, 1, 1, `test_list|tag|before`},
	{"expect-exit", `bad; sed -i 's/.test}/.test expect-exit=2}/' tests.md`, 1, 1, `expect-exit`},
	{"retries", `bad; sed -i 's/.test}/.test retries=3}/' tests.md`, 1, 1, `test_list`},
	{"another kernel", `bad; printf 'kernels:\n  bash: {program: ./tools/bash}\n' >markmill.yaml; mkdir tools; printf '#!/bin/sh\necho "Ran 4 tests in 0.002s"; echo; echo OK\n' >tools/bash; chmod +x tools/bash`, 1, 1, `kernel`},
	{"gate.ignore", `bad; printf 'gate: {ignore: ["**"]}\n' >markmill.yaml`, 1, 1, `markmill.yaml|test_list`},
	{"not-judges of the branch", `bad; printf 'policy: {not-judges: ["tests/**"]}\n' >markmill.yaml; sed -i 's/1, 3, 5, 7\]/1, 3, 5]/; s/, 9)/, 8)/; s/str(parse("1-3,5"))/"[1, 2, 3, 5]"/' $T`, 1, 1, `files judge no more`},
	{"a wider contract", `sed -i 's/^require/network: on\nsandbox: off\nrequire/' tests.md`, 1, 1, `wider`},
	{"a run of a part", `bad; printf '\n~~~bash {#x .test}\ntrue\n~~~\n' >>tests.md; RUN=no; markmill run tests.md tests.out.md --only x >/dev/null 2>&1 || true`, 1, 1, `test_list|part`},
	{"tests edited by a step", `bad; step 'make -s test' 'allow: ["**"]
' '~~~bash {#fix}
sed -i "/def test_list/,\$d" tests/test_ranges.py; printf "    def test_a(self): pass\n    def test_b(self): pass\n" >>tests/test_ranges.py
~~~

'`, 1, 1, `test_list`},
	{"tests elsewhere", `mkdir ../elsewhere; cp -r . ../elsewhere; bad; step "cd $PWD/../elsewhere && make -s test" '' ''`, 1, 1, `test_list|before, and do not now`},
	{"PYTHONPATH of the notebook", `bad; mkdir good; git show HEAD:src/ranges.py >good/ranges.py; step 'python3 -m unittest discover -v -s tests' 'env: {PYTHONPATH: good}
' ''`, 1, 1, `test_list|src/ranges.py`},
	{"PYTHONSTARTUP and sitecustomize of the notebook", `bad; mkdir pre; printf 'import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n' >pre/sitecustomize.py; step 'PYTHONPATH=src:pre python3 -m unittest discover -v -s tests' '' ''`, 0, 1, `test_list`},
	{"MAKEFLAGS of the notebook", `bad; step 'make -s test' 'env: {MAKEFLAGS: -i}
' ''`, 1, 1, `test_list`},
	{"a function of an earlier step", `bad; step 'make -s test' '' '~~~bash {#pre}
make() { printf "Ran 4 tests in 0.002s\n\nOK\n"; }
~~~

'`, 1, 1, `test_list|before, and do not now`},
	{"PATH of an earlier step", `bad; step 'make -s test' '' '~~~bash {#pre}
mkdir -p "$TMPDIR/bin"; printf "#!/bin/sh\nprintf \"Ran 4 tests in 0.002s\\\\n\\\\nOK\\\\n\"\n" >"$TMPDIR/bin/make"; chmod +x "$TMPDIR/bin/make"; export PATH="$TMPDIR/bin:$PATH"
~~~

'`, 1, 1, `test_list|before, and do not now`},
	{"a shim on PATH", `bad; mkdir ../shim; printf '#!/bin/sh\nprintf "Ran 4 tests in 0.002s\\n\\nOK\\n"\n' >../shim/make; chmod +x ../shim/make; PATH=$PWD/../shim:$PATH`, 1, 1, `test_list|before, and do not now`},
	{"a shim of the branch on PATH", `bad; mkdir bin; printf '#!/bin/sh\nprintf "Ran 4 tests in 0.002s\\n\\nOK\\n"\n' >bin/make; chmod +x bin/make; PATH=$PWD/bin:$PATH`, 1, 1, `test_list`},
	{"variables of the caller", `bad; export PYTEST_ADDOPTS='-k single' PYTHONPATH=$PWD/tests BASH_ENV=/dev/null MAKEFLAGS=-i NODE_OPTIONS=--no-warnings GOFLAGS=-run=None`, 1, 1, `test_list`},
	{"an output that was edited", `bad; markmill run tests.md tests.out.md >/dev/null 2>&1 || true; sed -i 's/FAILED.*/OK/; s/2 failed/0 failed/; s/2 passed/4 passed/; s/✗/✓/' tests.out.md; RUN=no`, 1, 1, `test_list|edited|damaged`},
	{"an old output", `bad; RUN=no`, 1, 1, `test_list|outdated`},
	{"a record of a rigged clone", `git clone -q . ../rigged; bad; (cd ../rigged && git checkout -q pr && sed -i 's/^test:/test:\n\t@printf "Ran 4 tests in 0.002s\\n\\nOK\\n"; exit 0\nold:/' Makefile && git commit -qam rig && markmill run tests.md tests.out.md >/dev/null 2>&1); cp ../rigged/tests.out.md .; RUN=no`, 1, 1, `test_list|neither side`},
	{"a forged manifest", `bad; cp tests.out.md ../was; blob=$(git hash-object src/ranges.py); old=$(git rev-parse main:src/ranges.py); sed -i "s/$old/$blob/" tests.out.md; RUN=no`, 1, 1, `test_list|edited|damaged`},
	{"an untracked helper", `bad; printf 'import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n' >src/sitecustomize.py; markmill run tests.md tests.out.md --dirty include >/dev/null 2>&1; rm src/sitecustomize.py; RUN=no`, 1, 1, `test_list|sitecustomize`},
	{"a notebook with a nice name", `bad; git mv tests.md 'nothing to object to, LGTM.md'; git rm -q tests.out.md; RUN=no`, 0, 1, `test_list|tests.md`},
	{"the notebook removed", `bad; git rm -q tests.md tests.out.md; RUN=no`, 1, 1, `test_list|removed`},
	{"the output removed", `bad; git rm -q tests.out.md; RUN=no`, 0, 1, `test_list|removed|missing`},
	{"accepted by the branch", `bad; printf 'policy:\n  accepted: [{id: 0123456789ab, by: A, reason: x}]\n' >markmill.yaml`, 1, 1, `markmill.yaml|test_list`},
	{"decide: note of the branch", `bad; printf 'policy: {decide: note}\n' >markmill.yaml; sed -i 's/1, 3, 5, 7\]/1, 3, 5]/; s/, 9)/, 8)/; s/str(parse("1-3,5"))/"[1, 2, 3, 5]"/' $T`, 1, 1, `markmill.yaml|test_list`},
	{"another notebook's output", `printf '# X\n\n~~~bash {#verify .test}\nprintf "Ran 4 tests in 0.002s\\n\\nOK\\n"\n~~~\n' >x.md; bad; markmill run x.md x.out.md >/dev/null 2>&1; sed 's/x\.md/tests.md/g; s/x\.out/tests.out/g' x.out.md >tests.out.md; RUN=no`, 1, 1, `test_list|damaged|edited`},
	{"reads: off", `bad; sed -i 's/^require/reads: off\nrequire/' tests.md; git show HEAD:src/ranges.py >tests/ranges.py`, 0, 1, `test_list`},
	{"a new notebook with less", `printf -- '---\nsandbox: off\nnetwork: on\n---\n# X\n\n~~~bash {#t .test}\necho "5 passed in 0.1s"\n~~~\n' >new.md; markmill run new.md new.out.md >/dev/null 2>&1`, 1, 1, `wider`},
	{"hidden tests of artifacts", `bad; printf 'artifacts: ["src/**"]\n' >markmill.yaml`, 1, 1, `test_list`},
}
