//go:build unix

package cmdtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sshBed is two clones and a bare repository that a real SSH server on the loopback interface serves.
type sshBed struct {
	t       *testing.T
	top     string
	program string
	url     string // without the path
}

func newSSHBed(t *testing.T) *sshBed {
	t.Helper()
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		if sshd, err = exec.LookPath("/usr/sbin/sshd"); err != nil {
			t.Skip("there is no sshd")
		}
	}
	if os.Getuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Skipf("sshd cannot separate its privileges: %v", err)
		}
	}
	who, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	b := &sshBed{t: t, top: t.TempDir(), program: builtProgram(t)}
	home := filepath.Join(b.top, "home", ".ssh")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{filepath.Join(home, "id_ed25519"), filepath.Join(b.top, "host")} {
		b.must("", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	free.Close()
	b.write("home/.ssh/known_hosts", fmt.Sprintf("[127.0.0.1]:%s %s\n", port,
		strings.Join(strings.Fields(b.read("host.pub"))[:2], " ")))
	b.write("authorized", b.read("home/.ssh/id_ed25519.pub"))
	b.write("sshd_config", fmt.Sprintf("Port %s\nListenAddress 127.0.0.1\nHostKey %s/host\n"+
		"AuthorizedKeysFile %s/authorized\nPidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n", port,
		b.top, b.top))
	server := exec.Command(sshd, "-D", "-e", "-f", filepath.Join(b.top, "sshd_config"))
	var log bytes.Buffer
	server.Stderr, server.WaitDelay = &log, time.Second // of connections that are still open
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Signal(syscall.SIGTERM)
		server.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	for range 1200 { // a minute
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			conn.Close()
			b.url = fmt.Sprintf("ssh://%s@127.0.0.1:%s", who.Username, port)
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if b.url == "" {
		t.Fatal("sshd does not listen")
	}
	b.must("", "git", "init", "-q", "-b", "main", "a")
	b.write("a/n.md", "```sh {#one}\necho 1 >made\n```\n")
	b.must("a", "git", "add", ".")
	b.must("a", "git", "commit", "-qm", "base")
	b.must("", "git", "clone", "-q", "--bare", "a", "shared.git")
	b.must("", "git", "clone", "-q", "shared.git", "b")
	b.must("a", b.program, "run", "n.md")
	return b
}

func (b *sshBed) read(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.top, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

func (b *sshBed) write(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.top, name), []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *sshBed) command(dir, name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*time.Minute)
	b.t.Cleanup(cancel)
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = filepath.Join(b.top, dir)
	c.Env = append(os.Environ(), "HOME="+filepath.Join(b.top, "home"), "SSH_AUTH_SOCK=", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@localhost", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@localhost")
	return c
}

func (b *sshBed) must(dir, name string, args ...string) string {
	b.t.Helper()
	out, err := b.command(dir, name, args...).CombinedOutput()
	if err != nil {
		b.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// fails runs the program, which must end with a code and words, and leave nothing in the store.
func (b *sshBed) fails(c *exec.Cmd, code int, words ...string) {
	b.t.Helper()
	out, _ := c.CombinedOutput()
	b.failed(c, string(out), code, words...)
}

func (b *sshBed) failed(c *exec.Cmd, out string, code int, words ...string) {
	b.t.Helper()
	if got := c.ProcessState.ExitCode(); got != code {
		b.t.Errorf("%v: exit %d, and %d was expected\n%s", c.Args, got, code, out)
	}
	for _, word := range words {
		if !strings.Contains(out, word) {
			b.t.Errorf("%v does not say %q:\n%s", c.Args, word, out)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(c.Dir, ".markmill", "runs", ".*")); len(left) > 0 {
		b.t.Errorf("%v leaves %v", c.Args, left)
	}
	if b.must("shared.git", "git", "for-each-ref", "refs/markmill") != "" {
		b.t.Errorf("%v left a ref on the remote", c.Args)
	}
}

// interrupted starts the program, interrupts it when ready says so, and expects that it ends soon.
func (b *sshBed) interrupted(c *exec.Cmd, ready func() bool) {
	b.t.Helper()
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		b.t.Fatal(err)
	}
	for range 1200 {
		if ready() {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	began := time.Now()
	c.Process.Signal(os.Interrupt)
	c.Wait()
	if took := time.Since(began); took > 20*time.Second {
		b.t.Errorf("%v ends %s after the interrupt", c.Args, took)
	}
	b.failed(c, out.String(), 130, "interrupted")
}

// TestRemoteSSH sends records through a real SSH server, which also refuses them, does not answer, and is interrupted.
func TestRemoteSSH(t *testing.T) {
	if os.Getenv("MARKMILL_ALL") == "" {
		t.Skip("MARKMILL_ALL tries it")
	}
	t.Parallel()
	b := newSSHBed(t)
	remote := b.url + filepath.Join(b.top, "shared.git")
	push := func(to string) *exec.Cmd { return b.command("a", b.program, "runs", "push", to) }

	known := b.read("home/.ssh/known_hosts")
	b.write("home/.ssh/known_hosts", "")
	b.fails(push(remote), 1, "cannot be read", "key is unknown")
	b.write("home/.ssh/known_hosts", known)
	key := b.read("home/.ssh/id_ed25519")
	b.write("home/.ssh/id_ed25519", b.read("host"))
	b.fails(push(remote), 1, "cannot be read", "unable to authenticate")
	if err := os.Remove(filepath.Join(b.top, "home/.ssh/id_ed25519")); err != nil {
		t.Fatal(err)
	}
	b.fails(push(remote), 1, "no SSH agent has a key, and ~/.ssh has none without a passphrase")
	b.write("home/.ssh/id_ed25519", key)
	b.fails(push(b.url+filepath.Join(b.top, "nothing.git")), 1, "cannot be read")

	// A hook refuses, and the record goes nowhere.
	hook := filepath.Join(b.top, "shared.git", "hooks", "pre-receive")
	refuse := func(script string) {
		t.Helper()
		if err := os.WriteFile(hook, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	refuse("echo no records here; exit 1")
	b.fails(push(remote), 1, "cannot be pushed to") // and the hook's words, or Git's, whichever go-git reads first

	// An interrupt while the remote has the record, and has not said that it keeps it; a server that says nothing.
	refuse("touch " + filepath.Join(b.top, "asked") + "; sleep 20; exit 1")
	b.interrupted(push(remote), func() bool { _, err := os.Stat(filepath.Join(b.top, "asked")); return err == nil })
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	called := make(chan struct{})
	go func() {
		if conn, err := silent.Accept(); err == nil {
			defer conn.Close()
			close(called)
			<-t.Context().Done()
		}
	}()
	b.interrupted(push("ssh://any@"+silent.Addr().String()+"/shared.git"), func() bool {
		select {
		case <-called:
			return true
		default:
			return false
		}
	})

	// Then the record arrives, and holds.
	if err := os.Remove(hook); err != nil {
		t.Fatal(err)
	}
	b.must("a", "git", "remote", "add", "origin", remote)
	if out := b.must("a", b.program, "runs", "push", "origin"); !strings.Contains(out, "pushed 1 runs; 0") {
		t.Errorf("push says: %s", out)
	}
	if out := b.must("b", b.program, "runs", "pull", remote); !strings.Contains(out, "pulled 1 runs; 0") {
		t.Errorf("pull says: %s", out)
	}
	if out := b.must("b", b.program, "verify", "last"); !strings.Contains(out, "everything holds") {
		t.Errorf("verify says: %s", out)
	}

	// A large record: more than a window and a packet of SSH hold.
	b.write("a/large.md", "```sh {#one}\nhead -c 8000000 /dev/urandom >made\n```\n")
	b.must("a", b.program, "run", "large.md")
	b.must("a", b.program, "runs", "push", "origin", "last")
	b.must("b", b.program, "runs", "pull", remote)
	if out := b.must("b", b.program, "verify", "last"); !strings.Contains(out, "everything holds") {
		t.Errorf("verify says: %s", out)
	}
	c := b.command("b", b.program, "runs", "pull", remote, "--max-mb", "5")
	if out, _ := c.CombinedOutput(); c.ProcessState.ExitCode() != 1 ||
		!strings.Contains(string(out), "it is too large") {
		t.Errorf("with --max-mb 5: %s", out)
	}
}
