package cmdtest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"markmill/cmd/markmill-server/serve/web"
	"markmill/runs"
)

var roles = []string{"read", "run", "approve"}

// pathOf is an address of a pattern.
func pathOf(pattern string) (method, path string) {
	method, path, _ = strings.Cut(pattern, " ")
	return method, strings.NewReplacer("{$}", "", "{id}", "20260101T000000Z-x-0000000000000000", "{path...}", "x").
		Replace(path)
}

// TestServeRoles: every address, with every role, by the form of a browser and by the token of a program.
func TestServeRoles(t *testing.T) {
	t.Parallel()
	d := newPeopleDesk(t, nil)
	browsers, forms := map[string]*http.Client{}, map[string]string{}
	for _, role := range roles {
		browsers[role], forms[role] = d.signedIn(d.tokens[role])
		browsers[role].CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	lesser, attempts := 0, 0
	for pattern, role := range web.Patterns() {
		method, path := pathOf(pattern)
		needs := slices.Index(roles, role)
		answers := []string{"approve", "deny", "accept", "reject", "apply", "address"}
		if slices.Contains(answers, path[strings.LastIndexByte(path, '/')+1:]) && roles[needs] != "approve" {
			t.Errorf("%s needs the role %s", pattern, roles[needs])
		}
		if path == "/sign-out" || path == "/events" { // the first ends the session, the second does not end
			continue
		}
		attempts++
		if code, _, _ := d.ask(method, path, ""); code != http.StatusUnauthorized {
			t.Errorf("%s of a stranger: %d", pattern, code)
		}
		for has, role := range roles {
			code, _, text := d.ask(method, path, "{}", "Authorization", "Bearer "+d.tokens[role])
			refused := code == http.StatusForbidden || code == http.StatusUnauthorized
			if has < needs {
				attempts++
			}
			if refused != (has < needs) || refused && !strings.Contains(text, "needs the role") {
				t.Errorf("%s needs %s, and a program with %s gets %d %s", pattern, roles[needs], role, code, text)
			}
			for _, change := range []string{"", "token", "header"} { // with a GET nothing changes, so it has no token
				r, err := http.NewRequestWithContext(t.Context(), method, d.address+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				switch change {
				case "token":
					r, err = http.NewRequestWithContext(t.Context(), method, d.address+path,
						strings.NewReader(url.Values{"token": {forms[role]}}.Encode()))
					if err != nil {
						t.Fatal(err)
					}
					r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				case "header":
					r.Header.Set("X-Markmill-Token", forms[role])
				}
				resp, err := browsers[role].Do(r)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				given := change == "header" || change == "token" && method == "POST" || method == "GET"
				want := has < needs || !given
				if want {
					attempts++
				}
				if refused := resp.StatusCode == http.StatusForbidden; refused != want {
					t.Errorf("%s needs %s, and a browser with %s (%s) gets %d", pattern, roles[needs], role, change,
						resp.StatusCode)
				}
			}
			if has < needs {
				lesser++
			}
		}
	}
	t.Logf("%d attempts", attempts)
	if lesser < 10 {
		t.Errorf("only %d addresses were tried with too low a role", lesser)
	}
}

// endless is a body that counts what is taken of it.
type endless struct {
	left  int64
	taken atomic.Int64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), e.left)
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.left -= n
	e.taken.Add(n)
	return int(n), nil
}

// TestServeLargeBody: of a body of 1 GB little is read, whether it says its length or not, and whoever sends it.
func TestServeLargeBody(t *testing.T) {
	t.Parallel()
	const most = 16 << 20 // what the buffers of two sockets and of both programs hold
	d := newPeopleDesk(t, nil)
	for _, path := range []string{"/new", "/api/v1/runs", "/mcp", "/sign-in", "/webhook", "/nothing"} {
		for _, length := range []int64{1 << 30, -1} {
			for _, kind := range []string{"application/json", "application/x-www-form-urlencoded"} {
				for _, header := range []string{"", "Bearer " + d.tokens["approve"]} {
					body := &endless{left: 1 << 30}
					r, err := http.NewRequestWithContext(t.Context(), "POST", d.address+path, body)
					if err != nil {
						t.Fatal(err)
					}
					r.ContentLength = length
					r.Header.Set("Content-Type", kind)
					r.Header.Set("Accept", "application/json, text/event-stream")
					if header != "" {
						r.Header.Set("Authorization", header)
					}
					resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
					if err == nil { // the server may cut the connection before its answer is read
						resp.Body.Close()
						if resp.StatusCode < 400 || length > 0 && resp.StatusCode != http.StatusRequestEntityTooLarge {
							t.Errorf("%s, length %d: %d", path, length, resp.StatusCode)
						}
					}
					if n := body.taken.Load(); n > most {
						t.Errorf("%s, length %d: %d bytes were taken", path, length, n)
					}
				}
			}
		}
	}
}

// TestServeCrowd: with 1,000 connections that say nothing, or one byte at a time, others are answered, and the
// connections are cut.
func TestServeCrowd(t *testing.T) {
	t.Parallel()
	d := newPeopleDesk(t, nil)
	at, err := url.Parse(d.address)
	if err != nil {
		t.Fatal(err)
	}
	var crowd []net.Conn
	for n := range 1000 {
		c, err := net.Dial("tcp", at.Host)
		if err != nil {
			t.Fatalf("connection %d: %v", n, err)
		}
		defer c.Close()
		if n%2 == 0 {
			fmt.Fprintf(c, "GET /runs HTTP/1.1\r\nHost: %s\r\nX: ", at.Host)
		}
		crowd = append(crowd, c)
	}
	began := time.Now()
	if code, _ := d.as("read", "GET", "/runs", ""); code != http.StatusOK {
		t.Errorf("with 1,000 connections: %d", code)
	}
	t.Logf("with 1,000 connections the list took %s", time.Since(began))
	// One that sends a byte a second never ends its request. It is cut, and not answered as if it had.
	slow := crowd[0]
	cut := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(bufio.NewReader(slow))
		cut <- string(text)
	}()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	deadline := time.After(ownTime)
	for sent := 0; ; sent++ {
		select {
		case text := <-cut:
			if strings.Contains(text, "200 OK") || sent > 30 {
				t.Errorf("after %d bytes the slow client got %q", sent, text)
			}
			return
		case <-ticker.C:
			_, _ = slow.Write([]byte("x")) // it fails when the connection is cut, which is what is waited for
		case <-deadline:
			t.Fatal("a client that sends a byte a second keeps its connection")
		}
	}
}

// TestServeIdle: strangers who keep more connections than the workbench has keep nobody out, and nobody loses a
// connection over them that is known to be a person's.
func TestServeIdle(t *testing.T) {
	t.Parallel()
	d := newPeopleDesk(t, nil)
	at, err := url.Parse(d.address)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(c net.Conn, path, token string) (string, error) {
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", path, at.Host, token)
		_ = c.SetReadDeadline(time.Now().Add(ownTime))
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return resp.Status, err
	}
	dial := func() net.Conn {
		c, err := net.Dial("tcp", at.Host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	person := dial()
	if status, err := ask(person, "/api/v1/runs", d.tokens["read"]); err != nil || status != "200 OK" {
		t.Fatalf("%s, %v", status, err)
	}
	for n := range 1100 {
		if status, err := ask(dial(), "/healthz", ""); err != nil || status != "200 OK" {
			t.Fatalf("connection %d: %s, %v", n, status, err)
		}
	}
	t.Log("1100 attempts")
	if status, err := ask(dial(), "/api/v1/runs", d.tokens["read"]); err != nil || status != "200 OK" {
		t.Errorf("with 1,100 idle connections: %s, %v", status, err)
	}
	if status, err := ask(person, "/api/v1/runs", d.tokens["read"]); err != nil || status != "200 OK" {
		t.Errorf("the connection of a person: %s, %v", status, err)
	}
}

// TestServeFormsOfPrograms: the fields of a form are read, too, when it comes with a token and without a session.
func TestServeFormsOfPrograms(t *testing.T) {
	t.Parallel()
	d := newPeopleDesk(t, nil)
	const form = "application/x-www-form-urlencoded"
	code, header, text := d.ask("POST", "/new", "notebook=gated.md", "Content-Type", form, "Authorization",
		"Bearer "+d.tokens["approve"])
	if code != http.StatusSeeOther {
		t.Fatalf("%d %s", code, text)
	}
	run := header.Get("Location")
	store := runs.Store{Dir: filepath.Join(d.root, ".markmill")}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		loaded, _, err := store.Record(runs.RunID(path.Base(run))).Load()
		if err == nil && loaded.Completed != nil {
			break
		}
		if time.Since(began) > ownTime {
			t.Fatalf("the run does not end: %v", err)
		}
	}
	code, _, text = d.ask("POST", run+"/approve", "reason=as+agreed", "Content-Type", form, "Authorization",
		"Bearer "+d.tokens["approve"])
	answers, err := store.Approvals().Answers()
	if code != http.StatusSeeOther || err != nil || len(answers) != 1 || answers[0].Comment != "as agreed" {
		t.Errorf("%d %s: %+v, %v", code, text, answers, err)
	}
}
