package cmdtest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// poolsNotebook keeps processes of Python from cell to cell, in each way that the standard library has, and Dask's.
const poolsNotebook = "```python {#start}\n" + `import subprocess, multiprocessing, os, mmap
from concurrent.futures import ProcessPoolExecutor
cat = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
pool = ProcessPoolExecutor(2)
print(list(pool.map(abs, [-1, -2])))
manager = multiprocessing.Manager()
shared = manager.dict()
shared["a"] = 1
print([p.pid for p in multiprocessing.active_children()] != [], file=open("made", "w"))
` + "```\n\n```python {#use}\n" + `_ = cat.stdin.write(b"ping\n"); cat.stdin.flush()
print(cat.stdout.readline(), cat.poll())
print(list(pool.map(abs, [-3, -4])))
shared["b"] = 2
print(dict(shared))
` + "```\n\n```python {#dask}\n" + `from dask.distributed import Client, LocalCluster
cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1")
client = Client(cluster)
print(sum(client.gather(client.map(abs, range(-10, 0)))))
` + "```\n\n```python {#dask-again}\n" + `client.wait_for_workers(2)
print(sorted(client.gather(client.map(abs, range(-3, 0)))))
` + "```\n"

// processes has processes live from one cell to the next, on both kernels of Python and on bash_kernel.
func (p peers) processes(t *testing.T) {
	for _, kernel := range []string{"python", "jupyter:python3"} {
		t.Run(kernel, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "a.md"), "---\nenv: {PROBE: \""+dir+"\"}\n---\n"+poolsNotebook)
			command(t, dir, p.markmill, "run", "a.md", "out.md", "-k", kernel, "--no-progress-bar")
			out, err := os.ReadFile(filepath.Join(dir, "out.md"))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"[1, 2]", "b'ping\\n' None", "[3, 4]", "{'a': 1, 'b': 2}", "\n55\n",
				"[1, 2, 3]",
				"processes still running"} {
				if !strings.Contains(string(out), want) {
					t.Errorf("%q is not in\n%s", want, out)
				}
			}
			command(t, dir, p.markmill, "verify", "out.md")
			nothingRunsIn(t, dir)
		})
	}
	t.Run("bash_kernel", func(t *testing.T) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "b.md"), "---\nkernel: jupyter:bash\nenv: {PROBE: \""+dir+
			"\"}\n---\n```bash {#a .allow-failure}\nexit 3\n```\n\n```bash {#b}\necho on\n```\n")
		if _, text, err := finished(t, dir, p.markmill, "run", "b.md", "out.md", "--no-progress-bar"); err == nil ||
			!bytes.Contains(text, []byte("step_failed: step a: the interpreter ended")) {
			t.Errorf("%v\n%s", err, text)
		}
		nothingRunsIn(t, dir)
	})
}

// nothingRunsIn fails where a process has the folder in the variable PROBE, which the steps have.
func nothingRunsIn(t *testing.T, dir string) {
	t.Helper()
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range environs {
		if env, err := os.ReadFile(name); err == nil && bytes.Contains(env, []byte("PROBE="+dir+"\x00")) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
			t.Errorf("%s still runs: %q", filepath.Dir(name), line)
		}
	}
}
