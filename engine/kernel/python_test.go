//go:build unix

package kernel

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"markmill/notebooks"
)

func startPython(t *testing.T, change ...func(*Options)) *harness {
	k, _ := Lookup("python")
	return start(t, k, change...)
}

func TestPythonShowsTheLastExpression(t *testing.T) {
	h := startPython(t)
	for code, want := range map[string]string{
		"x = 5": "", "5": "5\n", "'a'": "'a'\n", "None": "", "1; 2": "2\n", "x = 1\nx + 1 # c": "2\n",
		"def f(): pass": "", "print('p')": "p\n",
		"if True:\n    7": "", "[1,\n 2]": "[1, 2]\n", "import asyncio\nawait asyncio.sleep(0, 'done')": "'done'\n",
		"__name__":              "'__main__'\n",
		"display(1, None, 'x')": "1\nNone\n'x'\n", "\tx = 1\n": "",
	} {
		if got := h.run(code); got.stdout != want && !strings.HasPrefix(code, "\t") {
			t.Errorf("%q: %q %s", code, got.stdout, got.stderr)
		}
	}
}

// A semicolon after the last expression hides its value, as in IPython; one in a string or a comment does not.
func TestPythonHidesTheLastExpression(t *testing.T) {
	h := startPython(t)
	for code, want := range map[string]string{
		"5;": "", "5 ;": "", "5; # why": "", "5;\n\n# why; or not\n": "", "(5);": "", "(\n5\n);": "", "5 # c;": "5\n",
		"'a;'": "'a;'\n", "'a;';": "",
		"'''x\n;'''": "'x\\n;'\n", "'''x\n;''';": "", "1; 2": "2\n", "1; 2;": "", "'é';": "", "'é;' # ;": "'é;'\n",
		"(1, ';')": "(1, ';')\n",
		"5 \\\n;":  "", "print('p');": "p\n", "import asyncio\nawait asyncio.sleep(0, 'done');": "", "x = 5;\nx": "5\n",
		"[1,\n 2];": "",
	} {
		for _, line := range []int{10, 10_000} {
			if got := h.run(code, func(r *Request) { r.Line = line }); got.stdout != want || got.Exit != 0 {
				t.Errorf("%q in line %d: %q %s", code, line, got.stdout, got.stderr)
			}
		}
	}
	got := h.run("class P:\n    def _repr_html_(self): return '<b>x</b>'\nP();")
	if len(got.Displays) != 0 || got.stdout != "" {
		t.Errorf("%+v", got)
	}
}

func TestPythonExits(t *testing.T) {
	h := startPython(t)
	h.ok("kept = 1", "")
	for code, want := range map[string]int{
		"import sys; sys.exit()": 0, "import sys; sys.exit(0)": 0, "import sys; sys.exit(7)": 7,
		"import sys; sys.exit('words')": 1, "raise SystemExit": 0,
		"exit(4)": 4, "1/0": 1, "raise KeyboardInterrupt": 130, "x =": 1, "import sys; sys.exit(True)": 1,
	} {
		if got := h.run(code); got.Exit != want || got.Died {
			t.Errorf("%q: %+v", code, got)
		}
	}
	h.ok("kept", "1\n")
	if got := h.run("import os; print('last'); os._exit(5)"); got.Exit != 5 || !got.Died || got.stdout != "last\n" ||
		h.Alive() {
		t.Errorf("%+v", got)
	}
}

// input has nobody to ask: it raises what it raises under Jupyter, unless the step itself gives the text.
func TestPythonInput(t *testing.T) {
	h := startPython(t)
	if got := h.run("input('name? ')"); got.Exit != 1 ||
		!strings.Contains(got.stderr, "\nStdinNotImplementedError: input") {
		t.Errorf("%+v", got)
	}
	h.ok("import io, sys\nsys.stdin = io.StringIO('a\\n')\nprint(input())", "a\n")
	h.ok("sys.stdin = sys.__stdin__\ntry:\n    input()\nexcept NotImplementedError:\n    print('none')", "none\n")
	got := h.run("import getpass\ngetpass.getpass()")
	if got.Exit != 1 || !strings.Contains(got.stderr, "StdinNotImplementedError: getpass") ||
		!strings.Contains(got.stderr, "secrets:") {
		t.Errorf("%+v", got)
	}
}

// The session has one event loop, which is the running one for the code of steps, as under IPython, and which runs
// between them. A loop of the author's own runs all the same.
func TestPythonEventLoop(t *testing.T) {
	h := startPython(t)
	h.ok("import asyncio\nasync def f(n):\n    for i in range(n):\n        await asyncio.sleep(0)\n"+
		"        print('f', i)\n    return n\ntask = asyncio.create_task(f(2))\nprint('made')", "made\nf 0\nf 1\n")
	h.ok("print(task.done(), await task)", "True 2\n")
	h.ok("def g():\n    return asyncio.get_running_loop()\nprint(g() is task.get_loop(), g().is_running())",
		"True True\n")
	h.ok("both = asyncio.gather(f(1), asyncio.ensure_future(f(1)))", "f 0\nf 0\n")
	h.ok("await both", "[1, 1]\n")
	h.ok("print(asyncio.run(f(0)), g().run_until_complete(f(0)), g() is task.get_loop())", "0 0 True\n")
	h.ok("import threading\ndef other():\n    try:\n        g()\n    except RuntimeError as e:\n        print(e)\n"+
		"t = threading.Thread(target=other); t.start(); t.join()", "no running event loop\n")
	socket := filepath.Join(t.TempDir(), "s")
	h.ok("async def answer(r, w):\n    w.write(b'x')\n    w.close()\n"+
		"server = await asyncio.start_unix_server(answer, "+strconv.Quote(socket)+")", "")
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || string(got) != "x" {
		t.Errorf("between the steps the server answers %q, %v", got, err)
	}
	h.ok("asyncio.get_event_loop().close()\nprint(await f(0))", "0\n")
}

// Libraries ask for a running loop to refuse calls that block one: they get one only after a step has used it.
func TestPythonLibrariesWithoutLoop(t *testing.T) {
	h := startPython(t)
	h.ok("import asyncio, types\nlibrary = types.ModuleType('library')\n"+
		"exec('import asyncio\\ndef ask():\\n    return asyncio.get_running_loop().is_running()', library.__dict__)\n"+
		"try:\n    library.ask()\nexcept RuntimeError as e:\n    print(e)", "no running event loop\n")
	h.ok("asyncio.get_running_loop();", "")
	h.ok("print(library.ask())", "True\n")
}

// A traceback names the notebook's file and line, shows its source and none of the driver's frames.
func TestPythonTraceback(t *testing.T) {
	h := startPython(t)
	h.run("def f(x):\n    return 1 / x", func(r *Request) { r.Line = 3 })
	got := h.run("try:\n    f(0)\nexcept ZeroDivisionError as e:\n    raise ValueError('second') from e")
	if got.Err == nil || got.Err.Name != "ValueError" || got.Err.Value != "second" || got.Err.Line != 13 ||
		got.Err.Traceback != got.stderr {
		t.Fatalf("%+v", got.Err)
	}
	if strings.Contains(got.stderr, "markmill") || strings.Contains(got.stderr, h.private) ||
		!strings.Contains(got.stderr, "    raise ValueError('second') from e\n") ||
		!strings.Contains(got.stderr, "line 4, in f\n    return 1 / x\n") {
		t.Errorf("%s", got.stderr)
	}
	got = h.run("a = 1\nb = = 2")
	if got.Err == nil || got.Err.Name != "SyntaxError" || got.Err.Line != 11 ||
		!strings.Contains(got.stderr, "b = = 2") {
		t.Errorf("%+v", got.Err)
	}
	got = h.run("scraps['nothing']")
	if got.Err == nil || got.Err.Line != 10 || strings.Contains(got.stderr, "<markmill>") {
		t.Errorf("%s", got.stderr)
	}
}

func TestPythonIsAProgramOfItsOwn(t *testing.T) {
	h := startPython(t)
	h.ok(`import pickle, sys, threading, warnings, inspect
from dataclasses import dataclass
@dataclass
class P:
    a: int
assert pickle.loads(pickle.dumps(P(1))) == P(1)
assert sys.argv == [''] and sys.path[0] == ''
def f(): pass
assert inspect.getsource(f) == 'def f(): pass\n'
print('\udcff\ud800')`, "\xff\\ud800\n")
	h.ok("t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()", "thread\n")
	h.ok("from __future__ import annotations", "")
	h.ok("def f(x: Undefined): pass\nf.__annotations__", "{'x': 'Undefined'}\n")
	h.ok("import subprocess; subprocess.run(['echo', 'child']).returncode", "child\n0\n")
}

func TestPythonDisplays(t *testing.T) {
	h := startPython(t)
	got := h.run(`class Rich:
    def __init__(self, **forms): self.__dict__.update(forms)
    def __repr__(self): return 'the text'
    def _repr_html_(self): return self.__dict__.get('html')
    def _repr_png_(self): return self.__dict__.get('png')
    def _repr_svg_(self): return self.__dict__.get('svg')
class Bundle:
    def _repr_mimebundle_(self, include=None, exclude=None): return {'text/markdown': '# é', 'text/plain': 'p'}
    def __repr__(self): return 'b'
display(Rich(html='<b>'), Rich(html='<i>', png=b'\x89PNG'), Bundle())
Rich()`)
	want := []Display{{File: "display-1.html", MIME: "text/html", Alt: "the text"},
		{File: "display-2.png", MIME: "image/png", Alt: "the text"},
		{File: "display-3.md", MIME: "text/markdown", Alt: "b"}}
	if got.Exit != 0 || got.stdout != "the text\n" || len(got.Displays) != 3 {
		t.Fatalf("%+v", got)
	}
	for i, content := range []string{"<b>", "\x89PNG", "# é"} {
		if got.Displays[i] != want[i] {
			t.Errorf("%+v", got.Displays[i])
		}
		if raw, err := os.ReadFile(filepath.Join(h.step, want[i].File)); err != nil || string(raw) != content {
			t.Errorf("%s: %q %v", want[i].File, raw, err)
		}
	}
	if got := h.run("1"); len(got.Displays) != 0 {
		t.Errorf("%+v", got.Displays)
	}
}

func TestPythonGlue(t *testing.T) {
	h := startPython(t)
	h.ok(`import pathlib, datetime, math
pathlib.Path('out.csv').write_text('a,b\n1,2\n')
values = {'i': 3, 'big': 10**30, 'f': 0.1, 'nan': float('nan'), 'inf': -math.inf, 't': '007', 'l': [1, 'a', None, True], 'd': {'k': {'n': 1.5}},
          'odd': {1: 'a', None: 2}, 'dollar': {'$int': '5'}, 'date': datetime.date(2024, 1, 2), 'b': b'\x00\xff', 'n': None}
for name, value in values.items():
    glue(name, value)
glue('png', b'\x89PNG\r\n\x1a\nrest'); glue('file', pathlib.Path('out.csv'), display=True); glue('rows', [{'a': 1, 'b': 'x'}, {'a': 2}], kind='table')
for name, value in values.items():
    assert repr(scraps[name]) == repr(value), (name, scraps[name])
assert scraps['png'].read_bytes().startswith(b'\x89PNG') and scraps['file'].read_text() == 'a,b\n1,2\n'
assert scraps['rows'] == {'columns': ['a', 'b'], 'data': [[1, 'x'], [2, None]]}
list(scraps)[:3]`, "['i', 'big', 'f']\n")
	entries, err := readScraps(h.scraps)
	if err != nil || len(entries) != 16 {
		t.Fatalf("%d %v", len(entries), err)
	}
	if e := entries[14]; e.Type != "file" || !e.Display || e.MIME != "text/csv" ||
		e.File != filepath.Join(h.step, "scrap-file.csv") {
		t.Errorf("%+v", e)
	}
	for code, want := range map[string]string{"glue('x', object())": "TypeError", "glue('', 1)": "TypeError",
		"glue('x', {1, 2})": "TypeError", "scraps['no']": "known: ", "glue('x', 1, kind='odd')": "TypeError"} {
		if got := h.run(code); got.Exit != 1 || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v", code, got)
		}
	}
}

func TestPythonParameters(t *testing.T) {
	v := func(kind notebooks.Type, text string) notebooks.Value { return notebooks.Value{Type: kind, Text: text} }
	h := startPython(t, func(o *Options) {
		o.Params = []notebooks.Bound{
			bound("path", v(notebooks.TypePath, "a/b")), bound("secret", v(notebooks.TypeSecret, "hush")),
			bound("huge", v(notebooks.TypeInt, strings.Repeat("9", 6000))),
			bound("wait", notebooks.Value{Type: notebooks.TypeDuration, Text: "1h30m", Float: 5400}),
			bound("when", v(notebooks.TypeDate, "2024-01-02T03:04:05Z")), bound("größe", v(notebooks.TypeInt, "1")),
		}
	})
	h.ok("path + '/c', secret, wait.total_seconds(), when.isoformat(), größe",
		"('a/b/c', 'hush', 5400.0, '2024-01-02T03:04:05+00:00', 1)\n")
	h.ok("huge == 10**6000 - 1", "True\n")
	if _, err := os.Stat(filepath.Join(h.private, "params")); err == nil {
		t.Error("the side file with the secret is still there")
	}
	for _, name := range []string{"class", "__name__", "glue", "None", "a b", "", "1x"} {
		k, _ := Lookup("python")
		if err := k.ValidateParam(bound(name, v(notebooks.TypeString, ""))); err == nil {
			t.Errorf("%q is held", name)
		}
	}
}

// Figures of matplotlib, without matplotlib: a module of its shape.
func TestPythonFigures(t *testing.T) {
	h := startPython(t)
	got := h.run(`import sys, types
class Figure:
    def savefig(self, out, format, bbox_inches, metadata): out.write(b'\x89PNG' + repr(metadata).encode())
Figure.__module__ = 'matplotlib.figure'
plt = types.ModuleType('matplotlib.pyplot')
open_figures = {1: Figure(), 2: Figure()}
plt.get_fignums = lambda: list(open_figures)
plt.figure = open_figures.get
plt.close = lambda which: open_figures.clear()
sys.modules['matplotlib.pyplot'] = plt
import os; os.environ['MPLBACKEND']`)
	if got.stdout != "'Agg'\n" || len(got.Displays) != 2 || got.Displays[1].File != "display-2.png" ||
		got.Displays[1].MIME != "image/png" {
		t.Fatalf("%+v", got)
	}
	raw, err := os.ReadFile(filepath.Join(h.step, "display-1.png"))
	if err != nil || string(raw) != "\x89PNG{'Software': None}" {
		t.Errorf("%q %v", raw, err)
	}
	if got := h.run("1"); len(got.Displays) != 0 {
		t.Errorf("figures are shown twice: %+v", got.Displays)
	}
}

// Far down in a notebook lines are counted in another way than near its top; the report is the same.
func TestPythonLinesFarDown(t *testing.T) {
	const far = 100_000
	h := startPython(t)
	for _, code := range []string{
		"1 / 0", "x = (1 +\n  2 / 0)", "def f():\n    return 1 / 0\nf()", "x = [\n1,\n", "if True:\nx = 1", "a b",
		"'open",
		"@staticmethod\ndef g(a, *, b=1): return a\n[1 / n for n in (1, 0)]", "match 1:\n  case 1 if 1 / 0: pass",
		"f'{1 / 0}'", "class C:\n  x = 1 / 0",
		"\n\n# comment\nraise ValueError('x')", "lambda: 0\nprint('ok')\n1 / 0",
		"try:\n  1 / 0\nexcept ValueError:\n  pass",
	} {
		at := func(line int) (int, string) {
			got := h.run(code, func(r *Request) { r.Line = line })
			if got.Err == nil {
				t.Fatalf("%q: %+v", code, got)
			}
			text := got.stderr
			for n := range 6 {
				text = strings.ReplaceAll(text, "line "+strconv.Itoa(line+n)+",", "line +"+strconv.Itoa(n)+",")
				text = strings.ReplaceAll(text, "line "+strconv.Itoa(line+n)+"\n", "line +"+strconv.Itoa(n)+"\n")
				text = strings.ReplaceAll(text, "line "+strconv.Itoa(line+n)+")", "line +"+strconv.Itoa(n)+")")
			}
			return got.Err.Line - line, text
		}
		nearLine, near := at(1)
		farLine, below := at(far)
		if nearLine != farLine || near != below {
			t.Errorf("%q: line +%d, %s\nfar down: line +%d, %s", code, nearLine, near, farLine, below)
		}
	}
}

// TestPythonWarningsShowTheCode: the line of a warning is that of the step, and not that of the notebook's file, which
// may be JSON.
func TestPythonWarningsShowTheCode(t *testing.T) {
	h := startPython(t)
	file := []byte(strings.Repeat("\"JSON\"\n", 20))
	if err := os.WriteFile(filepath.Join(h.dir, "task.md"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := h.run("import warnings\nwarnings.warn('w')"); !strings.HasSuffix(got.stderr,
		": UserWarning: w\n  warnings.warn('w')\n") {
		t.Errorf("%+v", got)
	}
}

// TestPythonShowsItself: a value that shows itself does so, and one that cannot is shown as others are.
func TestPythonShowsItself(t *testing.T) {
	h := startPython(t)
	got := h.run("class A:\n  def _ipython_display_(self): print('itself')\nclass B:\n" +
		"  def _ipython_display_(self): raise NotImplementedError\n  def __repr__(self): return 'B'\ndisplay(A(), B())")
	if got.stdout != "itself\nB\n" {
		t.Errorf("%+v", got)
	}
}

// TestPythonShowsPlotly: figures of plotly, without plotly: a module of its shape.
func TestPythonShowsPlotly(t *testing.T) {
	h := startPython(t)
	for name, text := range map[string]string{
		"plotly/__init__.py":    "",
		"plotly/io/__init__.py": "from ._renderers import show\ndef to_html(fig, **how): return '<p>drawn</p>'\n",
		"plotly/io/_renderers.py": "class renderers: default = None\n" +
			"def show(fig, renderer=None, validate=True): print('in a browser')\n"} {
		path := filepath.Join(h.dir, filepath.FromSlash(name))
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
	got := h.run("import sys; sys.path.insert(0, " + strconv.Quote(h.dir) + ")\nimport plotly.io\nplotly.io.show({})")
	if got.stdout != "" || len(got.Displays) != 1 || got.Displays[0].MIME != "text/html" {
		t.Errorf("%+v", got)
	}
	if got := h.run("plotly.io.show({}, renderer='browser')"); got.stdout != "in a browser\n" {
		t.Errorf("%+v", got)
	}
}
