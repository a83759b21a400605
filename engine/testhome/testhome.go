// Package testhome is where tests keep their files, and which Python they start. Only tests import it.
package testhome

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Set makes TMPDIR a new folder in memory, unless TMPDIR is set or there is none (see Memory), and puts Python's folder
// first on PATH. It returns what removes the new folder; call it before the process ends.
func Set() (remove func(), err error) {
	remove = func() {}
	if python := Python(); python != "" {
		os.Setenv("PATH", python+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
	memory := Memory()
	if memory == "" || os.Getenv("TMPDIR") != "" {
		return remove, nil
	}
	dir, err := os.MkdirTemp(memory, "markmill-tests-")
	if err != nil {
		return remove, err
	}
	remove = func() { os.RemoveAll(dir) }
	os.Setenv("TMPDIR", dir)
	return remove, os.Chmod(dir, 0o711) // some tests are other users
}

// Python is the folder of the interpreter python3 where the one on PATH is a launcher script, which takes several times
// as long to start. Otherwise it is "".
func Python() string {
	launcher, err := exec.LookPath("python3")
	if err != nil || runtime.GOOS == "windows" {
		return ""
	}
	file, err := os.Open(launcher)
	if err != nil {
		return ""
	}
	defer file.Close()
	start := make([]byte, 2)
	if _, err := io.ReadFull(file, start); err != nil || string(start) != "#!" {
		return ""
	}
	out, err := exec.Command(launcher, "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		return ""
	}
	return filepath.Dir(strings.TrimSpace(string(out)))
}
