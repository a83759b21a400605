package cmdtest

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"markmill/cmd/internal/commands"
	"markmill/engine/process"
	"markmill/engine/sandbox"
	"markmill/runs/testhome"
)

// TestMain lets the test binary stand for markmill, and for the commands that it gives to steps. Every other test finds
// markmill on its PATH, once it has called builtProgram.
func TestMain(m *testing.M) {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	if slices.Contains([]string{"markmill", "glue", "scrap", "check", sandbox.HelperName, process.WardenName,
		process.PlaceName}, name) {
		os.Exit(commands.Main(nil))
	}
	os.Exit(runTests(m))
}

// testSetup is what runTests found before any test changed it.
var testSetup struct {
	binaries string   // the folder of the program, on the PATH of all tests
	disk     string   // a folder that is not in memory, for the few tests that need one
	source   string   // of this package
	env      []string // with which the program is built
}

func runTests(m *testing.M) (code int) {
	disk, err := os.MkdirTemp("", "markmill-tests-")
	dir := disk
	if err == nil {
		defer os.RemoveAll(disk)
		if memory := testhome.Memory(); memory != "" && os.Getenv("TMPDIR") == "" {
			if dir, err = os.MkdirTemp(memory, "markmill-tests-"); err == nil {
				defer os.RemoveAll(dir)
				os.Setenv("TMPDIR", dir)
			}
		}
	}
	if err == nil {
		testSetup.binaries, testSetup.disk, testSetup.env = filepath.Join(dir, "bin"), disk, os.Environ()
		testSetup.source, err = os.Getwd()
	}
	if err == nil {
		err = errors.Join(os.Mkdir(testSetup.binaries, 0o755), os.Chmod(dir, 0o711)) // some tests are other users
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := testhome.Python(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("PATH", testSetup.binaries+string(filepath.ListSeparator)+os.Getenv("PATH"))
	// Tests wait for half of their time: for a program that is to be killed, a limit, a disk.
	flag.Parse()
	if f := flag.Lookup("test.parallel"); err == nil && f.Value.String() == f.DefValue {
		err = f.Value.Set(strconv.Itoa(2 * runtime.GOMAXPROCS(0)))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
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
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", program, "markmill/cmd/markmill")
	cmd.Dir, cmd.Env = testSetup.source, testSetup.env
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
})

// The programs that tests start by the hundred collect no garbage below a limit: none lives long, and collecting takes
// a fourth of the processor time of a run.
const rareGC, memoryLimit = "off", "256MiB" // GOGC and GOMEMLIMIT

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
