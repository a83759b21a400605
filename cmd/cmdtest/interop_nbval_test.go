package cmdtest

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"markmill/cmd/internal/retest"
	"markmill/notebooks/ipynb"
)

// nbvalCell is a code cell of a notebook that nbval and markmill test are asked about.
type nbvalCell struct {
	source  string
	outputs string // JSON, as Jupyter saved them
	tags    []string
	unrun   bool
}

// out and friends are outputs as Jupyter saves them.
func nbvalStream(name, text string) string {
	return fmt.Sprintf(`{"output_type": "stream", "name": %q, "text": %s}`, name, quoted(text))
}

func nbvalResult(data string) string {
	return fmt.Sprintf(`{"output_type": "execute_result", "execution_count": 7, "metadata": {}, "data": {%s}}`, data)
}

func nbvalError(name, value string) string {
	return fmt.Sprintf(`{"output_type": "error", "ename": %q, "evalue": %s, "traceback": ["old"]}`, name, quoted(value))
}

func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// nbvalCases are notebooks of a cell or some each. differ names cells whose verdicts are to be different, and says why:
// docs/review.md lists them.
var nbvalCases = []struct {
	name   string
	cells  []nbvalCell
	differ map[int]string
}{
	{"passing", []nbvalCell{
		{source: "print('a')", outputs: nbvalStream("stdout", "a\n")},
		{source: "x = 1"},
		{source: "x + 1", outputs: nbvalResult(`"text/plain": ["2"]`)},
		{source: "{'k' + str(i): list(range(12)) for i in range(4)}",
			outputs: nbvalResult(
				`"text/plain": ["{'k0': [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],\n", " 'k1': [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],\n", " 'k2': [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],\n", " 'k3': [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]}"]`)},
		{source: "# nothing", unrun: true},
		{source: "", unrun: true},
	}, nil},
	{"changed", []nbvalCell{
		{source: "print('a')", outputs: nbvalStream("stdout", "b\n")},
		{source: "print('a')", outputs: nbvalStream("stdout", "a")},
		{source: "print('a')"},
		{source: "1", outputs: nbvalStream("stdout", "1\n")},
		{source: "pass", outputs: nbvalStream("stdout", "1\n")},
		{source: "import sys; print('e', file=sys.stderr)", outputs: nbvalStream("stderr", "f\n")},
		{source: "print('e', file=sys.stderr)", outputs: nbvalStream("stdout", "e\n")},
		{source: "print('fine')", outputs: nbvalStream("stdout", "fine\n")},
		{source: "'a'", outputs: nbvalResult(`"text/plain": ["'b'"]`)},
	}, nil},
	{"streams", []nbvalCell{
		{source: "import sys\nprint('1'); print('2', file=sys.stderr); print('3')",
			outputs: nbvalStream("stdout", "1\n3\n") + "," + nbvalStream("stderr", "2\n")},
		{source: "print('1'); print('2', file=sys.stderr); print('3')",
			outputs: nbvalStream("stderr", "2\n") + "," + nbvalStream("stdout", "1\n") + "," +
				nbvalStream("stdout", "3\n")},
		{source: "print('10%\\r100%')", outputs: nbvalStream("stdout", "10%\r100%\n")},
		{source: "from IPython.display import display\ndisplay(1); print('x'); display(2)",
			outputs: nbvalStream("stdout", "x\n") + "," + nbvalResult(`"text/plain": "1"`) + "," +
				nbvalResult(`"text/plain": "2"`)},
		{source: "display(1); display(2)", outputs: nbvalResult(`"text/plain": "2"`) + "," +
			nbvalResult(`"text/plain": "1"`)},
	}, nil},
	{"errors", []nbvalCell{
		{source: "1/0", outputs: nbvalError("ZeroDivisionError", "division by zero")},
		{source: "1/0", outputs: nbvalError("ZeroDivisionError", "division by zero"),
			tags: []string{"raises-exception"}},
		{source: "1/0", outputs: nbvalError("ZeroDivisionError", "division by zero"),
			tags: []string{"nbval-raises-exception"}},
		{source: "1/0", outputs: nbvalError("ZeroDivisionError", "by two"), tags: []string{"raises-exception"}},
		{source: "1/0", outputs: nbvalError("ValueError", "division by zero"), tags: []string{"raises-exception"}},
		{source: "# NBVAL_RAISES_EXCEPTION\nraise ValueError('a\\nb')", outputs: nbvalError("ValueError", "a\nb")},
		{source: "# NBVAL_RAISES_EXCEPTION\n'no'", outputs: nbvalResult(`"text/plain": "'no'"`)},
		{source: "# NBVAL_RAISES_EXCEPTION\n'no'", outputs: nbvalError("ValueError", "a")},
		{source: "print('after')", outputs: nbvalStream("stdout", "after\n")},
		{source: "print('before'); 1/0", outputs: nbvalStream("stdout", "before\n") + "," +
			nbvalError("ZeroDivisionError", "division by zero"), tags: []string{"raises-exception"}},
	}, nil},
	{"markers", []nbvalCell{
		{source: "# NBVAL_SKIP\nno.such", outputs: nbvalStream("stdout", "x")},
		{source: "no.such", tags: []string{"nbval-skip"}},
		{source: "# NBVAL_IGNORE_OUTPUT\nimport random; random.random()", outputs: nbvalResult(`"text/plain": "0.1"`)},
		{source: "random.random()", outputs: nbvalResult(`"text/plain": "0.1"`), tags: []string{"nbval-ignore-output"}},
		{source: "#   PYTEST_VALIDATE_IGNORE_OUTPUT\nrandom.random()", outputs: nbvalResult(`"text/plain": "0.1"`)},
		{source: "# NBVAL_IGNORE_OUTPUT\n1/0", outputs: nbvalError("ZeroDivisionError", "division by zero")},
		{source: "# NBVAL_CHECK_OUTPUT\nprint(1)", outputs: nbvalStream("stdout", "2\n")},
		{source: "print(1)", outputs: nbvalStream("stdout", "2\n"), tags: []string{"nbval-check-output"}},
		{source: "# NBVAL_CHECK_OUTPUT\nprint(1)", outputs: nbvalStream("stdout", "2\n"),
			tags: []string{"nbval-ignore-output"}},
		{source: "print(1) # NBVAL_SKIP", outputs: nbvalStream("stdout", "1\n")},
	}, nil},
	{"what is not compared", []nbvalCell{
		{source: "class P:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n        return " +
			"{'text/plain': 'P', 'image/png': 'AAAA', 'image/jpeg': 'AAAA', 'text/html': '<b>'}, {'image/png': " +
			"{'width': 1}}\nP()",
			outputs: nbvalResult(`"text/plain": "P", "image/png": "BBBB", "image/jpeg": "CCCC", "text/html": "<b>"`)},
		{source: "P()", outputs: nbvalResult(`"text/plain": "P", "text/html": "<b>"`)},
		{source: "P()",
			outputs: nbvalResult(`"text/plain": "P", "image/png": "AAAA", "image/jpeg": "AAAA", "text/html": "<i>"`)},
		{source: "from IPython.display import Latex, JSON, SVG\nLatex('$a$')",
			outputs: nbvalResult(`"text/plain": "<IPython.core.display.Latex object>", "text/latex": "$b$"`)},
		{source: "JSON({'b': 1, 'a': [2]})",
			outputs: nbvalResult(
				`"text/plain": "<IPython.core.display.JSON object>", "application/json": {"a": [2], "b": 1}`)},
		{source: "JSON({'b': 1, 'a': [2]})",
			outputs: nbvalResult(
				`"text/plain": "<IPython.core.display.JSON object>", "application/json": {"a": [3], "b": 1}`)},
		{source: "object()", outputs: nbvalResult(`"text/plain": "<object at 0x7f0000000000>"`)},
		{source: "class H:\n    def _repr_html_(self): return '<b>'\nH()",
			outputs: nbvalResult(`"text/plain": "<__main__.H at 0x7f0000000000>", "text/html": "<b>"`)},
	}, map[int]string{7: "addresses in the text of a result that has another form, too, are left out"}},
	{"not as nbval", []nbvalCell{
		{source: "print(1)", outputs: nbvalStream("stdout", "1\n"), unrun: true},
		{source: "print('\\x1b[31mred\\x1b[0m')", outputs: nbvalStream("stdout", "red\n")},
		{source: "print(1)", outputs: nbvalStream("stdout", "2\n"), tags: []string{"skip-execution"}},
	}, map[int]string{0: "outputs of a cell without a count are compared", 1: "colours are left out",
		2: "nbclient's tag counts"}},
}

func nbvalNotebook(cells []nbvalCell) string {
	var list []string
	for i, c := range cells {
		tags, count := c.tags, fmt.Sprint(i+1)
		if tags == nil {
			tags = []string{}
		}
		if c.unrun {
			count = "null"
		}
		b, err := json.Marshal(tags)
		if err != nil {
			panic(err)
		}
		list = append(list,
			fmt.Sprintf(
				`  {"cell_type": "code", "id": "cell%d", "execution_count": %s, "metadata": {"tags": %s}, "outputs": [%s], "source": %s}`, i, count, b, c.outputs, quoted(c.source)))
	}
	return fmt.Sprintf(
		"{\"cells\": [\n%s\n], \"metadata\": {\"kernelspec\": {\"name\": \"python3\", \"language\": \"python\", "+
			"\"display_name\": \"Python 3\"}}, \"nbformat\": 4, \"nbformat_minor\": 5}\n", strings.Join(list, ",\n"))
}

// nbvalFile is a notebook that both test.
type nbvalFile struct {
	name, text string
	differ     map[int]string // cells whose verdicts are to differ, and why
}

// unexplained says whether verdicts differ in a cell that is not named.
func (f nbvalFile) unexplained(theirs, ours []string) bool {
	for cell := range theirs {
		if cell >= len(ours) || theirs[cell] != ours[cell] && f.differ[cell] == "" {
			return true
		}
	}
	return len(ours) > len(theirs)
}

// nbval tests the same notebooks with nbval and with markmill test, strictly and only where cells are marked: each cell
// must have the same verdict.
func (p peers) nbval(t *testing.T) {
	var files []nbvalFile
	for _, c := range nbvalCases {
		files = append(files, nbvalFile{c.name, nbvalNotebook(c.cells), c.differ})
	}
	p.nbvalCompare(t, "--nbval-lax", files)
	p.nbvalCompare(t, "--nbval", append(files, nbvalCorpus(t)...))
}

func (p peers) nbvalCompare(t *testing.T, mode string, files []nbvalFile) {
	dir, oursDir := t.TempDir(), t.TempDir()
	var paths []string
	for i, f := range files { // a folder each, for either: some of them write files, and both work in that folder
		path := filepath.Join(fmt.Sprintf("n%02d", i), "test.ipynb")
		for _, d := range []string{dir, oursDir} {
			if err := os.Mkdir(filepath.Join(d, filepath.Dir(path)), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(d, path), f.text)
		}
		paths = append(paths, path)
	}
	theirs, said := p.nbvalVerdicts(t, dir, mode, paths)
	ours := p.testVerdicts(t, oursDir, mode, paths)
	// Where other kernels start beside it, nbval's may find its ports taken, and then fails every cell: it is asked a
	// second time, alone.
	var again []string
	for i, path := range paths {
		if name := filepath.ToSlash(path); !slices.Contains(theirs[name], "pass") &&
			files[i].unexplained(theirs[name], ours[name]) {
			t.Logf("%s: nbval is asked again about %s, of which it said: %s", mode, files[i].name, said[name])
			again = append(again, path)
		}
	}
	if len(again) > 0 {
		second, _ := p.nbvalVerdicts(t, dir, mode, again)
		maps.Copy(theirs, second)
	}
	agreed, named := 0, 0
	for i, f := range files {
		a, b := theirs[filepath.ToSlash(paths[i])], ours[filepath.ToSlash(paths[i])]
		if len(a) == 0 || len(a) != len(b) {
			t.Errorf("%s: %s: nbval says %q, markmill %q", mode, f.name, a, b)
			continue
		}
		for cell := range a {
			why, differs := f.differ[cell]
			switch same := a[cell] == b[cell]; {
			case same && differs && mode == "--nbval":
				t.Errorf("%s: %s: cell %d (%s): both say %s, and should not agree", mode, f.name, cell, why, b[cell])
			case same:
				agreed++
			case differs:
				named++
			default:
				t.Errorf("%s: %s: cell %d: nbval says %s, markmill %s", mode, f.name, cell, a[cell], b[cell])
			}
		}
	}
	t.Logf("%s: %d cells of %d notebooks have the same verdict; %d differ for a reason that is named", mode, agreed,
		len(files), named)
}

// nbvalVerdicts are pass, fail or skip of each code cell, and what nbval says of those that fail, by file.
func (p peers) nbvalVerdicts(t *testing.T, dir, mode string, paths []string) (verdicts map[string][]string,
	said map[string]string) {
	t.Helper()
	report := filepath.Join(t.TempDir(), "nbval.xml")
	// Its exit code says that something failed: that is in the report.
	out, _, err := peer(t, timeFor(paths), func(c *exec.Cmd) { c.Dir = dir }, p.python, append([]string{"-m", "pytest",
		"-p", "no:cacheprovider", "-q", mode, "--nbval-cell-timeout", "120", "-o", "junit_family=xunit1", "--junitxml",
		report}, paths...)...)
	raw, rerr := os.ReadFile(report)
	if rerr != nil {
		t.Fatalf("nbval: %v\n%s", err, out)
	}
	type words struct {
		Text string `xml:",chardata"`
	}
	var suites struct {
		Cases []struct {
			File    string    `xml:"file,attr"`
			Failure *words    `xml:"failure"`
			Error   *words    `xml:"error"`
			Skipped *struct{} `xml:"skipped"`
		} `xml:"testsuite>testcase"`
	}
	if err := xml.Unmarshal(raw, &suites); err != nil {
		t.Fatal(err)
	}
	verdicts, said = map[string][]string{}, map[string]string{}
	for _, c := range suites.Cases {
		verdict := "pass"
		switch {
		case c.Failure != nil || c.Error != nil:
			verdict = "fail"
			said[filepath.ToSlash(c.File)] += cmp.Or(c.Failure, c.Error).Text + "\n"
		case c.Skipped != nil:
			verdict = "skip"
		}
		verdicts[filepath.ToSlash(c.File)] = append(verdicts[filepath.ToSlash(c.File)], verdict)
	}
	return verdicts, said
}

// timeFor is how long tests of so many notebooks may take. Each starts a kernel, which takes a second or two, and
// longer on a loaded machine.
func timeFor(notebooks []string) time.Duration {
	return peerTime + time.Duration(len(notebooks))*10*time.Second
}

// testVerdicts are the same of markmill test.
func (p peers) testVerdicts(t *testing.T, dir, mode string, paths []string) map[string][]string {
	t.Helper()
	args := append([]string{"test", "--json", "-j", "2"}, paths...)
	if mode == "--nbval-lax" {
		args = append(args, "--marked")
	}
	// Its exit code says that something is off: that is in the report.
	out, words, _ := peer(t, timeFor(paths), func(c *exec.Cmd) { c.Dir = dir }, p.markmill, args...)
	var report retest.Report
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("markmill test: %v\n%s%s", err, out, words)
	}
	as := map[string]string{"same": "pass", "unchecked": "pass", "different": "fail", "failed": "fail",
		"skipped": "skip"}
	verdicts := map[string][]string{}
	for _, n := range report.Notebooks {
		if len(n.Steps) == 0 {
			t.Errorf("markmill test %s: %s %q", n.Notebook, n.Status, n.Words)
		}
		for _, s := range n.Steps {
			verdicts[n.Notebook] = append(verdicts[n.Notebook], as[string(s.Verdict)])
		}
	}
	return verdicts
}

// nbvalCorpusDiffer are the cells of other projects' notebooks whose verdicts differ, and why.
var nbvalCorpusDiffer = map[string]map[int]string{
	"nbclient--Clear_Output.ipynb": {1: cleared, 2: cleared, 4: cleared, 6: updated, 8: cleared, 10: cleared},
}

const (
	cleared = "nbval does not know clear_output"
	updated = "nbval does not know updates of an earlier cell's display"
)

// nbvalSeeded are cells of other projects' notebooks, before which random numbers get a seed: how often a line comes is
// drawn in one, and two draws that agree with what was saved are no more the same verdict than two that do not.
var nbvalSeeded = map[string]string{"nbval--index.ipynb": `"import numpy as np\n",`}

// nbvalCorpus are notebooks of other projects, those of Python that were saved with outputs.
func nbvalCorpus(t *testing.T) []nbvalFile {
	var out []nbvalFile
	for _, file := range jupyterCorpus(t) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		nb, err := ipynb.Parse(file, raw)
		if err != nil || nb.NBFormat != 4 || nb.Kernel() != "python3" ||
			!slices.ContainsFunc(nb.Cells, func(c ipynb.Cell) bool { return c.Count.Given() }) {
			continue
		}
		name, text := filepath.Base(file), string(raw)
		if cell := nbvalSeeded[name]; cell != "" {
			if strings.Count(text, cell) != 1 {
				t.Fatalf("%s: %s is in it %d times, not once", name, cell, strings.Count(text, cell))
			}
			text = strings.Replace(text, cell, cell+` "np.random.seed(2)\n",`, 1)
		}
		out = append(out, nbvalFile{name, text, nbvalCorpusDiffer[name]})
	}
	return out
}
