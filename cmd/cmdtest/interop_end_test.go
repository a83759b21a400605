package cmdtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What is written only when an interpreter ends: by atexit, by objects that are freed, and by files that are flushed
// then, also those that hang from what was there before the notebook's code.
const endNotebook = "```python {#a}\n" + `import atexit, gc, logging, os, IPython.core.oinspect
class Written:
    def __init__(self, name): self.name = name
    def __del__(self, open=open):
        with open(self.name, 'w') as f: f.write('x')
def left(name):
    f = open(name, 'w')
    f.write('x')
    return f
def generator():
    try: yield
    finally: left('generator').close()
variable, file, started = Written('variable'), left('file'), generator()
next(started)
ring = Written('ring')
ring.me = ring
atexit.register(lambda: left('atexit').close())
IPython.core.oinspect.OInfo.hangs = left('class')
logging.hangs = left('module')
print(gc.get_freeze_count() > 10000)
` + "```\n\n```python {#b}\nWritten('shown')\n```\n"

// TestInteropEnd runs a notebook over ipykernel that writes files when its interpreter ends.
func TestInteropEnd(t *testing.T) {
	python := os.Getenv("MARKMILL_PEERS")
	if python == "" {
		t.Skip("MARKMILL_PEERS names no interpreter with ipykernel: run bench/setup")
	}
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("MARKMILL_DIR", filepath.Join(dir, "store"))
	t.Setenv("VIRTUAL_ENV", filepath.Dir(filepath.Dir(python)))
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "n.md"), []byte(endNotebook), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(builtProgram(t), "run", "-k", "jupyter:python3", "n.md")
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"variable", "file", "generator", "ring", "atexit", "class", "module", "shown"} {
		if text, err := os.ReadFile(filepath.Join(work, name)); string(text) != "x" {
			t.Errorf("%s has %q (%v): it was not written when the interpreter ended", name, text, err)
		}
	}
	found, err := filepath.Glob(filepath.Join(dir, "store", "runs", "*", "steps", "*a", "stdout"))
	if err != nil || len(found) != 1 {
		t.Fatalf("output of the step: %v %v", found, err)
	}
	if text, err := os.ReadFile(found[0]); string(text) != "True\n" {
		t.Errorf("what was there before the notebook is looked at again at the end: %q %v", text, err)
	}
}
