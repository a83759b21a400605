package cmdtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// nbdimePairs writes notebooks into the working directory and prints pairs of paths: nbdime's own fixtures of one
// family, and each of them, and of the files that it is handed, with random edits.
const nbdimePairs = `
import copy, glob, itertools, json, os, random, sys
import nbdime
folder = os.path.join(os.path.dirname(nbdime.__file__), "tests", "files")
files = sorted(glob.glob(os.path.join(folder, "*.ipynb")))
families = {}
for path in files:
    families.setdefault(os.path.basename(path).split("--")[0].split(".")[0], []).append(path)
pairs = [pair for family in families.values() for pair in itertools.permutations(family, 2)]
pairs += [(a, b) for a, b in zip(files, files[1:])]
rnd = random.Random(20)
words = "alpha beta = ( ) \n \r\n \x0b \x0c \x85 \u2028 \u00e9 \U0001f600 plot x 1 2.5 # % \t".split(" ")
def text():
    return "".join(rnd.choice(words) + rnd.choice(["", " ", "\n"]) for _ in range(rnd.randrange(20)))
def edit_text(value):
    lines = value if isinstance(value, list) else value.splitlines(True)
    lines = list(lines)
    for _ in range(rnd.randrange(4)):
        at = rnd.randrange(len(lines) + 1)
        lines[at:at + rnd.randrange(3)] = [text() for _ in range(rnd.randrange(3))]
    return lines if isinstance(value, list) else "".join(lines)
def edit(nb):
    cells = nb["cells"]
    for _ in range(rnd.randrange(1, 6)):
        if not cells or rnd.random() < .2:
            cell = {"cell_type": "markdown", "metadata": {}, "source": text()}
            if nb["nbformat_minor"] >= 5: cell["id"] = "%08x" % rnd.getrandbits(32)
            cells.insert(rnd.randrange(len(cells) + 1), cell)
            continue
        i = rnd.randrange(len(cells))
        cell, what = cells[i], rnd.randrange(8)
        if what == 0: del cells[i]
        elif what == 1: cells.insert(rnd.randrange(len(cells)), cells.pop(i))
        elif what == 2: cell["source"] = edit_text(cell["source"])
        elif what == 3: cell["metadata"][rnd.choice(["tags", "x", "trusted"])] = rnd.choice([["a"], {"b": 1}, 1, 1.0, True, None, "s"])
        elif what == 4 and cell.get("outputs"): cell["outputs"].pop(rnd.randrange(len(cell["outputs"])))
        elif what == 5 and "outputs" in cell:
            cell["outputs"].insert(rnd.randrange(len(cell["outputs"]) + 1), {"output_type": "stream", "name": "stdout", "text": text()})
        elif what == 6:
            for o in cell.get("outputs", []):
                if "text" in o: o["text"] = edit_text(o["text"])
                for mime, v in o.get("data", {}).items():
                    if isinstance(v, (str, list)) and "json" not in mime: o["data"][mime] = edit_text(v)
        elif what == 7 and "execution_count" in cell: cell["execution_count"] = rnd.choice([None, 1, 2])
    return nb
for n, path in enumerate(files + sys.argv[1:]):
    with open(path, encoding="utf-8") as file:
        try: nb = json.load(file)
        except ValueError: continue
    if nb.get("nbformat") != 4 or "cells" not in nb or os.path.getsize(path) > 1 << 20: continue
    for k in range(3):
        after = os.path.abspath("edited-%d-%d.ipynb" % (n, k))
        with open(after, "w", encoding="utf-8") as file: json.dump(edit(copy.deepcopy(nb)), file)
        pairs.append((path, after) if k % 2 else (after, path))
json.dump(pairs, sys.stdout)
`

// nbdimeApplies lets nbdime patch the first notebook of each pair with the diff, and says what is not the second.
const nbdimeApplies = `
import json, sys
import nbformat.reader
from nbdime import patch_notebook
from nbdime.diff_format import validate_diff
from nbdime.diff_utils import to_diffentry_dicts
def read(path):
    with open(path, encoding="utf-8") as file: return nbformat.reader.reads(file.read())
def exact(value): return json.dumps(value, sort_keys=True)
wrong = []
for case in json.load(sys.stdin):
    a, b = case["pair"]
    try:
        diff = to_diffentry_dicts(case["diff"])
        validate_diff(diff, deep=True)
        if exact(patch_notebook(read(a), diff)) != exact(read(b)): wrong.append("%s %s: not the other notebook" % (a, b))
        if (exact(read(a)) == exact(read(b))) != (diff == []): wrong.append("%s %s: empty is not same" % (a, b))
    except Exception as problem:
        wrong.append("%s %s: %r" % (a, b, problem))
json.dump(wrong, sys.stdout)
`

// nbdime holds --format nbdime against nbdime's own patch: what it makes of the first notebook is the second, exactly.
func (p peers) nbdime(t *testing.T) {
	dir := t.TempDir()
	python := func(script string, in []byte, args ...string) []byte {
		t.Helper()
		out, words, err := peer(t, peerTime, func(c *exec.Cmd) { c.Dir, c.Stdin = dir, bytes.NewReader(in) },
			p.python, append([]string{"-c", script}, args...)...)
		if err != nil {
			t.Fatalf("%v\n%s", err, words)
		}
		return out
	}
	var pairs [][2]string
	if err := json.Unmarshal(python(nbdimePairs, nil, jupyterCorpus(t)...), &pairs); err != nil {
		t.Fatal(err)
	}
	type patched struct {
		Pair [2]string       `json:"pair"`
		Diff json.RawMessage `json:"diff"`
	}
	var cases []patched
	for _, pair := range pairs {
		out, words, err := finished(t, dir, p.markmill, "diff", "--format", "nbdime", pair[0], pair[1])
		var failed *exec.ExitError
		if err != nil && !(errors.As(err, &failed) && failed.ExitCode() == 1) {
			if bytes.Contains(words, []byte("nbformat before 4")) {
				continue
			}
			t.Errorf("%s %s: %v: %s", pair[0], pair[1], err, words)
			continue
		}
		cases = append(cases, patched{pair, out})
	}
	if len(cases) < 100 {
		t.Fatalf("only %d pairs of notebooks", len(cases))
	}
	in, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	var wrong []string
	if err := json.Unmarshal(python(nbdimeApplies, in), &wrong); err != nil {
		t.Fatal(err)
	}
	for _, words := range wrong {
		t.Error(words)
		if keep := os.Getenv("MARKMILL_KEEP"); keep != "" {
			for _, path := range strings.Fields(words)[:2] {
				data, _ := os.ReadFile(strings.TrimSuffix(path, ":"))
				_ = os.WriteFile(filepath.Join(keep, filepath.Base(strings.TrimSuffix(path, ":"))), data, 0o600)
			}
		}
	}
	t.Logf("%d pairs", len(cases))
}
