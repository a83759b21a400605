// Package testhome is where tests keep their files, and which Python they start. Only tests import it.
package testhome

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// Main is the TestMain of a package whose tests leave no goroutine. Their files are in a new folder in memory, if there
// is one (see Memory) and TMPDIR is not set, for which prepare is called.
func Main(m *testing.M, prepare ...func(folder string) error) {
	memory := ""
	if os.Getenv("TMPDIR") == "" {
		memory = Memory()
	}
	dir, err := os.MkdirTemp(memory, "markmill-tests-")
	if err == nil {
		err = os.Chmod(dir, 0o711) // some tests are other users
	}
	if memory != "" {
		os.Setenv("TMPDIR", dir)
	}
	for _, f := range prepare {
		if err == nil {
			err = f(dir)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// Python makes an environment of Python in a folder that has none, and puts it first on PATH, if there is a python3
// that is not itself that of an environment. What is installed beside that python3 is read at each of its starts, which
// can take longer than the rest, as a launcher script in its place does; and no test depends on what is installed.
func Python(folder string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	out, err := exec.Command("python3", "-Ic",
		"import sys; print(sys.prefix == sys.base_prefix and sys.executable or '')").Output()
	python := strings.TrimSpace(string(out))
	if err != nil || python == "" {
		return nil
	}
	bin := filepath.Join(folder, "python", "bin")
	os.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return errors.Join(
		os.MkdirAll(bin, 0o755), os.Symlink(python, filepath.Join(bin, "python3")),
		os.WriteFile(filepath.Join(folder, "python", "pyvenv.cfg"), []byte("home = "+filepath.Dir(python)+"\n"), 0o644))
}
