package cmdtest

import (
	"path/filepath"
	"strings"
	"testing"
)

// nbclientInterrupts writes a notebook whose cells pass their time limit: one catches the interrupt, one may raise, one
// does neither. Then nbclient runs it, and the names of those outputs are printed that it leaves.
const nbclientInterrupts = `
import os, sys, nbformat
from nbformat import v4
from nbclient import NotebookClient, exceptions
folder, code = sys.argv[1], v4.new_code_cell
endless = "print('begins', flush=True)\nwhile True: time.sleep(0.01)"
cells = [code("import time\nkept = 1"),
    code("try:\n    print('begins', flush=True)\n    while True: time.sleep(0.01)\nexcept KeyboardInterrupt:\n    print('caught')"),
    code(endless, metadata={"tags": ["raises-exception"]}), code("print('kept', kept)"), code(endless), code("print('after')")]
nb = v4.new_notebook(cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "P", "language": "python"},
    "execution": {"timeout": 1, "interrupt_on_timeout": True}})
nbformat.write(nb, folder + "/late.ipynb")
failed = False
try:
    NotebookClient(nb, timeout=1, interrupt_on_timeout=True, coalesce_streams=True).execute()
except exceptions.CellExecutionError:
    failed = True
nbformat.write(nb, folder + "/theirs.ipynb")
`

// shownBy prints what stands in the outputs of notebooks: what was printed, and the names of exceptions.
const shownBy = `
import json, sys, nbformat
for path in sys.argv[1:]:
    print(json.dumps([[o.get("text") or o.get("ename") for o in c.outputs] for c in nbformat.read(path, 4).cells if c.cell_type == "code"]))
`

// interrupts: interrupt_on_timeout has the outcome that it has in nbclient, on both kernels of Python.
func (p peers) interrupts(t *testing.T) {
	dir := t.TempDir()
	command(t, dir, p.python, "-c", nbclientInterrupts, dir)
	paths := []string{filepath.Join(dir, "theirs.ipynb")}
	for _, kernel := range []string{"python", "jupyter:python3"} {
		out := filepath.Join(dir, filepath.Base(kernel)+".out.ipynb")
		paths = append(paths, out)
		if _, _, err := finished(t, dir, p.markmill, "run", "-k", kernel, "late.ipynb", out); err == nil {
			t.Errorf("%s: %v", kernel, err)
		}
	}
	const want = `[[], ["begins\ncaught\n"], ["begins\n", "KeyboardInterrupt"], ["kept 1\n"], ["begins\n", "KeyboardInterrupt"], []]`
	for i, line := range strings.Split(strings.TrimSpace(string(command(t, dir, p.python,
		append([]string{"-c", shownBy}, paths...)...))), "\n") {
		if line != want {
			t.Errorf("%s: %s, want %s", filepath.Base(paths[i]), line, want)
		}
	}
}

// eventLoop: code that needs a running event loop runs on both kernels of Python as papermill runs it.
func (p peers) eventLoop(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "loop.py"), `# %%
import asyncio
async def late(n):
    await asyncio.sleep(0)
    return n
task, both = asyncio.create_task(late(1)), asyncio.gather(late(2), late(3))
# %%
print(task.done(), await task, await both)
# %%
def loop():
    return asyncio.get_running_loop()
print(loop() is task.get_loop(), loop() is asyncio.get_event_loop(), loop().is_running())
future = loop().create_future()
loop().call_soon(future.set_result, 4);
# %%
print(await future)
queue = asyncio.Queue()
background = asyncio.ensure_future(queue.put(5))
# %%
print(queue.qsize(), await queue.get(), background.done())
`)
	command(t, dir, p.python, "-m", "jupytext", "--quiet", "--set-kernel", "python3", "--to", "ipynb", "loop.py")
	p.papermillOnce(t, dir, "loop.ipynb", "theirs.ipynb")
	paths := []string{"theirs.ipynb"}
	for _, kernel := range []string{"python", "jupyter:python3"} {
		paths = append(paths, filepath.Base(kernel)+".out.ipynb")
		command(t, dir, p.markmill, "run", "-k", kernel, "loop.ipynb", paths[len(paths)-1])
	}
	shown := strings.Split(strings.TrimSpace(string(command(t, dir, p.python,
		append([]string{"-c", shownBy}, paths...)...))), "\n")
	if shown[0] == "[[], [], [], [], []]" || shown[1] != shown[0] || shown[2] != shown[0] {
		t.Errorf("%s\nthe same is expected of each", strings.Join(shown, "\n"))
	}
}
