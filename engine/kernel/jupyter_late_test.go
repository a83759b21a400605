//go:build unix

package kernel

import (
	"os/exec"
	"path/filepath"
	"testing"

	"markmill/engine/kernel/jupyter"
)

// What a kernel publishes after its reply and its idle state, as Deno does, belongs to the step that asked for it.
func TestJupyterLateResults(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	script, err := filepath.Abs(filepath.Join("testdata", "late_kernel.py"))
	if err != nil {
		t.Fatal(err)
	}
	// Behind env it is no kernel that is known to be built on Jupyter's own Python code.
	h := start(t, NewJupyter(jupyter.Spec{Name: "late", Language: "none",
		Argv: []string{"env", python, "-I", script, "{connection_file}"}}))
	for _, code := range []string{"one", "two", "three"} {
		h.ok(code, code+"\nlater\n")
	}
}
