package cmdtest

import (
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const serverToken = "open-sesame-1795"

const serverNotebook = "---\nkernel: gpu\nallow_errors: true\n---\n\n" +
	"```yaml {.parameters}\nn: 3\ntext: \"it's\"\n```\n\n" +
	"```python {#set}\nimport os\nx = n + 1\nprint(x, text, os.path.exists('n.md'))\n```\n\n" +
	"```python {#show}\nfrom IPython.display import HTML, display\ndisplay(HTML('<b>bold</b>'))\nx + 1\n```\n\n" +
	"```python {#raise}\n1/0\n```\n\n" +
	"```python {#scrap}\nimport scrapbook\nscrapbook.glue('seen', x)\n```\n\n" +
	"```bash {#other}\necho \"from bash $n\"\n```\n\n" +
	"```python {#slow timeout=1s}\nimport time\nwhile True: time.sleep(0.05)\n```\n"

const serverConfig = `kernels:
  gpu: {server: "%", token: KERNEL_TOKEN}
  away: {server: "%", kernel: bash, languages: [bash], token: KERNEL_TOKEN}
`

// server: steps run on kernels of a real Jupyter Server, whose token is in no record.
func (p peers) server(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(address)
	home := t.TempDir()
	server := exec.Command(p.python, "-m", "jupyter_server", "--allow-root", "--no-browser", "--ip=127.0.0.1",
		"--port="+port, "--ServerApp.port_retries=0", "--IdentityProvider.token="+serverToken,
		"--ServerApp.root_dir="+home)
	server.Env = with(os.Environ(), "HOME="+home, "JUPYTER_RUNTIME_DIR="+home)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Process.Kill(); server.Wait() })
	get := func(path string) string {
		request, _ := http.NewRequest(http.MethodGet, "http://"+address+path, nil)
		request.Header.Set("Authorization", "token "+serverToken)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return ""
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return string(text)
	}
	for deadline := time.Now().Add(2 * time.Minute); !strings.Contains(get("/api/kernels"),
		"[]"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the server does not answer")
		}
	}

	dir := t.TempDir()
	write(t, filepath.Join(dir, "markmill.yaml"), strings.ReplaceAll(serverConfig, "%", "http://"+address))
	write(t, filepath.Join(dir, "n.md"), serverNotebook)
	command(t, dir, "git", "init", "-q")
	command(t, dir, "git", "add", ".")
	command(t, dir, "git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "x")
	store := t.TempDir()
	run := func(token string, args ...string) string {
		c := exec.Command(p.markmill, args...)
		c.Dir, c.Env = dir, with(os.Environ(), "KERNEL_TOKEN="+token, "MARKMILL_DIR="+store)
		out, _ := c.CombinedOutput()
		return string(out)
	}
	wants := func(text string, words ...string) {
		t.Helper()
		for _, w := range words {
			if !strings.Contains(text, w) {
				t.Errorf("%q is missing in\n%s", w, text)
			}
		}
	}
	wants(run(serverToken, "run", "n.md", "out.ipynb"), "✓ set", "✓ show", "raise · exit 1, allowed", "✓ scrap",
		"✓ other",
		"slow · timed out after 1s")
	out, err := os.ReadFile(filepath.Join(dir, "out.ipynb"))
	if err != nil {
		t.Fatal(err)
	}
	wants(string(out), `"4 it's False\n"`, "<b>bold</b>", "from bash 3", "ZeroDivisionError", "KeyboardInterrupt",
		"step set ran on a server, where nobody sees what it reads")
	wants(run(serverToken, "verify", "last"), "everything holds")
	wants(run(serverToken, "notebook", "scraps", "last"), "seen", "4")
	wants(run(serverToken, "run", "n.md", "-k", "away", "--only", "other"), "✓ other")
	wants(run("wrong", "run", "n.md"), "refuses the token (403")
	wants(run("", "run", "n.md"), "the variable KERNEL_TOKEN, which holds the token of the kernel \"gpu\", is not set")
	write(t, filepath.Join(dir, "off.md"), strings.Replace(serverNotebook, "allow_errors: true", "network: \"off\"", 1))
	wants(run(serverToken, "check", "off.md"), "the kernel server:gpu is on a server, and network: off")
	if got := get("/api/kernels"); got != "[]" {
		t.Errorf("the server still has kernels: %s", got)
	}
	for _, folder := range []string{dir, store} {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			if strings.Contains(string(text), serverToken) {
				t.Errorf("the token stands in %s", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
