package main

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// TestQueue runs the scripts of submit, worker and jobs, with the program that they start beside markmill.
func TestQueue(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no go to build markmill-queue, or no shell for its notebooks")
	}
	builtProgram(t)
	buildQueue(t)
	runScripts(t, "testdata/queue")
}

// buildQueue builds the program beside markmill.
func buildQueue(t *testing.T) {
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o",
		filepath.Join(testSetup.binaries, queueProgram), "markmill/cmd/markmill-queue")
	cmd.Dir, cmd.Env = testSetup.source, testSetup.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
