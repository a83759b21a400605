package jetstream_test

import (
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

	"markmill/engine"
	"markmill/engine/queue"
	"markmill/engine/queue/notify"
	"markmill/notebooks/codec"
)

// hostile is an alert of a notebook that wants to be a header, markup and a command.
func hostile() *queue.Alert {
	return &queue.Alert{ID: "0123456789abcdef", Project: "p", Notebook: "w.md\r\nBcc: evil@example.org", Run: "run-1",
		Time: time.Unix(1, 0).UTC(), About: queue.AboutCheck, Name: "disk\r\nBcc: evil@example.org\r\n\r\n" +
			"<!channel> $(touch x)",
		Event: "critical", Before: "ok", State: "critical", Value: codec.Raw("93"), Unit: "%",
		Message: "4 GB left\n.\nMAIL FROM:<x@y>\x1b[31m\u202e"}
}

func variables(values map[string]string) *notify.Sender {
	return &notify.Sender{Getenv: func(name string) (string, bool) { v, ok := values[name]; return v, ok }}
}

// TestPost: what a receiver gets, and what its answers mean.
func TestPost(t *testing.T) {
	t.Parallel()
	status, header := http.StatusOK, http.Header{}
	var body []byte
	elsewhere := 0
	mux := http.NewServeMux()
	mux.HandleFunc("/elsewhere", func(http.ResponseWriter, *http.Request) { elsewhere++ })
	mux.HandleFunc("/s3cret", func(w http.ResponseWriter, r *http.Request) {
		body, header = nil, r.Header
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Location", "/elsewhere")
		w.Header().Set("Retry-After", "90")
		w.WriteHeader(status)
		io.WriteString(w, "you sent s3cret")
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	s := variables(map[string]string{"URL": strings.Replace(server.URL, "//", "//me:passw0rd@", 1) +
		"/s3cret?key=t0ken"})
	for _, c := range []struct {
		status int
		words  string
		final  bool
		after  time.Duration
	}{
		{200, "", false, 0}, {204, "", false, 0}, {500, "status 500", false, 90 * time.Second},
		{404, "status 404", false, 90 * time.Second}, {429, "status 429", false, 90 * time.Second},
		{422, "status 422", true, 0}, {307, "status 307: the address has moved; write the new one into the settings",
			false, 0},
	} {
		status = c.status
		err := s.Send(t.Context(), engine.AlertTarget{Webhook: "${URL}"}, hostile())
		f, _ := errors.AsType[*notify.Failure](err)
		switch {
		case c.words == "" && err != nil, c.words != "" && (f == nil || f.Words != c.words || f.Final != c.final ||
			f.After != c.after):
			t.Errorf("%d: %+v", c.status, err)
		}
		if header.Get("Idempotency-Key") != "0123456789abcdef" ||
			!strings.HasPrefix(header.Get("Authorization"), "Basic ") {
			t.Errorf("%d: %v", c.status, header)
		}
		var doc struct {
			Schema string `json:"schema"`
			notify.Document
		}
		if err := codec.Unmarshal(body, &doc); err != nil || doc.Schema != "markmill.alert/1" ||
			doc.Name != hostile().Name || doc.Run != "run-1" || string(doc.Value) != "93" ||
			strings.ContainsAny(doc.Text, "\r\n\x1b\u202e") {
			t.Errorf("%d: %v %s", c.status, err, body)
		}
	}
	if elsewhere != 0 {
		t.Error("a redirect was followed")
	}
	status = 200
	if err := s.Send(t.Context(), engine.AlertTarget{Slack: "${URL}"}, hostile()); err != nil {
		t.Fatal(err)
	}
	var message struct {
		Text string `json:"text"`
	}
	if err := codec.UnmarshalForeign(body, &message); err != nil || strings.Contains(message.Text, "<!channel>") ||
		!strings.Contains(message.Text, "critical: 93 %") {
		t.Errorf("%v %s", err, body)
	}
}

// TestNoSecrets: no error has an address, a part of one, or what the other side has said.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // it would not see the end of the connection else
		<-r.Context().Done()
	}))
	defer silent.Close()
	plain := strings.TrimPrefix(silent.URL, "http://")
	urls := map[string]string{"refused": "http://me:passw0rd@127.0.0.1:1/s3cret?key=t0ken", "silent": silent.URL +
		"/s3cret",
		"noTLS": "https://me:passw0rd@" + plain + "/s3cret", "bad": "http://[::1/s3cret",
		"escape": "http://h/%zzs3cret",
		"noHost": "s3cret", "scheme": "ftp://h/s3cret", "name": "http://no-such-host.invalid/s3cret",
		"smtp": "smtp://me:passw0rd@127.0.0.1:1", "smtps": "smtps://me:passw0rd@" + plain,
		"none": "smtp://me:passw0rd@127.0.0.1:1?tls=none"}
	s := variables(urls)
	s.Limit = 200 * time.Millisecond
	for name := range urls {
		for _, target := range []engine.AlertTarget{{Webhook: "${" + name + "}"}, {Slack: "${" + name + "}"},
			{Mail: []string{"a@example.org"}, From: "b@example.org", Server: "${" + name + "}"}} {
			err := s.Send(t.Context(), target, hostile())
			if err == nil {
				t.Errorf("%s: no error", name)
				continue
			}
			for _, secret := range []string{"s3cret", "passw0rd", "t0ken"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	err := s.Send(t.Context(), engine.AlertTarget{Webhook: "${NOT_SET}"}, hostile())
	if err == nil || !strings.Contains(err.Error(), "NOT_SET") {
		t.Error(err)
	}
}

// TestExec: a program gets the alert on its standard input and no shell sees it; one that hangs is ended, with what it
// has started.
func TestExec(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("there is no /bin/sh")
	}
	dir := t.TempDir()
	s := &notify.Sender{}
	got := filepath.Join(dir, "got")
	err := s.Send(t.Context(), engine.AlertTarget{Exec: []string{"/bin/sh", "-c",
		`cat > "$0"; echo "$MARKMILL_ALERT" >> "$0"`, got}}, hostile())
	text, rerr := os.ReadFile(got)
	if err != nil || rerr != nil || !strings.Contains(string(text), `"schema":"markmill.alert/1"`) ||
		!strings.HasSuffix(string(text), "\n0123456789abcdef\n") {
		t.Errorf("%v %v %s", err, rerr, text)
	}
	for command, words := range map[string]string{"exit 3": "exit status 3", "kill -9 $$": "signal: killed"} {
		if err := s.Send(t.Context(), engine.AlertTarget{Exec: []string{"/bin/sh", "-c", command}},
			hostile()); err == nil || err.Error() != words {
			t.Errorf("%s: %v", command, err)
		}
	}
	s.Limit = 100 * time.Millisecond
	begin := time.Now()
	late := filepath.Join(dir, "late")
	err = s.Send(t.Context(), engine.AlertTarget{Exec: []string{"/bin/sh", "-c", `(sleep 0.5; touch "$0") & sleep 20`,
		late}}, hostile())
	if err == nil || !strings.Contains(err.Error(), "no answer within") || time.Since(begin) > 10*time.Second {
		t.Errorf("%v after %s", err, time.Since(begin))
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := s.Send(ctx, engine.AlertTarget{Exec: []string{"/bin/true"}}, hostile()); err == nil {
		t.Error("it ran after the end of its context")
	}
	time.Sleep(800*time.Millisecond - time.Since(begin))
	if _, err := os.Stat(late); err == nil {
		t.Error("what it started lived on")
	}
}

// TestExecVariables: a program has the variables that docs/alerts.md names, and no other of this process.
func TestExecVariables(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("there is no /bin/sh")
	}
	t.Setenv("HOME", "/home/me")
	secrets := []string{"SMTP_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "GOOGLE_CREDENTIALS",
		"AZURE_CLIENT_SECRET", "SSH_AUTH_SOCK", "PGPASSWORD", "NPM_TOKEN", "MARKMILL_NATS", "MARKMILL_DIR",
		"MARKMILL_ACTOR", "LD_PRELOAD", "BASH_ENV", "PYTHONPATH", "GIT_DIR", "KUBECONFIG", "http_proxy"}
	for _, name := range secrets {
		t.Setenv(name, "/nowhere/"+name)
	}
	docs, err := os.ReadFile("../../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	got := filepath.Join(t.TempDir(), "got")
	if err := (&notify.Sender{}).Send(t.Context(), engine.AlertTarget{Exec: []string{"/bin/sh", "-c", `env > "$0"`, got}},
		hostile()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(got)
	if err != nil || !strings.Contains(string(text), "HOME=/home/me\n") {
		t.Errorf("%v %s", err, text)
	}
	for _, name := range secrets {
		if strings.Contains(string(text), name) {
			t.Errorf("it has %s", name)
		}
	}
	t.Logf("%d attempts", len(secrets))
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(line, "=")
		own := name == "PWD" || name == "SHLVL" || name == "OLDPWD" || name == "_" // the shell's
		if !own && !strings.Contains(string(docs), "`"+name+"`") {
			t.Errorf("it has %s", name)
		}
	}
}
