package cmdtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"markmill/cmd/markmill-server/serve/web"
	"markmill/notebooks/codec"
)

// desk is a workbench in this process, with a browser that has signed in.
type desk struct {
	t       *testing.T
	root    string
	address string // http://127.0.0.1:PORT
	said    chan string
	client  *http.Client
	token   string // of its forms
}

func newDesk(t *testing.T, root, role string) *desk {
	t.Helper()
	d := &desk{t: t, root: root, said: make(chan string, 100)}
	reader, writer := io.Pipe()
	go func() {
		for lines := bufio.NewScanner(reader); lines.Scan(); {
			d.said <- strings.TrimPrefix(lines.Text(), "Open ")
		}
	}()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	o := web.Options{Program: builtProgram(t), Version: "test", Root: root, Listen: "127.0.0.1:0", User: "tester",
		Connection: queueDesk(root)}
	o.Role = role
	go func() { ended <- web.Serve(ctx, writer, o) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the workbench: %v", err)
		}
	})
	first := d.offered()
	d.address = first[:strings.Index(first, "/sign-in")]
	d.client = d.signedIn(first)
	code, page := d.get("/runs")
	if code != http.StatusOK {
		t.Fatalf("signed in: %d\n%s", code, page)
	}
	d.token = formToken(page)
	return d
}

// offered is the next address that the workbench prints.
func (d *desk) offered() string {
	d.t.Helper()
	select {
	case address := <-d.said:
		return address
	case <-time.After(ownTime):
		d.t.Fatal("no address was printed")
		return ""
	}
}

// signedIn is a new browser that opens an address.
func (d *desk) signedIn(address string) *http.Client {
	d.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		d.t.Fatal(err)
	}
	client := &http.Client{Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(address)
	if err != nil {
		d.t.Fatal(err)
	}
	resp.Body.Close()
	return client
}

func formToken(page string) string {
	if m := regexp.MustCompile(`name="token" value="([A-Z0-9]+)"`).FindStringSubmatch(page); m != nil {
		return m[1]
	}
	return ""
}

func (d *desk) do(r *http.Request) (int, http.Header, string) {
	d.t.Helper()
	resp, err := d.client.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

func (d *desk) request(method, path string, body io.Reader) *http.Request {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), method, d.address+path, body)
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

func (d *desk) get(path string) (int, string) {
	d.t.Helper()
	code, _, text := d.do(d.request("GET", path, nil))
	return code, text
}

// post sends a form as a page of the workbench does.
func (d *desk) post(path string, form url.Values) (code int, to, text string) {
	d.t.Helper()
	form.Set("token", d.token)
	r := d.request("POST", path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", d.address)
	code, header, text := d.do(r)
	return code, header.Get("Location"), text
}

// call calls an address for programs.
func (d *desk) call(method, path, body string) (code int, answer map[string]any) {
	d.t.Helper()
	r := d.request(method, path, strings.NewReader(body))
	r.Header.Set("X-Markmill-Token", d.token)
	code, header, text := d.do(r)
	if header.Get("Content-Type") != "application/json" {
		d.t.Fatalf("%s %s: %s\n%s", method, path, header.Get("Content-Type"), text)
	}
	if err := codec.Unmarshal([]byte(text), &answer); err != nil {
		d.t.Fatal(err)
	}
	return code, answer
}

// launch runs a notebook with the form, and returns the address of the run.
func (d *desk) launch(form url.Values) string {
	d.t.Helper()
	code, to, text := d.post("/new", form)
	if code != http.StatusSeeOther || !strings.HasPrefix(to, "/runs/") {
		d.t.Fatalf("POST /new: %d %s\n%s", code, to, text)
	}
	return to
}

// message is an event of a run as a browser gets it.
type message struct{ id, kind, data string }

// live follows a run, from a place on, until it has ended or so many messages have come.
func (d *desk) live(run, from string, most int) (list []message) {
	d.t.Helper()
	r := d.request("GET", run+"/live", nil)
	if from != "" {
		r.Header.Set("Last-Event-ID", from)
	}
	resp, err := d.client.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
		d.t.Fatalf("%s/live is %s", run, kind)
	}
	var m message
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			m.id = value
		case "event":
			m.kind = value
		case "data":
			m.data = value
		case "":
			if list = append(list, m); len(list) == most || m.kind == "end" {
				return list
			}
			m = message{}
		}
	}
	return list
}

// printed is the output of a step in messages.
func printed(t *testing.T, list []message, step string) (text string) {
	t.Helper()
	for _, m := range list {
		var out struct {
			Step string `json:"step"`
			Text string `json:"text"`
		}
		if m.kind != "output" {
			continue
		}
		if err := codec.Unmarshal([]byte(m.data), &out); err != nil {
			t.Fatal(err)
		}
		if out.Step == step {
			text += out.Text
		}
	}
	return text
}

const serveNotebook = "# Lines\n\n```yaml {.parameters}\nn: 3\nword: hello\n```\n\n" +
	"```bash {#print}\nfor i in $(seq $n); do echo \"$word $i\"; sleep 0.3; done\n```\n\n" +
	"```bash {#change}\necho \"$word\" > new.txt; glue answer 42\n```\n"

const hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"

// serveRepository is a repository with notebooks for the workbench.
func serveRepository(t *testing.T) string {
	return notebookRepository(t, map[string]string{
		"lines.md": serveNotebook,
		"loud.md":  "# Loud\n\n```bash {#loud}\nseq 3000000; echo end\n```\n",
		"hostile.md": "---\ntitle: " + fmt.Sprintf("%q", hostile) + "\n---\n# " + hostile + "\n\n```bash {#bad}\n" +
			"cat <<'E'\n" + hostile + "\nE\nglue \"<b>x</b>\" '<script>alert(3)</script>'\n" +
			"echo '<svg onload=alert(4)>' > '<i>.txt'\necho '<style>*{display:none}</style>' >&2; exit 3\n```\n",
	})
}

// TestServe runs a notebook from its form and watches it live, from two browsers of which one loses its connection.
func TestServe(t *testing.T) {
	t.Parallel()
	d := newDesk(t, serveRepository(t), "approve")
	code, page := d.get("/new?notebook=lines.md")
	if code != http.StatusOK || !strings.Contains(page, `name="param.n"`) ||
		!strings.Contains(page, `placeholder="hello"`) {
		t.Fatalf("the form: %d\n%s", code, page)
	}
	run := d.launch(url.Values{"notebook": {"lines.md"}, "param.n": {"4"}, "param.word": {"a b & c"}})

	whole := make(chan []message, 1)
	go func() { whole <- d.live(run, "", 0) }()
	cut := d.live(run, "", 2)
	cut = append(cut, d.live(run, cut[len(cut)-1].id, 0)...)
	want := "a b & c 1\na b & c 2\na b & c 3\na b & c 4\n"
	for name, list := range map[string][]message{"whole": <-whole, "cut": cut} {
		if got := printed(t, list, "print"); got != want {
			t.Errorf("%s: the step printed %q, and the browser got %q", name, want, got)
		}
		if last := list[len(list)-1]; last.kind != "end" || !strings.Contains(last.data, `"pass"`) {
			t.Errorf("%s: the last message is %v", name, last)
		}
	}
	_, page = d.get(run)
	// The results are those of the static page, with code and change.
	for _, words := range []string{"passed", "a b &amp; c 4", "new.txt", "answer", "Run again", "<h1>Lines</h1>",
		`<span class="tk">for</span> i`, `<details class="file"`} {
		if !strings.Contains(page, words) {
			t.Errorf("the page of the run has no %q", words)
		}
	}
	for path, words := range map[string]string{"/": "lines.md", "/runs?notebook=lines.md&param=n%3D4": "1–1 of 1",
		"/runs?param=n%3D5": "No run matches", run + "/verify": "Everything holds", run + "/output": "a b &amp; c",
		run + "/files/patch.diff": "+a b & c", "/metrics": `markmill_runs{status="pass"} 1`,
		"/new?from=" + strings.TrimPrefix(run, "/runs/"): `value="a b &amp; c"`} {
		if code, page := d.get(path); code != http.StatusOK || !strings.Contains(page, words) {
			t.Errorf("%s: %d, and no %q", path, code, words)
		}
	}
	if code, page := d.get("/nowhere"); code != http.StatusNotFound || !strings.Contains(page, `href="/runs"`) ||
		!strings.Contains(page, "there is no page /nowhere") {
		t.Errorf("a page that is not there: %d\n%s", code, page)
	}
	// The change is put onto the checkout, and the run is rejected, with a reason.
	if code, to, text := d.post(run+"/apply", url.Values{}); code != http.StatusSeeOther || to != run {
		t.Errorf("apply: %d\n%s", code, text)
	}
	if text, err := os.ReadFile(filepath.Join(d.root, "new.txt")); err != nil || string(text) != "a b & c\n" {
		t.Errorf("applied: %q, %v", text, err)
	}
	if code, _, text := d.post(run+"/reject", url.Values{"reason": {" "}}); code != http.StatusConflict ||
		!strings.Contains(text, "give a reason") {
		t.Errorf("rejected without a reason: %d", code)
	}
	if code, _, text := d.post(run+"/reject", url.Values{"reason": {"not <now>"}}); code != http.StatusSeeOther {
		t.Errorf("reject: %d\n%s", code, text)
	}
	if _, page := d.get("/runs"); !strings.Contains(page, "rejected") {
		t.Error("the list does not say that the run was rejected")
	}
}

// TestServeActs aborts a run, answers a request for an approval, forks, and compares.
func TestServeActs(t *testing.T) {
	t.Parallel()
	d := newDesk(t, serveRepository(t), "approve")
	slow := d.launch(url.Values{"notebook": {"slow.md"}})
	for n := 2; !strings.Contains(printed(t, d.live(slow, "", n), "wait"), "begun"); n++ {
	}
	if _, page := d.get("/"); !strings.Contains(page, "Running") {
		t.Error("Home does not show the run that goes on")
	}
	if code, _, text := d.post(slow+"/abort", url.Values{"reason": {"enough"}}); code != http.StatusSeeOther {
		t.Fatalf("abort: %d\n%s", code, text)
	}
	if _, page := d.get(slow); !strings.Contains(page, "aborted by") || !strings.Contains(page, "enough") {
		t.Error("the page does not say who aborted the run, and why")
	}

	gated := d.launch(url.Values{"notebook": {"gated.md"}})
	d.live(gated, "", 0)
	if _, page := d.get("/approvals"); !strings.Contains(page, gated) {
		t.Error("the request is not among the approvals")
	}
	_, page := d.get(gated)
	if contract, steps := strings.Index(page, ">Contract<"), strings.Index(page, ">Steps<"); contract < 0 ||
		contract > steps || strings.Contains(page, "Run now") {
		t.Error("the contract to approve is not above the steps, or the run may go on without it")
	}
	if code, _, text := d.post(gated+"/approve", url.Values{"reason": {"seen"}}); code != http.StatusSeeOther {
		t.Fatalf("approve: %d\n%s", code, text)
	}
	_, page = d.get(gated)
	for text, want := range map[string]bool{": seen": true, "Approved by": true, "Run now": true,
		"Approve the contract": false, "an approval is required": false} {
		if strings.Contains(page, text) != want {
			t.Errorf("after the approval, %q stands on the page: %v", text, !want)
		}
	}
	if _, page := d.get("/approvals"); strings.Contains(page, gated) {
		t.Error("the answered request is among the approvals")
	}
	again := d.launch(url.Values{"notebook": {"gated.md"}})
	if list := d.live(again, "", 0); printed(t, list, "go") != "never\n" {
		t.Errorf("the approved run: %v", list)
	}
	if _, page := d.get(gated); !strings.Contains(page, "Approved by") || !strings.Contains(page, "A run has used it") {
		t.Error("the page does not say that the approval was used")
	}
	if _, page := d.get("/approvals"); strings.Contains(page, gated) {
		t.Error("the request whose approval was used is among the approvals")
	}

	code, fork, text := d.post(again+"/fork", url.Values{"step": {"go"}})
	if code != http.StatusSeeOther {
		t.Fatalf("fork: %d\n%s", code, text)
	}
	d.live(fork, "", 0)
	id := func(run string) string { return "run=" + strings.TrimPrefix(run, "/runs/") }
	for _, query := range []string{id(slow) + "&" + id(again), id(slow) + "&" + id(again) + "&" + id(gated)} {
		if code, page := d.get("/compare?" + query); code != http.StatusOK || !strings.Contains(page, "<table") {
			t.Errorf("compare %s: %d", query, code)
		}
	}
}

// TestServeHostile: nothing that a notebook, a step or a parameter says becomes markup of a page.
func TestServeHostile(t *testing.T) {
	t.Parallel()
	d := newDesk(t, serveRepository(t), "approve")
	run := d.launch(url.Values{"notebook": {"hostile.md"}})
	d.live(run, "", 0)
	for _, path := range []string{"/", "/runs", "/runs?notebook=" + url.QueryEscape(hostile), "/runs?since=" +
		url.QueryEscape(hostile), run, run + "/verify", "/new?notebook=hostile.md", "/new?notebook=" +
		url.QueryEscape(hostile), "/checks", "/approvals", "/schedules", "/jobs?queue=" + url.QueryEscape(hostile),
		"/jobs?notebook=" + url.QueryEscape(hostile), "/jobs/" + url.PathEscape(hostile),
		"/runs/" + url.PathEscape(hostile), run + "/files/" + url.PathEscape(hostile)} {
		code, header, page := d.do(d.request("GET", path, nil))
		if policy := header.Get("Content-Security-Policy"); !strings.Contains(policy, "script-src 'self';") ||
			!strings.Contains(policy, "frame-ancestors 'none'") || header.Get("X-Content-Type-Options") != "nosniff" ||
			header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s (%d): the headers are %v", path, code, header)
		}
		for name := range elements(t, page) {
			if slices.Contains([]string{"img", "svg onload", "style", "b x"}, name) || strings.Contains(name, "on") &&
				strings.Contains(name, " ") {
				t.Errorf("%s has an element %s", path, name)
			}
		}
		if n := strings.Count(page, "<script"); n > 1 {
			t.Errorf("%s has %d scripts", path, n)
		}
	}
	// A file of the record is shown as text, in an origin of its own.
	_, header, _ := d.do(d.request("GET", run+"/files/output.md", nil))
	if kind := header.Get("Content-Type"); kind != "text/plain; charset=utf-8" ||
		!strings.Contains(header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("a file of the record: %v", header)
	}
	_, header, _ = d.do(d.request("GET", run+"/output", nil))
	if policy := header.Get("Content-Security-Policy"); !strings.Contains(policy, "sandbox allow-scripts "+
		"allow-popups") {
		t.Errorf("the output notebook is in the origin of the workbench: %s", policy)
	}
}

// elements are the elements of a page with each of their attributes that begins with "on".
func elements(t *testing.T, page string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return found
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			found[token.Data] = true
			for _, a := range token.Attr {
				if strings.HasPrefix(a.Key, "on") {
					found[token.Data+" "+a.Key] = true
				}
			}
		}
	}
}

// TestServeRefuses attacks the workbench as other sites, other programs and lesser roles can.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	root := serveRepository(t)
	d := newDesk(t, root, "read")
	run, attempts := "/runs/20260101T000000Z-x-0000000000000000", 0

	// An address signs one browser in, once. It is offered again under another token.
	used := d.offered()
	stranger := &http.Client{}
	other := d.signedIn(used)
	if resp, err := stranger.Get(used); err != nil || resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("an address that was used: %v %v", resp, err)
	}
	if next := d.offered(); next == used {
		t.Error("the same address is offered again")
	}
	if resp, err := other.Get(d.address + "/runs"); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("the second browser: %v %v", resp, err)
	}
	at, err := url.Parse(d.address)
	if err != nil {
		t.Fatal(err)
	}
	if cookies := d.client.Jar.Cookies(at); len(cookies) != 1 {
		t.Errorf("the cookies are %v", cookies)
	}

	for _, pattern := range web.Patterns() {
		method, path, _ := strings.Cut(pattern, " ")
		if path == "/sign-out" { // anybody who has signed in may
			continue
		}
		path = strings.NewReplacer("{$}", "", "/{id}", strings.TrimPrefix(run, "/runs"), "{path...}", "x").Replace(path)
		attempts += 2
		r := d.request(method, path, nil)
		if resp, err := stranger.Do(r); err != nil || resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without a session: %v %v", pattern, resp, err)
		}
		r = d.request(method, path, nil)
		r.Host = "evil.example:" + at.Port()
		if code, _, _ := d.do(r); code != http.StatusMisdirectedRequest {
			t.Errorf("%s under another name (DNS rebinding): %d", pattern, code)
		}
		if method != "POST" {
			continue
		}
		for name, change := range map[string]func(*http.Request){
			"of another origin":   func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
			"of another site":     func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
			"of an opaque origin": func(r *http.Request) { r.Header.Set("Origin", "null") },
			"without its token":   func(*http.Request) {},
			"with a wrong token":  func(r *http.Request) { r.Header.Set("X-Markmill-Token", "A"+d.token) },
		} {
			attempts++
			r := d.request(method, path, strings.NewReader("reason=x&notebook=lines.md"))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			change(r)
			if code, _, _ := d.do(r); code != http.StatusForbidden {
				t.Errorf("%s %s: %d", pattern, name, code)
			}
		}
		if web.Needs(pattern) == "read" {
			continue
		}
		attempts++
		r = d.request(method, path, strings.NewReader("reason=x&notebook=lines.md"))
		r.Header.Set("X-Markmill-Token", d.token)
		if code, _, text := d.do(r); code != http.StatusForbidden || !strings.Contains(text, "role") {
			t.Errorf("%s with the role read: %d", pattern, code)
		}
	}

	d = newDesk(t, root, "approve")
	for name, c := range map[string]struct {
		path string
		form url.Values
		want int
	}{
		"a notebook outside":      {"/new", url.Values{"notebook": {"../secret.md"}}, http.StatusConflict},
		"an absolute notebook":    {"/new", url.Values{"notebook": {"/etc/passwd"}}, http.StatusConflict},
		"an option as a notebook": {"/new", url.Values{"notebook": {"--help"}}, http.StatusConflict},
		"an output outside": {"/new", url.Values{"notebook": {"lines.md"}, "output": {"../../x.md"}},
			http.StatusConflict},
		"an unknown run": {run + "/abort", url.Values{"reason": {"x"}}, http.StatusNotFound},
		"a large form": {"/new", url.Values{"notebook": {strings.Repeat("x", 2<<20)}},
			http.StatusRequestEntityTooLarge},
	} {
		attempts++
		if code, _, text := d.post(c.path, c.form); code != c.want {
			t.Errorf("%s: %d\n%s", name, code, text)
		}
	}
	t.Logf("%d attempts", attempts)
	if err := os.Symlink("..", filepath.Join(root, "up")); err != nil {
		t.Fatal(err)
	}
	attempts = 0
	// Braces are refused in what a client names. The settings may have them, and values lead nowhere else.
	settings := filepath.Join(root, "markmill.yaml")
	if err := os.WriteFile(settings, []byte("output: \"out/{word}/x.md\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"..", "../up", "../../x", "a/../../..", "x/../../../up", "../.git/hooks",
		"../.markmill/runs/OTHER", "../up/x", "file://", "s3://b"} {
		attempts += 2
		code, answer := d.call("POST", "/api/v1/runs", fmt.Sprintf(`{"notebook": "lines.md", "parameters": `+
			`{"n": 0, "word": %q}}`, word))
		if code != http.StatusConflict {
			t.Errorf("the value %s: %d %v", word, code, answer)
		}
		if code, _, text := d.post("/new", url.Values{"notebook": {"lines.md"}, "param.n": {"0"},
			"param.word": {word}}); code != http.StatusConflict {
			t.Errorf("the value %s in a form: %d\n%s", word, code, text)
		}
	}
	if err := os.Remove(settings); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d attempts", attempts)
	attempts = 0
	for _, output := range []string{".markmill/runs/OTHER/events.jsonl", ".git/x.md", "markmill.yaml", "Makefile",
		".github/workflows/ci.md", "loud.md", "up/x.md", "{word}/x.md", "/tmp/x.md", "CLAUDE.md",
		".claude/commands/x.md", "docs/agents.md"} {
		for _, path := range []string{"/api/v1/runs", "/api/v1/jobs"} {
			attempts++
			code, answer := d.call("POST", path, fmt.Sprintf(`{"notebook": "lines.md", "output": %q,`+
				` "parameters": {"n": 0, "word": "../up"}}`, output))
			if code != http.StatusConflict {
				t.Errorf("%s to %s: %d %v", path, output, code, answer)
			}
		}
		for _, path := range []string{"/new", "/jobs"} {
			attempts++
			if code, _, text := d.post(path, url.Values{"notebook": {"lines.md"}, "output": {output},
				"param.n": {"0"}, "param.word": {"../up"}}); code != http.StatusConflict {
				t.Errorf("%s to %s: %d\n%s", path, output, code, text)
			}
		}
	}
	t.Logf("%d attempts", attempts)
	id := d.launch(url.Values{"notebook": {"lines.md"}, "param.n": {"0"}})
	d.live(id, "", 0)
	for _, path := range []string{"/files/../../../../etc/passwd", "/files/%2e%2e/%2e%2e/task.md",
		"/files/..%2f..%2ftask.md",
		"/files/nothing", "/files//etc/passwd"} {
		resp, err := d.client.Get(d.address + id + path)
		if err != nil || resp.StatusCode == http.StatusOK {
			t.Errorf("%s: %v %v", path, resp, err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(root, "link.md")); err != nil {
		t.Fatal(err)
	}
	if code, _, _ := d.post("/new", url.Values{"notebook": {"link.md"}}); code != http.StatusConflict {
		t.Errorf("a link that leads out: %d", code)
	}
	for _, address := range []string{"0.0.0.0:0", ":0", "8080", "[::]:0"} {
		err := web.Serve(t.Context(), io.Discard, web.Options{Program: "x", Root: root, Listen: address})
		if err == nil || !strings.Contains(err.Error(), "--listen "+address) {
			t.Errorf("--listen %s: %v", address, err)
		}
	}
}

// TestServeSlowReader: a browser that takes nothing does not slow a run down, and others are answered.
func TestServeSlowReader(t *testing.T) {
	t.Parallel()
	d := newDesk(t, serveRepository(t), "run")
	at, err := url.Parse(d.address)
	if err != nil {
		t.Fatal(err)
	}
	run := d.launch(url.Values{"notebook": {"loud.md"}})
	for range 20 {
		c, err := net.Dial("tcp", at.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "GET %s/live HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\n\r\n", run, at.Host,
			d.client.Jar.Cookies(at)[0])
	}
	list := d.live(run, "", 0)
	if last := list[len(list)-1]; !strings.Contains(last.data, `"pass"`) {
		t.Errorf("the last message is %v", last)
	}
	if text := printed(t, list, "loud"); !strings.HasSuffix(text, "end\n") || len(text) > 10<<20 {
		t.Errorf("%d bytes of output, which end with %q", len(text), text[max(0, len(text)-20):])
	}
	if code, _ := d.get(run); code != http.StatusOK {
		t.Errorf("the page of the run: %d", code)
	}
}

// TestServeAPI: the description names every address for programs, and they do what it says.
func TestServeAPI(t *testing.T) {
	t.Parallel()
	var doc struct {
		Paths map[string]map[string]struct {
			Body *struct {
				Content map[string]struct {
					Schema map[string]any `json:"schema"`
				} `json:"content"`
			} `json:"requestBody"`
		} `json:"paths"`
	}
	if err := codec.Unmarshal(web.OpenAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	var described, served []string
	for path, methods := range doc.Paths {
		for method := range methods {
			described = append(described, strings.ToUpper(method)+" "+path)
		}
	}
	for _, pattern := range web.Patterns() {
		if strings.Contains(pattern, " /api/") || strings.HasSuffix(pattern, " /events") {
			served = append(served, pattern)
		}
	}
	slices.Sort(described)
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Errorf("described: %q\nserved:    %q", described, served)
	}

	d := newDesk(t, serveRepository(t), "run")
	call := d.call
	code, answer := call("POST", "/api/v1/runs", `{"notebook": "lines.md", "parameters": {"n": 1, "word": "x"}}`)
	id, _ := answer["run_id"].(string)
	if code != http.StatusCreated || id == "" {
		t.Fatalf("%d %v", code, answer)
	}
	d.live("/runs/"+id, "", 0)
	if code, answer := call("GET", "/api/v1/runs/"+id, ""); code != http.StatusOK || answer["status"] != "pass" {
		t.Errorf("%d %v", code, answer)
	}
	if code, answer := call("GET", "/api/v1/runs/"+id+"/verification", ""); code != http.StatusOK ||
		answer["ok"] != true {
		t.Errorf("%d %v", code, answer)
	}
	if code, answer := call("GET", "/api/v1/runs?limit=1&scrap=answer%3D42", ""); code != http.StatusOK ||
		answer["count"] != 1.0 {
		t.Errorf("%d %v", code, answer)
	}
	if code, answer := call("GET", "/api/v1/notebooks", ""); code != http.StatusOK || answer["notebooks"] == nil {
		t.Errorf("%d %v", code, answer)
	}
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"GET", "/api/v1/runs?limit=501", "", 400}, {"GET", "/api/v1/runs?status=nonsense", "", 400},
		{"GET", "/api/v1/runs/nothing", "", 404}, {"POST", "/api/v1/runs", "{", 400},
		{"POST", "/api/v1/runs", `{"notebook": "none.md"}`, 409}, {"POST", "/api/v1/runs/" + id + "/abort", `{}`, 409},
		{"POST", "/api/v1/runs", `{"notebook": "lines.md", "in_place": true}`, 400},
		{"POST", "/api/v1/runs/" + id + "/abort", `{"reason": "x", "force": "1"}`, 409},
		{"POST", "/api/v1/checks/mute", `{"notebook": "lines.md", "until": "2h", "reason": "x", "text": "x"}`, 409},
	} {
		if code, answer := call(c.method, c.path, c.body); code != c.want || answer["error"] == "" {
			t.Errorf("%s %s: %d %v", c.method, c.path, code, answer)
		}
	}
	attempts := 0
	for path, methods := range doc.Paths {
		for method, m := range methods {
			if m.Body == nil {
				continue
			}
			if m.Body.Content["application/json"].Schema["additionalProperties"] != false {
				t.Errorf("%s %s: the description allows unknown members", method, path)
			}
			if strings.Contains(path, "/jobs") || strings.Contains(path, "/queues") ||
				strings.HasSuffix(path, "/reject") {
				continue // there is no queue, and the role is run
			}
			for _, body := range []string{`{"new": "x"}`, `{"Notebook": "lines.md"}`, `{"run": {"in_place": true}}`} {
				attempts++
				code, answer := call(strings.ToUpper(method), strings.Replace(path, "{id}", id, 1), body)
				if text, _ := answer["error"].(string); code < 400 || !strings.Contains(text, "unknown") {
					t.Errorf("%s %s with %s: %d %v", method, path, body, code, answer)
				}
			}
		}
	}
	t.Logf("%d attempts", attempts)
	if resp, err := http.Get(d.address + "/healthz"); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("healthz: %v %v", resp, err)
	}
	if resp, err := http.Get(d.address + "/readyz"); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("readyz: %v %v", resp, err)
	}
}
