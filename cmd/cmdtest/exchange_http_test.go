package cmdtest

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestExchangeHTTP sends a run through Git's own HTTP server to another clone, where it holds. An interrupt while the
// server does not answer ends the command at once and leaves nothing.
func TestExchangeHTTP(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("interrupts are sent as on Unix")
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git")
	}
	program, top := builtProgram(t), t.TempDir()
	in := func(dir, name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = filepath.Join(top, dir)
		c.Env = append(os.Environ(), "HOME="+top, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A",
			"GIT_AUTHOR_EMAIL=a@localhost",
			"GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@localhost")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	in("", git, "init", "-q", "-b", "main", "a")
	if err := os.WriteFile(filepath.Join(top, "a", "n.md"), []byte("```sh {#one}\necho 1 > made\n```\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	in("a", git, "add", ".")
	in("a", git, "commit", "-qm", "base")
	in("", git, "clone", "-q", "--bare", "a", "shared.git")
	in("shared.git", git, "config", "http.receivepack", "true")
	in("", git, "clone", "-q", "shared.git", "b")
	in("a", program, "run", "n.md", "../out.md")

	asked, hang := make(chan struct{}), make(chan struct{})
	backend := &cgi.Handler{Path: git, Args: []string{"http-backend"},
		Env: []string{"GIT_PROJECT_ROOT=" + top, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1"}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/hangs.git") {
			close(asked)
			<-hang
			return
		}
		backend.ServeHTTP(w, r)
	}))
	defer server.Close()
	defer close(hang)

	if out := in("a", program, "runs", "push", server.URL+"/shared.git"); !strings.Contains(out, "pushed 1 runs; 0") {
		t.Errorf("push says: %s", out)
	}
	if out := in("b", program, "runs", "pull", server.URL+"/shared.git"); !strings.Contains(out, "pulled 1 runs; 0") {
		t.Errorf("pull says: %s", out)
	}
	if out := in("b", program, "verify", "last"); !strings.Contains(out, "everything holds") {
		t.Errorf("verify says: %s", out)
	}

	c := exec.Command(program, "runs", "pull", server.URL+"/hangs.git")
	c.Dir = filepath.Join(top, "b")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	<-asked
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(time.Minute):
		c.Process.Kill()
		t.Fatal("an interrupt does not end runs pull")
	}
	if code := c.ProcessState.ExitCode(); code != 130 {
		t.Errorf("interrupted, it exits with %d", code)
	}
	left, err := filepath.Glob(filepath.Join(top, "b", ".markmill", "runs", ".inner-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("interrupted, it leaves %v (%v)", left, err)
	}
}
