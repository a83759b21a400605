package cmdtest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"markmill/cmd/internal/program"
	"markmill/cmd/markmill-server/serve/web"
	"markmill/runs"
)

// TestServeWebhook: a push to the origin is fetched, and what it has made outdated runs, once.
func TestServeWebhook(t *testing.T) {
	t.Parallel()
	const secret = "a secret of the forge"
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := newPeopleDesk(t, func(o *web.Options) { o.Webhook = file })
	inside := func(dir, program string, args ...string) {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", program, args, err, out)
		}
	}
	git := func(dir string, args ...string) {
		t.Helper()
		inside(dir, "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	}
	write := func(dir, text string) {
		t.Helper()
		text = "# A\n\n```bash {#a}\n" + text + "\n```\n"
		if err := os.WriteFile(filepath.Join(dir, "a.md"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	work := t.TempDir()
	write(d.root, "echo one")
	inside(d.root, builtProgram(t), "run", "a.md", "a.out.md")
	git(d.root, "add", "-A")
	git(d.root, "commit", "-qm", "a")
	git(work, "clone", "-q", "--bare", d.root, "origin.git")
	git(d.root, "remote", "add", "origin", filepath.Join(work, "origin.git"))
	git(d.root, "fetch", "-q", "origin")
	branch, err := exec.Command("git", "-C", d.root, "branch", "--show-current").Output()
	if err != nil {
		t.Fatal(err)
	}
	git(d.root, "branch", "-q", "--set-upstream-to=origin/"+strings.TrimSpace(string(branch)))
	git(work, "clone", "-q", "origin.git", "other")
	write(filepath.Join(work, "other"), "echo two")
	git(filepath.Join(work, "other"), "commit", "-qam", "two")
	git(filepath.Join(work, "other"), "push", "-q")

	sign := func(key, body string) string {
		sum := hmac.New(sha256.New, []byte(key))
		sum.Write([]byte(body))
		return hex.EncodeToString(sum.Sum(nil))
	}
	deliver := func(body string, header ...string) (int, string) {
		t.Helper()
		code, _, text := d.ask("POST", "/webhook", body, append(header, "Content-Type", "application/json")...)
		return code, text
	}
	const body = `{"ref": "refs/heads/main", "after": "1"}`
	forged := map[string][]string{
		"nothing":           nil,
		"a wrong secret":    {"X-Hub-Signature-256", "sha256=" + sign("x", body), "X-GitHub-Event", "push"},
		"another body":      {"X-Hub-Signature-256", "sha256=" + sign(secret, body+" "), "X-GitHub-Event", "push"},
		"another algorithm": {"X-Hub-Signature-256", "sha1=" + sign(secret, body), "X-GitHub-Event", "push"},
		"no digits":         {"X-Gitea-Signature", "zz", "X-Gitea-Event", "push"},
		"a wrong token":     {"X-Gitlab-Token", secret + "x", "X-Gitlab-Event", "Push Hook"},
		"a wrong one and ours": {"X-Forgejo-Signature", sign("x", body), "X-Gitlab-Token", secret, "X-Gitlab-Event",
			"Push Hook"},
		"the token of a person": {"Authorization", "Bearer " + d.tokens["approve"], "X-GitHub-Event",
			"push"},
	}
	for name, header := range forged {
		if code, text := deliver(body, header...); code != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
	for n := range 20 { // forged deliveries lock nobody out
		if code, _ := deliver(body, "X-Gitlab-Token", "forged"); code != http.StatusUnauthorized {
			t.Fatalf("forged delivery %d: %d", n, code)
		}
	}
	t.Logf("%d attempts", len(forged)+20)
	if code, _ := d.as("read", "GET", "/runs", ""); code != http.StatusOK {
		t.Errorf("a right token after forged deliveries: %d", code)
	}
	github := []string{"X-Hub-Signature-256", "sha256=" + sign(secret, body), "X-GitHub-Event"}
	for _, c := range []struct {
		want   string
		body   string
		header []string
	}{
		{"no push", body, append(github[:3:3], "ping")},
		{"runs next", body, append(github[:3:3], "push", "X-GitHub-Delivery", "1")},
		{"came before", body, append(github[:3:3], "push", "X-GitHub-Delivery", "2")},
		{"runs next", body + " ", []string{"X-Gitea-Signature", sign(secret, body+" "), "X-Gitea-Event", "push"}},
		{"runs next", body + "\n", []string{"X-Gitlab-Token", secret, "X-Gitlab-Event", "Push Hook"}},
	} {
		if code, text := deliver(c.body, c.header...); code != http.StatusAccepted || !strings.Contains(text, c.want) {
			t.Errorf("%v: %d %s, want %s", c.header, code, text, c.want)
		}
	}
	code, _, words := d.ask("POST", "/webhook", "payload=x", "Content-Type", "application/x-www-form-urlencoded")
	if code != http.StatusUnsupportedMediaType {
		t.Errorf("a form: %d %s", code, words)
	}
	heard := func(want string) {
		t.Helper()
		select {
		case line := <-d.said:
			if !strings.Contains(line, want) {
				t.Fatalf("the terminal says %q, want %q", line, want)
			}
		case <-time.After(ownTime):
			t.Fatal("nothing ran")
		}
	}
	heard("run --outdated ended with 0: 1 of 1 passed")
	text, err := os.ReadFile(filepath.Join(d.root, "a.out.md"))
	if err != nil || !strings.Contains(string(text), "two") {
		t.Errorf("the output is %s, %v", text, err)
	}
	list, err := runs.Store{Dir: filepath.Join(d.root, ".markmill")}.List()
	if err != nil || len(list) != 2 {
		t.Fatalf("three pushes made the runs %v, %v", list, err)
	}
	run, _, err := runs.At(list[0].Dir).Load()
	if err != nil || !strings.HasPrefix(run.Started.Actor, "webhook via ") {
		t.Errorf("the record says %q, %v", run.Started.Actor, err)
	}
	// Nothing is outdated: nothing runs. What cannot be fetched is told.
	const third = `{"n": 3}`
	if code, text := deliver(third, "X-Forgejo-Signature", sign(secret, third), "X-Forgejo-Event", "push"); code !=
		http.StatusAccepted {
		t.Errorf("Forgejo: %d %s", code, text)
	}
	heard("nothing ran")
	git(d.root, "remote", "set-url", "origin", filepath.Join(work, "nothing.git"))
	if code, text := deliver(`{"n": 4}`, "X-Gitlab-Token", secret, "X-Gitlab-Event", "Push Hook"); code !=
		http.StatusAccepted {
		t.Errorf("GitLab: %d %s", code, text)
	}
	heard("git pull --ff-only: exit status 1")
}

// TestServeWebhookOff: without a secret there is no webhook, and a short one is refused.
func TestServeWebhookOff(t *testing.T) {
	t.Parallel()
	d := newPeopleDesk(t, nil)
	if code, _, _ := d.ask("POST", "/webhook", "{}", "Content-Type", "application/json", "X-Gitlab-Token", "",
		"X-Gitlab-Event", "Push Hook"); code != http.StatusNotFound {
		t.Errorf("without a secret: %d", code)
	}
	for text, words := range map[string]string{"short": "at least 16", "": "at least 16"} {
		file := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := web.Serve(t.Context(), program.New(), io.Discard, web.Options{Program: "x", Root: d.root,
			Listen: "127.0.0.1:0", Webhook: file})
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("the secret %q: %v", text, err)
		}
	}
}
