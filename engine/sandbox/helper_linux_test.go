package sandbox

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"markmill/runs"
)

// needNamespaces skips the test if the cell's user cannot create namespaces.
func (c cell) needNamespaces(s Spec) {
	c.t.Helper()
	if out, code := c.run(s, "/bin/true"); code != 0 {
		c.t.Skipf("user %d can make no namespace here (%s): nothing was tested", c.uid, out)
	}
}

// TestNetworkNamespace: a step reaches nothing outside, but can reach its own server.
func TestNetworkNamespace(t *testing.T) {
	users(t, func(t *testing.T, c cell) {
		spec := Spec{Network: NetworkNamespace}
		c.needNamespaces(spec)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer l.Close()
		ask := `exec 3<>/dev/tcp/127.0.0.1/` + strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
		if out, code := c.run(Spec{Network: NetworkOpen}, "/bin/bash", "-c", ask); code != 0 {
			t.Fatalf("it is not reached without the namespace either: %s", out)
		}
		if out, code := c.run(spec, "/bin/bash", "-c", ask); code == 0 {
			t.Errorf("a server outside was reached: %s", out)
		}
		if out, code := c.sh(spec,
			`test "$(ls /proc/self/net/dev_snmp6 /sys/class/net 2>/dev/null | grep -cv -e lo -e : -e '^$')" = 0 || true; grep -c : /proc/net/dev`); code != 0 || out != "1" {
			t.Errorf("interfaces besides the loopback: %s", out)
		}
		if out, code := c.sh(spec, `id -u`); code != 0 || out != strconv.Itoa(c.uid) {
			t.Errorf("the user is %s in the namespace", out)
		}
		if out, code := c.run(spec, "/bin/bash", "-c",
			`exec 3<>/dev/udp/127.0.0.1/9 && echo x >&3 && echo reachable`); code != 0 ||
			!strings.Contains(out, "reachable") {
			t.Errorf("the loopback of the namespace is down: %s", out)
		}
		if out, _ := c.sh(spec, `grep CapEff /proc/self/status`); c.uid != 0 &&
			!strings.HasSuffix(out, "0000000000000000") {
			t.Errorf("the namespace's rights were not given back: %s", out)
		}
	})
}

// TestNetworkTCP: Landlock alone blocks TCP.
func TestNetworkTCP(t *testing.T) {
	abi := needLandlock(t, networkABI)
	c := newCell(t, os.Getuid())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	ask := `exec 3<>/dev/tcp/127.0.0.1/` + strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	if out, code := c.run(Spec{Landlock: abi, Network: NetworkTCP}, "/bin/bash", "-c", ask); code == 0 ||
		!strings.Contains(out, "Permission denied") {
		t.Errorf("a server was reached: %s", out)
	}
}

// TestReadOnly: what is mounted read-only cannot be written, renamed or chmodded, even in a writable folder; writable
// paths inside it stay writable; and nothing undoes the mount.
func TestReadOnly(t *testing.T) {
	users(t, func(t *testing.T, c cell) {
		spec := c.landlocked()
		for _, dir := range []string{"work/.git/hooks", "work/.git/own"} {
			c.mkdir(dir)
		}
		c.write("work/.git/config", "whole")
		spec.ReadOnly = []string{c.path("work/.git")}
		spec.Write = append(spec.Write, c.path("work/.git/own"))
		c.needNamespaces(spec)
		for _, script := range []string{"echo x >.git/config", "echo x >.git/new", "mv .git gone", "rm -r .git",
			"chmod 600 .git/config", "touch .git/config",
			"mkdir -p .git/hooks/x", "umount .git", "umount -l .git", "mount -o remount,rw,bind .git",
			"mv .git/own .git/other"} {
			if out, code := c.sh(spec, script); code == 0 {
				t.Errorf("%s: it worked: %s", script, out)
			}
		}
		if out, code := c.sh(spec,
			"cat .git/config && echo x >new && echo y >.git/own/file && cat .git/own/file"); code != 0 ||
			out != "wholey" {
			t.Errorf("exit %d: %s", code, out)
		}
		if text, err := os.ReadFile(c.path("work/.git/config")); err != nil || string(text) != "whole" {
			t.Errorf("the file is %q now (%v)", text, err)
		}
	})
}

// TestHide: hidden content cannot be read by any path; everything else can.
func TestHide(t *testing.T) {
	users(t, func(t *testing.T, c cell) {
		spec := c.landlocked()
		c.write("home/.ssh/id", "the key")
		c.write("home/.profile", "a profile")
		must(t, os.Symlink(".ssh", c.path("home/link")))
		spec.Read = append(Except("/", []string{c.path("home/.ssh")}), spec.Write...)
		for _, script := range []string{"cat ../home/.ssh/id", "cat ../home/link/id",
			"cat /proc/self/root" + c.path("home/.ssh/id"), "ln ../home/.ssh/id k && cat k",
			"mv ../home/.ssh s && cat s/id"} {
			if out, code := c.sh(spec, script); code == 0 || strings.Contains(out, "the key") {
				t.Errorf("%s: %s", script, out)
			}
		}
		if out, code := c.sh(spec,
			"cat ../home/.profile && ls / >/dev/null && ls ../home >/dev/null && echo x >f && cat f"); code != 0 ||
			out != "a profilex" {
			t.Errorf("exit %d: %s", code, out)
		}
	})
}

// TestResources: each limit is enforced, and none is raised.
func TestResources(t *testing.T) {
	users(t, func(t *testing.T, c cell) {
		limited := func(r runs.ResourcesData) Spec { return Spec{Network: NetworkOpen, Resources: r} }
		c.mkdir("work")
		if out, code := c.sh(limited(runs.ResourcesData{FileSize: 4096}),
			"head -c 4096 /dev/zero >f && head -c 1 /dev/zero >>f"); code == 0 {
			t.Errorf("file-size: %s", out)
		}
		if info, err := os.Stat(c.path("work/f")); err != nil || info.Size() != 4096 {
			t.Errorf("file-size: %v, %v", info, err)
		}
		if out, code := c.sh(limited(runs.ResourcesData{OpenFiles: 64}), "ulimit -n; ulimit -Hn"); code != 0 ||
			out != "64\n64" {
			t.Errorf("open-files: %s", out)
		}
		if out, code := c.sh(limited(runs.ResourcesData{Memory: 64 << 20}),
			`x=$(head -c 200000000 /dev/zero | tr '\0' x) && echo ${#x}`); code == 0 {
			t.Errorf("memory: %s", out)
		}
		if out, code := c.sh(limited(runs.ResourcesData{Memory: 512 << 20, OpenFiles: 1 << 40}),
			`echo works`); code != 0 || out != "works" {
			t.Errorf("exit %d: %s", code, out)
		}
		many := `for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1 >/dev/null 2>&1 & done; kill $(jobs -p); wait`
		if c.uid == 0 {
			return // the system does not limit root's processes, as Decide reports
		}
		if out, _ := c.sh(limited(runs.ResourcesData{Processes: 5}), many); !strings.Contains(out, "fork") {
			t.Errorf("processes: %s", out)
		}
		for range 12 { // the user's other processes do not count
			other := exec.Command("/bin/sleep", "60")
			other.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			if c.uid != os.Getuid() {
				other.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(c.uid), Gid: uint32(c.uid)}
			}
			must(t, other.Start())
			defer other.Wait()
			defer other.Process.Kill()
		}
		if out, _ := c.sh(limited(runs.ResourcesData{Processes: 10}), `sleep 0 & wait; echo works`); out != "works" {
			t.Errorf("processes: %s", out)
		}
	})
}

// TestHelperRefuses: a Spec that cannot be enforced starts nothing.
func TestHelperRefuses(t *testing.T) {
	c := newCell(t, os.Getuid())
	c.mkdir("work")
	for name, tc := range map[string]struct {
		spec Spec
		argv []string
		code int
	}{
		"a Landlock that there is not": {Spec{Landlock: 99, Files: true, ReadOnly: []string{"/nowhere/at/all"}},
			[]string{"/bin/echo", "started"}, exitRefused},
		"no such program": {Spec{}, []string{"/nowhere/at/all", "started"}, exitMissing},
		"no program":      {Spec{}, nil, exitRefused},
		"not a program":   {Spec{}, []string{"/etc/passwd"}, exitRefused},
	} {
		out, code := c.run(tc.spec, tc.argv...)
		if code != tc.code || !strings.Contains(out, HelperName+": ") || strings.Contains(out, "started\n") {
			t.Errorf("%s: exit %d: %s", name, code, out)
		}
	}
	must(t, os.WriteFile(c.path("bad.json"), []byte(`{"landlock":`), 0o600))
	if code := Main([]string{c.path("bad.json"), "/bin/true"}, os.Stderr); code != exitRefused {
		t.Errorf("orders that cannot be read: exit %d", code)
	}
}
