package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"markmill/notebooks/codec"
)

// TestMain makes the test binary the helper, its starter or the confined program, depending on the name it runs under.
const (
	launchName  = "launch"
	attemptName = "attempt"
)

func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case HelperName:
		os.Exit(Main(os.Args[1:], os.Stderr))
	case launchName:
		os.Exit(launchMain(os.Args[1], os.Args[2:]))
	case attemptName:
		os.Exit(attemptMain(os.Args[1], os.Args[2]))
	}
	shared, err := os.MkdirTemp("", "markmill-sandbox-test-")
	if err == nil {
		err = os.Chmod(shared, 0o755)
	}
	if err == nil {
		err = copySelf(filepath.Join(shared, "program"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	program = filepath.Join(shared, "program")
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(shared)
		os.Exit(code)
	}))
}

// program returns a copy of the test binary that every user may start. Each cell has a link to it.
var program string

func copySelf(path string) error {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer self.Close()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, self)
	return errors.Join(err, to.Close())
}

// launchMain starts the helper as the engine does.
func launchMain(spec string, args []string) int {
	var s Spec
	text, err := os.ReadFile(spec)
	if err == nil {
		err = codec.Unmarshal(text, &s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	cmd := exec.Command(filepath.Join(filepath.Dir(os.Args[0]), HelperName), append([]string{spec}, args...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	s.Attributes(cmd.SysProcAttr)
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	return cmd.ProcessState.ExitCode()
}

// cell is a folder in which one user runs programs in the sandbox.
type cell struct {
	t   *testing.T
	dir string
	uid int
}

const nobody = 65534

// users returns the users that a test can run as: the current one and, for root, one without rights.
func users(t *testing.T, f func(t *testing.T, c cell)) {
	uids := []int{os.Getuid()}
	if os.Getuid() == 0 {
		uids = append(uids, nobody)
	}
	for _, uid := range uids {
		t.Run(fmt.Sprintf("uid %d", uid), func(t *testing.T) { f(t, newCell(t, uid)) })
	}
}

func newCell(t *testing.T, uid int) cell {
	t.Helper()
	if underRace {
		t.Skip(
			"the race detector sees nothing of other processes, and starting each takes half a second: run without " +
				"-race")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	c := cell{t, dir, uid}
	must(t, os.Mkdir(c.path("bin"), 0o755))
	must(t, os.Link(program, c.path("bin/program")))
	for _, name := range []string{HelperName, launchName, attemptName} {
		must(t, os.Symlink("program", c.path("bin/"+name)))
	}
	return c
}

func (c cell) path(name string) string { return filepath.Join(c.dir, filepath.FromSlash(name)) }

// mkdir and write create folders and files owned by the cell's user.
func (c cell) mkdir(name string) string {
	c.t.Helper()
	must(c.t, os.MkdirAll(c.path(name), 0o755))
	must(c.t, os.Chown(c.path(name), c.uid, -1))
	return c.path(name)
}

func (c cell) write(name, text string) string {
	c.t.Helper()
	if filepath.Dir(name) != "." {
		c.mkdir(filepath.Dir(name))
	}
	must(c.t, os.WriteFile(c.path(name), []byte(text), 0o644))
	must(c.t, os.Chown(c.path(name), c.uid, -1))
	return c.path(name)
}

// run runs a program in the sandbox and returns its output and exit code.
func (c cell) run(s Spec, argv ...string) (string, int) {
	c.t.Helper()
	text, err := s.JSON()
	must(c.t, err)
	spec := c.write("orders/spec.json", string(text))
	cmd := exec.Command(c.path("bin/launch"), append([]string{spec}, argv...)...)
	cmd.Dir = c.mkdir("work")
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if c.uid != os.Getuid() {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(c.uid), Gid: uint32(c.uid)}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	return strings.TrimSpace(out.String()), cmd.ProcessState.ExitCode()
}

// sh runs a shell script in the sandbox.
func (c cell) sh(s Spec, script string) (string, int) {
	c.t.Helper()
	return c.run(s, "/bin/sh", "-c", script)
}

// attempt runs one of the attempts in the sandbox. If it fails, the sandbox holds.
func (c cell) attempt(s Spec, name string) (words string, held bool) {
	c.t.Helper()
	out, code := c.run(s, c.path("bin/attempt"), name, c.dir)
	if code != 0 && code != 1 {
		c.t.Fatalf("%s: exit %d: %s", name, code, out)
	}
	return out, code == 1
}

// landlocked returns a Spec that allows writes only in the cell's work folder, with the newest available Landlock.
func (c cell) landlocked() Spec {
	abi := needLandlock(c.t, 1)
	return Spec{Landlock: abi, Files: true, Write: []string{c.mkdir("work")}, Network: NetworkOpen, Filter: filtered()}
}

func needLandlock(t *testing.T, abi int) int {
	t.Helper()
	has := Probe(t.Context(), "", Need{}).Landlock
	if has < abi {
		t.Skipf("this kernel has Landlock %d and the test needs %d: nothing was tested", has, abi)
	}
	return has
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
