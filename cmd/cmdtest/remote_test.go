package cmdtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"markmill/cmd/internal/remote"
)

// TestRemoteWeb does with a server of HTTP what TestRemoteS3 does with one of S3.
func TestRemoteWeb(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	files := map[string][]byte{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if _, word, _ := r.BasicAuth(); word != "hush" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch file, there := files[r.URL.Path]; {
		// what signs one file signs no other
		case strings.HasPrefix(r.URL.Path, "/signed/") && strings.Contains(r.URL.Path, "_files/"):
			w.WriteHeader(http.StatusForbidden)
		case strings.HasPrefix(r.URL.Path, "/readonly/") && r.Method == http.MethodPut:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case r.Method == http.MethodPut:
			files[r.URL.Path], _ = io.ReadAll(r.Body)
		case there:
			_, _ = w.Write(file)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	b := newRemoteBed(t, strings.Replace(s.URL, "://", "://me:hush@", 1)+"/jobs")
	b.tour(t)
	b.refused(t, strings.Replace(b.base, "/jobs", "/readonly", 1)+"/out.md", "405 Method Not Allowed")
	signed := strings.Replace(b.base, "/jobs", "/signed", 1)
	b.refused(t, signed+"/out.md?signature=hush",
		"access is refused (403 Forbidden) with the user of the address; see that user and password are right; an "+
			"OUTPUT that ends in .ipynb holds its pictures")
	b.wants(t, b.run("local.md", signed+"/out.ipynb?signature=hush"), "passed · 2 of 2", "exit 0")
}

// remoteBed is a program, and a folder at an address that it may read and write.
type remoteBed struct {
	t                  *testing.T
	program, dir, base string
	env                []string
	client             remote.Client
	secrets            []string // that nothing may show, beside all that begins with hush
}

func newRemoteBed(t *testing.T, base string, env ...string) *remoteBed {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	program := builtProgram(t)
	b := &remoteBed{t: t, program: program, dir: t.TempDir(), base: base}
	if err := os.Mkdir(filepath.Join(b.dir, "home"), 0o700); err != nil {
		t.Fatal(err)
	}
	b.env = append(append(os.Environ(), "MARKMILL_DIR="+filepath.Join(b.dir, "records"),
		"AWS_EC2_METADATA_DISABLED=true",
		"HOME="+filepath.Join(b.dir, "home")), env...)
	b.client = remote.Client{Home: filepath.Join(b.dir, "home"), Getenv: func(name string) (string, bool) {
		for i := len(b.env) - 1; i >= 0; i-- {
			if value, ok := strings.CutPrefix(b.env[i], name+"="); ok {
				return value, true
			}
		}
		return "", false
	}}
	return b
}

// command is one of the program, which has to end in time even if the server hangs.
func (b *remoteBed) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(b.t.Context(), ownTime)
	b.t.Cleanup(cancel)
	c := exec.CommandContext(ctx, b.program, args...)
	c.WaitDelay = time.Second
	c.Dir, c.Env = b.dir, b.env
	return c
}

// wants fails unless a command printed all of the parts, and no credential.
func (b *remoteBed) wants(t *testing.T, out string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(out, part) {
			t.Errorf("no %q in\n%s", part, out)
		}
	}
	if secret := b.leaks(out); secret != "" {
		t.Errorf("%s is shown in\n%s", secret, out)
	}
}

// leaks is the credential that a text holds, if it does.
func (b *remoteBed) leaks(text string) string {
	for _, secret := range append(b.secrets, "hush") {
		if strings.Contains(text, secret) {
			return secret
		}
	}
	return ""
}

// do runs a command and gives all that it printed, and its exit code.
func (b *remoteBed) do(args ...string) string {
	c := b.command(args...)
	out, err := c.CombinedOutput()
	code := 0
	if err != nil {
		code = c.ProcessState.ExitCode()
	}
	return fmt.Sprintf("%s\nexit %d", out, code)
}

// run runs a notebook in the bed's folder, without the picture that a run before made there.
func (b *remoteBed) run(args ...string) string {
	_ = os.Remove(filepath.Join(b.dir, "p.png")) // it need not be there
	return b.do(append([]string{"run"}, args...)...)
}

// records counts the runs that were recorded.
func (b *remoteBed) records(t *testing.T) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(b.dir, "records", "runs", "2*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// dailyNotebook shows a picture, so that there is one to send along.
const dailyNotebook = "# Daily\n\n```yaml {.parameters}\nregion: south\nshare: 1.5\n```\n\n```bash {#show}\necho " +
	"\"$region $share\"\n" +
	"printf iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg== | " +
	"base64 -d > p.png\nglue --image --display dot p.png\n```\n\n```bash {#odd}\n[ \"$region\" != west ]\n```\n"

// tour does what people do with addresses: the files are put there, read, run, written and read again.
func (b *remoteBed) tour(t *testing.T) {
	put := func(name, text string) {
		t.Helper()
		if err := b.client.Write(t.Context(), b.base+"/"+name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	wants := func(out string, parts ...string) {
		t.Helper()
		b.wants(t, out, parts...)
	}
	put("daily-north.md", dailyNotebook)
	put("params.yaml", "share: 2.5\n")
	to := b.base + "/daily-{region}-{share:.2f}.out.md"
	wants(b.run(b.base+"/daily-{region}.md", to, "-p", "region", "north", "-f", b.base+"/params.yaml"),
		"passed · 2 of 2",
		"exit 0")
	out := b.base + "/daily-north-2.50.out.md"
	got, err := b.client.Read(t.Context(), out, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	record, err := filepath.Glob(filepath.Join(b.dir, "records", "runs", "2*", "output.md"))
	if err != nil || len(record) != 1 {
		t.Fatal(record, err)
	}
	if want, err := os.ReadFile(record[0]); err != nil || !bytes.Equal(got, want) {
		t.Errorf("what was sent is not what is recorded: %v\n%s", err, got)
	}
	wants(string(got), "north 2.5")
	picture := regexp.MustCompile(`daily-north-2\.50\.out_files/\S+\.png`).FindString(string(got))
	dot, err := b.client.Read(t.Context(), b.base+"/"+picture, 1<<20)
	if picture == "" || err != nil || !bytes.HasPrefix(dot, []byte("\x89PNG")) {
		t.Errorf("the picture %q was not sent: %v", picture, err)
	}
	wants(b.do("verify", "last"), "everything holds", "exit 0")

	wants(b.do("check", "--show", out), "region", "show", "exit 0")
	wants(b.do("notebook", "scraps", out), "daily-north-2.50.out.md", "2.5", "exit 0")
	wants(b.do("check", b.base+"/daily-north.md"), "exit 0")
	wants(b.do("notebook", "strip", "--check", out), "has outputs", "exit 1")
	wants(b.do("notebook", "strip", out), "give -t to write to standard output", "exit 2")
	wants(b.do("notebook", "strip", "-t", out), "echo \"$region $share\"", "exit 0")
	wants(b.do("diff", b.base+"/daily-north.md", out), "exit 1")
	wants(b.do("convert", out, b.base+"/page.html"), "exit 0")
	if page, err := b.client.Read(t.Context(), b.base+"/page.html", 1<<20); err != nil ||
		!bytes.Contains(page, []byte("north 2.5")) {
		t.Errorf("no page: %v", err)
	}

	// In the other form, with the pictures in the file.
	wants(b.run(b.base+"/daily-north.md", b.base+"/daily.ipynb"), "passed · 2 of 2", "exit 0")
	book, err := b.client.Read(t.Context(), b.base+"/daily.ipynb", 1<<20)
	if err != nil || !bytes.HasPrefix(book, []byte("{")) || !bytes.Contains(book, []byte("iVBORw0KGgo")) ||
		!bytes.Contains(book, []byte(remote.Name(b.base)+"/daily.ipynb")) {
		t.Errorf("%v\n%s", err, book)
	}
	wants(b.run(b.base+"/daily.ipynb", b.base+"/back.md"), "exit 0")
	if back, err := b.client.Read(t.Context(), b.base+"/back.md", 1<<20); err != nil ||
		!bytes.Contains(back, []byte("](back_files/")) {
		t.Errorf("%v\n%s", err, back)
	} else if sent, err := b.client.Read(t.Context(),
		b.base+"/"+regexp.MustCompile(`back_files/[^)]+`).FindString(string(back)), 1<<20); err != nil ||
		!bytes.Equal(sent, dot) {
		t.Errorf("the picture was not sent: %v", err)
	}
	wants(b.do("convert", b.base+"/daily.ipynb", b.base+"/daily.qmd"), "exit 0")

	// What is there is compared with, and not written.
	frozen := func(args ...string) string {
		return b.run(append([]string{"--frozen", b.base + "/daily-north.md"}, args...)...)
	}
	wants(frozen(out, "-p", "region", "north", "-p", "share", "2.5"), "passed · 2 of 2", "exit 0")
	wants(frozen(out, "-p", "region", "east", "-p", "share", "2.5"), "-north 2.5", "+east 2.5",
		remote.Name(out)+" would change: its parameters, step show", "exit 1")
	wants(frozen(b.base+"/daily.ipynb"), "passed · 2 of 2", "exit 0")
	wants(frozen(b.base+"/daily.ipynb", "-p", "region", "east"), "daily.ipynb would change: ", "exit 1")
	wants(frozen(b.base+"/nosuch.md"), "--frozen: "+remote.Name(b.base)+"/nosuch.md: cannot be read: there is no",
		"exit 2")
	if still, err := b.client.Read(t.Context(), out, 1<<20); err != nil || !bytes.Equal(still, got) {
		t.Errorf("%v\n%s", err, still)
	}
	put(picture, "another")
	wants(frozen(out, "-p", "region", "north", "-p", "share", "2.5"), "would change: the picture "+picture, "exit 1")
	put(picture, string(dot))

	// A run that fails is sent as well; one that is prepared, too.
	wants(b.run(b.base+"/daily-north.md", b.base+"/west.out.md", "-p", "region", "west"), "fail", "exit 1")
	if got, err := b.client.Read(t.Context(), b.base+"/west.out.md", 1<<20); err != nil ||
		!bytes.Contains(got, []byte("west 1.5")) {
		t.Errorf("%v\n%s", err, got)
	}
	wants(b.run("--prepare-only", b.base+"/daily-north.md", b.base+"/prepared.md", "-p", "region", "east"), "exit 0")
	if got, err := b.client.Read(t.Context(), b.base+"/prepared.md", 1<<20); err != nil ||
		!bytes.Contains(got, []byte("east")) {
		t.Errorf("%v\n%s", err, got)
	}
	b.secretless(t)
}

// refused writes where that fails at the end: the notebook is not lost.
func (b *remoteBed) refused(t *testing.T, to, why string) {
	t.Helper()
	local := filepath.Join(b.dir, "local.md")
	write(t, local, dailyNotebook)
	before := b.records(t)
	out := b.run(local, to)
	b.wants(t, out, "passed · 2 of 2", strings.TrimSuffix(remote.Name(to), ".md"), ": cannot be written: ", why,
		"the run is recorded, and what OUTPUT was to be is records", "exit 1")
	if b.records(t) != before+1 {
		t.Error("there is no record of the run")
	}
	b.secretless(t)
}

// secretless fails if a credential is in a record.
func (b *remoteBed) secretless(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(b.dir, "records"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if secret := b.leaks(string(text)); secret != "" {
			t.Errorf("%s holds %s", path, secret)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
