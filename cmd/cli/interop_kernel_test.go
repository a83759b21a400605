package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const dyingNotebook = "---\nkernel: jupyter:python3\n---\n```yaml {.parameters}\nn: 3\n```\n\n" +
	"```python {#a}\nkept = 1\n```\n\n" +
	"```python {#dies .allow-failure}\nprint('last'); import os; os.kill(os.getpid(), 9)\n```\n\n" +
	"```python {#after}\nprint('kept' in globals(), n)\n```\n"

// kernelEnds runs a notebook whose kernel dies in a step that may fail: the run fails there, as nbclient does.
func (p peers) kernelEnds(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.md"), dyingNotebook)
	if _, words, err := finished(t, dir, p.markmill, "run", "a.md", "out.md", "-p", "n", "4",
		"--no-progress-bar"); err == nil ||
		!bytes.Contains(words, []byte("step_failed: step dies: the interpreter was ended by signal KILL")) {
		t.Errorf("%v\n%s", err, words)
	}
	out, err := os.ReadFile(filepath.Join(dir, "out.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"step dies did not pass", "ended by signal KILL"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	command(t, dir, p.markmill, "verify", "out.md")
}

// checks reports checks over ipykernel, from its code and from a program that it starts, and one that fails.
func (p peers) checks(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.md"), "---\nkernel: jupyter:python3\n---\n"+
		"```python {#code .check}\ncheck('code', 'warn', 81, '%', 'half')\n```\n\n"+
		"```python {#program .check}\nimport subprocess\n"+
		"subprocess.run(['check', 'program', 'ok', '--value', '3'], check=True)\n```\n\n"+
		"```python {#fails .check}\n1/0\n```\n")
	if _, words, err := finished(t, dir, p.markmill, "run", "a.md", "--no-progress-bar"); err == nil {
		t.Errorf("the run passed:\n%s", words)
	}
	got := command(t, dir, p.markmill, "list", "--format", "csv", "--query",
		"SELECT name, state, value, message FROM checks WHERE run_id = (SELECT max(run_id) FROM checks) ORDER BY name")
	want := "name,state,value,message\ncode,warn,81,half\n" +
		"fails,error,,ZeroDivisionError: division by zero\nprogram,ok,3,\n"
	if string(got) != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
