package remote

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"markmill/notebooks"
)

// client returns a client with its own environment and short waits.
func client(t *testing.T, env ...string) Client {
	t.Helper()
	m := map[string]string{"AWS_EC2_METADATA_DISABLED": "true"}
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		m[name] = value
	}
	return Client{Home: t.TempDir(), Limit: time.Minute, Pause: time.Millisecond,
		Getenv: func(name string) (string, bool) { v, ok := m[name]; return v, ok }}
}

// wants fails unless err is a *notebooks.Error that contains all parts and none of the tests' secrets.
func wants(t *testing.T, err error, parts ...string) {
	t.Helper()
	var e *notebooks.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no error of a notebook", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "hush") {
		t.Errorf("%q tells a secret", err)
	}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]bool{
		"s3://b/k": true, "S3://b/k": true, "https://h/p": true, "hdfs://h/p": true, "a/b.md": false, "/a/b": false,
		"-": false, "": false,
		`C:\a\b.md`: false, "C://a": false, "rev:path": false, "a b://c": false, "./x://y": false, "://x": false,
	} {
		if Is(text) != want {
			t.Errorf("Is(%q) is %v", text, !want)
		}
	}
	for text, want := range map[string]string{
		"https://user:hush@h:1/p/a.ipynb?sig=hush#f": "https://h:1/p/a.ipynb", "https://h?sig=hush": "https://h",
		"HTTP://h/a":      "http://h/a",
		"s3://b/a?b#c.md": "s3://b/a?b#c.md", "s3://KEY:hush@b/a.md": "s3://b/a.md",
		"abs://acc.blob.core.windows.net/c/b.md?sv=hush": "abs://acc.blob.core.windows.net/c/b.md",
		"gs://b/x y.md": "gs://b/x y.md",
	} {
		if got := Name(text); got != want {
			t.Errorf("Name(%q) is %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"s3://b/d/out.md": "s3://b/d/out_files/1.png", "s3://b/out.md": "s3://b/out_files/1.png",
		"https://u:p@h/d/out.md":                     "https://u:p@h/d/out_files/1.png",
		"abs://a.blob.core.windows.net/c/out.md?sig": "abs://a.blob.core.windows.net/c/out_files/1.png?sig",
	} {
		if got := Beside(text, "out_files/1.png"); got != want {
			t.Errorf("Beside(%q) is %q, want %q", text, got, want)
		}
	}
}

func TestWrongAddresses(t *testing.T) {
	for text, want := range map[string][]string{
		"s3://bucket":           {"s3://bucket: names no file; write s3://BUCKET/KEY"},
		"s3://bucket/folder/":   {"names no file"},
		"s3://ID:hush@bucket/k": {"s3://bucket/k: credentials do not belong in this address"},
		"s3n://b/k":             {"write s3://"},
		"hdfs://host/x":         {"hdfs dfs -cat FILE | markmill run - OUTPUT"},
		"adl://host/x":          {"az://CONTAINER/BLOB"},
		"ftp://host/x":          {"there is no ftp:// here", "s3://, gs://, az://"},
		"https://":              {"is no address"},
		"http://a b/":           {"is no address"},
		"https://github.com/o/r/blob/main/n.ipynb": {"button Raw"},
		"az://c/b": {"the account of Azure's is not set", "AZURE_STORAGE_CONNECTION_STRING"},
	} {
		_, err := client(t).Read(t.Context(), text, 10)
		wants(t, err, want...)
	}
}

// script is a server that gives its answers in order and repeats the last one.
func script(t *testing.T, answers ...http.HandlerFunc) (*httptest.Server, *[]*http.Request) {
	t.Helper()
	var seen []*http.Request
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		seen = append(seen, r)
		answers[min(len(seen), len(answers))-1](w, r)
	}))
	t.Cleanup(s.Close)
	return s, &seen
}

func says(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); _, _ = io.WriteString(w, text) }
}

func zipped(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return b.Bytes()
}

func TestWebRead(t *testing.T) {
	c := client(t)
	s, seen := script(t, says(503, "busy"), says(429, ""), says(200, "hello"))
	got, err := c.Read(t.Context(), s.URL+"/n.md", 5)
	if err != nil || string(got) != "hello" || len(*seen) != 3 {
		t.Errorf("%q, %v after %d requests", got, err, len(*seen))
	}
	for _, packed := range []http.HandlerFunc{
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(zipped("hello"))
		},
		func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(zipped("hello")) }, // as a file, n.md.gz
	} {
		s, _ := script(t, packed)
		if got, err := c.Read(t.Context(), s.URL+"/n.md", 100); err != nil || string(got) != "hello" {
			t.Errorf("%q, %v", got, err)
		}
	}
	s, _ = script(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/there", http.StatusFound) },
		says(200, "moved"))
	if got, err := c.Read(t.Context(), s.URL+"/n.md", 5); err != nil || string(got) != "moved" {
		t.Errorf("%q, %v", got, err)
	}
	user, seen := script(t, func(w http.ResponseWriter, r *http.Request) {
		if name, word, _ := r.BasicAuth(); name != "me" || word != "hush" {
			w.WriteHeader(401)
		}
	})
	if _, err := c.Read(t.Context(), strings.Replace(user.URL, "://", "://me:hush@", 1)+"/n.md?x=1", 5); err != nil ||
		(*seen)[0].URL.RawQuery != "x=1" {
		t.Errorf("%v", err)
	}
	_, err = c.Read(t.Context(), strings.Replace(user.URL, "://", "://you:hush@", 1)+"/n.md?sig=hush", 5)
	wants(t, err, user.URL+"/n.md: cannot be read: access is refused (401 Unauthorized) with the user of the address")
}

func TestWebReadFails(t *testing.T) {
	c := client(t)
	for _, x := range []struct {
		answer http.HandlerFunc
		want   string
	}{
		{says(404, "no such thing"),
			"there is nothing (404 Not Found: no such thing); check the spelling of the address"},
		{says(500, strings.Repeat("x ", 500)), "also after 4 tries"},
		{says(403, ""),
			"access is refused (403 Forbidden) with the query of the address; " +
				"if it is a signature, it may have expired"},
		{says(403, "<Signature>hush/+=</Signature>, asked for ?sig=hush%2F%2B%3D"),
			"(403 Forbidden: <Signature>***</Signature>, asked for ?sig=***)"},
		{s3Says(403, "AccessDenied", "Request has expired, hush/+="),
			"(403 AccessDenied: Request has expired, ***) with the query of the address"},
		{says(200, "hello!"), "has more than 5 bytes, the most that a notebook has"},
		{func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(zipped(strings.Repeat("a", 100000))) },
			"has more than 5 bytes"},
		{func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "4")
			_, _ = io.WriteString(w, "ab")
		}, "it broke off after 2 bytes, also after 4 tries: unexpected EOF; try again later"},
		{func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path+"?hush", http.StatusFound)
		}, "more than 10 redirects"},
	} {
		s, _ := script(t, x.answer)
		_, err := c.Read(t.Context(), s.URL+"/n.md?sig=hush%2F%2B%3D", 5)
		wants(t, err, s.URL+"/n.md", x.want)
	}
}

// A host that is silent or sends endlessly does not hold the caller beyond its limits.
func TestPatience(t *testing.T) {
	c := client(t)
	c.Limit = 300 * time.Millisecond
	for _, slow := range []func(w http.ResponseWriter, r *http.Request){
		func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "a")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
	} {
		s := httptest.NewServer(http.HandlerFunc(slow))
		_, err := c.Read(t.Context(), s.URL+"/n.md", 5)
		wants(t, err, "it was not done within 300ms")
		s.Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := client(t).Read(ctx, "http://127.0.0.1:1/n.md", 5)
	wants(t, err, "interrupted")
}

func TestWebWrite(t *testing.T) {
	c := client(t)
	s, seen := script(t, says(500, ""), says(201, ""))
	if err := c.Write(t.Context(), s.URL+"/n.ipynb", []byte(`{"cells":[]}`)); err != nil {
		t.Fatal(err)
	}
	last := (*seen)[len(*seen)-1]
	body, _ := io.ReadAll(last.Body)
	if last.Method != "PUT" || string(body) != `{"cells":[]}` || last.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %q %v", last.Method, body, last.Header)
	}
	s, _ = script(t, says(405, ""))
	wants(t, c.Write(t.Context(), s.URL+"/n.md", nil), "cannot be written: the service says: 405 Method Not Allowed")
	s, seen = script(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/there?sig=hush", http.StatusTemporaryRedirect)
	}, says(200, ""))
	if err := c.Write(t.Context(), s.URL+"/n.md", []byte("whole")); err != nil {
		t.Error(err)
	}
	if body, _ := io.ReadAll((*seen)[1].Body); string(body) != "whole" {
		t.Errorf("after a redirect came %q", body)
	}
	s, seen = script(t, func(w http.ResponseWriter,
		r *http.Request) {
		http.Redirect(w, r, "/login?sig=hush", http.StatusFound)
	}, says(200, ""))
	wants(t, c.Write(t.Context(), s.URL+"/n.md", nil), "it redirects a PUT",
		"/login, and the file cannot be sent along")
	if len(*seen) != 1 {
		t.Errorf("%d requests", len(*seen))
	}
}

func TestUnreachable(t *testing.T) {
	const nobody = "127.0.0.1:1" // a port that the system never assigns
	c := client(t, "AWS_ENDPOINT_URL=http://"+nobody, "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=hush",
		"STORAGE_EMULATOR_HOST="+nobody,
		"AZURE_STORAGE_CONNECTION_STRING=DefaultEndpointsProtocol=http;AccountName=acc;"+
			"AccountKey=aHVzaA==;BlobEndpoint=http://"+nobody+"/acc")
	for _, text := range []string{"http://u:hush@" + nobody + "/n.md?hush", "s3://b/n.md", "gs://b/n.md",
		"az://c/n.md"} {
		_, err := c.Read(t.Context(), text, 5)
		wants(t, err, Name(text)+": cannot be read: ", nobody, "connection refused", "reachable from here")
		wants(t, c.Write(t.Context(), text, nil), "cannot be written: ", "connection refused")
		if !strings.HasPrefix(text, "http") {
			wants(t, c.Check(t.Context(), text), "connection refused")
		}
	}
}

func file(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
