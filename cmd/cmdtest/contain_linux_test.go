package cmdtest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"markmill/engine/sandbox"
)

// A step of any mode but off changes no limit, priority, placement or IPC object outside, as whoever Markmill is
// run; and a user who has nothing but a home has nothing more after it.
func TestOtherProcessesInEveryMode(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "prlimit", "renice", "taskset", "ipcmk", "ipcrm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("there is no " + program)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	offer := sandbox.Probe(t.Context(), self, sandbox.Need{Network: true})
	if offer.NoFilter {
		t.Skip("this kernel has no seccomp filters")
	}
	uids := []int{os.Getuid()}
	if os.Getuid() == 0 {
		uids = append(uids, 65534)
	}
	for _, uid := range uids {
		for _, front := range []string{"sandbox: on", "sandbox: required", "sandbox: strict", "network: off",
			"sandbox: off"} {
			t.Run(fmt.Sprintf("%s, user %d", front, uid), func(t *testing.T) {
				if front == "network: off" && !offer.Network ||
					(front == "sandbox: required" || front == "sandbox: strict") &&
						offer.Landlock < 3 {
					t.Skip("this system cannot")
				}
				against(t, front, uid)
			})
		}
	}
}

func against(t *testing.T, front string, uid int) {
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	copyFile(t, builtProgram(t), filepath.Join(dir, "bin", "markmill"), 0o755)
	for _, name := range []string{"home", "work"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(filepath.Join(dir, name), uid, -1); err != nil {
			t.Fatal(err)
		}
	}
	as := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir = filepath.Join(dir, "work")
		cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "XDG_CACHE_HOME=",
			"MARKMILL_DIR="+filepath.Join(dir, "work", "records"), "TMPDIR=")
		cmd.SysProcAttr = &syscall.SysProcAttr{}
		if uid != os.Getuid() {
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
		}
		return cmd
	}
	sleep := as("sleep", "300")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer sleep.Wait()
	defer sleep.Process.Kill()
	made, err := as("ipcmk", "-M", "4096").Output()
	if err != nil {
		t.Fatal(err)
	}
	segment := strings.TrimSpace(string(made[strings.LastIndexByte(string(made), ' ')+1:]))
	defer func() { as("ipcrm", "-m", segment).Run() }()
	notebook := fmt.Sprintf(
		"---\n%s\n---\n\n```bash {#a}\nset +e\nprlimit --pid %[2]d --nofile=77:77 && echo OUT limit\nrenice -n 19 -p "+
			"%[2]d && echo OUT priority\ntaskset -p 1 %[2]d && echo OUT place\n"+
			"ipcrm -m %[3]s && echo OUT segment\nnice -n 3 prlimit --nofile=50 true && echo own\n```\n", front,
		sleep.Process.Pid,
		segment)
	if err := os.WriteFile(filepath.Join(dir, "work", "n.md"), []byte(notebook), 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := as(filepath.Join(dir, "bin", "markmill"), "run", "--no-progress-bar", "n.md", "--stdout-file",
		"printed").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	text, err := os.ReadFile(filepath.Join(dir, "work", "printed"))
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	if front == "sandbox: off" {
		got = 4 // or the test would show nothing
	}
	if strings.Count(string(text), "OUT") != got || !strings.Contains(string(text), "own") {
		t.Errorf("the step says\n%s", text)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "home"))
	if err != nil || len(entries) != 2 || entries[0].Name() != ".cache" || entries[1].Name() != ".local" {
		t.Errorf("the home has %v (%v)", entries, err)
	}
	if entries, err = os.ReadDir(filepath.Join(dir, "home", ".cache")); err != nil || len(entries) != 1 ||
		entries[0].Name() != "markmill" {
		t.Errorf("its cache has %v (%v)", entries, err)
	}
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	source, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, mode)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(target, source); err != nil {
		t.Fatal(err)
	}
	if err := target.Close(); err != nil {
		t.Fatal(err)
	}
}
