package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"markmill/engine/process"
	"markmill/engine/sandbox"
)

// TestMain lets the test binary stand for markmill, and for the commands that it gives to steps. Every other test finds
// markmill on its PATH, once it has called builtProgram.
func TestMain(m *testing.M) {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	if slices.Contains([]string{"markmill", "glue", "scrap", sandbox.HelperName, process.WardenName}, name) {
		os.Exit(Main())
	}
	os.Exit(runTests(m))
}

// testSetup is what runTests found before any test changed it.
var testSetup struct {
	binaries string   // the folder of the program, on the PATH of all tests
	source   string   // of this package
	env      []string // with which the program is built
}

func runTests(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "markmill-tests-")
	if err == nil {
		defer os.RemoveAll(dir)
		testSetup.binaries, testSetup.env = dir, os.Environ()
		testSetup.source, err = os.Getwd()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	folders := []string{dir}
	if python := pythonFolder(); python != "" {
		folders = append(folders, python)
	}
	os.Setenv("PATH", strings.Join(append(folders, os.Getenv("PATH")), string(filepath.ListSeparator)))
	return m.Run()
}

// pythonFolder is the folder of the interpreter python3 where the one on PATH is a launcher script, which takes several
// times as long to start. Otherwise it is "".
func pythonFolder() string {
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

// builtProgram returns the path of the program, which it builds once for all tests. The program starts in half the time
// of the test binary, which also initializes the libraries of the tests. Under the race detector, when coverage is
// measured, and where there is no Go, the program is the test binary itself.
func builtProgram(t *testing.T) string {
	t.Helper()
	program, err := buildProgram()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

var buildProgram = sync.OnceValues(func() (string, error) {
	program := filepath.Join(testSetup.binaries, "markmill")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if _, err := exec.LookPath("go"); err != nil || underRaceDetector() || testing.CoverMode() != "" {
		return program, linkTestBinary(program)
	}
	// Without debugging information, linking takes half the time. Stack traces do not need it.
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", program, ".")
	cmd.Dir, cmd.Env = testSetup.source, testSetup.env
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
})

// everything reports whether tests repeat the same path for as many inputs as they have. By default they take a sample,
// so that all tests together take a minute or two.
func everything() bool { return os.Getenv("MARKMILL_ALL") != "" }

func underRaceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

func linkTestBinary(program string) error {
	self, err := os.Executable()
	if err != nil || os.Link(self, program) == nil {
		return err
	}
	from, err := os.Open(self)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(program, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		return err
	}
	return to.Close()
}
