// Package testhome is where tests keep their files, and which Python they start. Only tests import it.
package testhome

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Set makes a new folder, in memory if there is one (see Memory) and TMPDIR is not set. It puts an environment of Python
// there first on PATH (see Python), and makes a folder in memory TMPDIR. It returns what removes the new folder; call it
// before the process ends.
func Set() (remove func(), err error) {
	memory := ""
	if os.Getenv("TMPDIR") == "" {
		memory = Memory()
	}
	dir, err := os.MkdirTemp(memory, "markmill-tests-")
	if err != nil {
		return func() {}, err
	}
	remove = func() { os.RemoveAll(dir) }
	if memory != "" {
		os.Setenv("TMPDIR", dir)
	}
	return remove, errors.Join(os.Chmod(dir, 0o711), Python(dir)) // some tests are other users
}

// Python makes an environment of Python in a folder that has none, and puts it first on PATH, if there is a python3
// that is not itself that of an environment. What is installed beside that python3 is read at each of its starts, which
// can take longer than the rest, as a launcher script in its place does; and no test depends on what is installed.
func Python(folder string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	out, err := exec.Command("python3", "-Ic", "import sys; print(sys.prefix == sys.base_prefix and sys.executable or '')").Output()
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
