package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"markmill/engine"
	"markmill/engine/queue"
	"markmill/notebooks/ansi"
	"markmill/notebooks/codec"
)

// Limit is the most that one attempt may take.
const Limit = 30 * time.Second

// Sender sends alerts. The zero value has no environment.
type Sender struct {
	Getenv func(string) (string, bool)
	TLS    *tls.Config   // nil: that of the system
	Limit  time.Duration // 0 is Limit
}

// Failure is why an attempt failed. Its text is fit for logs.
type Failure struct {
	Words string
	Final bool          // trying again does not mend it
	After time.Duration // that the receiver asks to wait; 0 says nothing
}

func (f *Failure) Error() string { return f.Words }

func failf(format string, args ...any) *Failure { return &Failure{Words: fmt.Sprintf(format, args...)} }

// Document is what webhooks and programs receive.
type Document struct {
	queue.Alert
	Text string `json:"text"` // in one line
}

// document is the document of an alert, with the name of its schema.
func document(a *queue.Alert) any {
	return struct {
		Schema string `json:"schema"`
		Document
	}{"markmill.alert/1", Document{*a, headline(a)}}
}

// headline returns the alert in one line.
func headline(a *queue.Alert) string {
	name := a.Notebook
	if a.Title != "" {
		name = a.Title
	}
	if a.By != "" {
		name += " (" + a.By + ")"
	}
	mark := "ALERT"
	switch {
	case a.About == queue.AboutTest:
		mark = "TEST"
	case !a.Bad():
		mark = "RECOVERED"
	}
	return fmt.Sprintf("%s %s: %s", mark, oneLine(name), oneLine(a.Words()))
}

func oneLine(s string) string { return ansi.Escape(strings.Join(strings.Fields(s), " ")) }

// Send makes one attempt. The error is a *Failure.
func (s *Sender) Send(ctx context.Context, t engine.AlertTarget, a *queue.Alert) error {
	limit := s.Limit
	if limit == 0 {
		limit = Limit
	}
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	var failure *Failure
	switch {
	case t.Webhook != "":
		failure = s.post(ctx, t.Webhook, a, document(a))
	case t.Slack != "":
		failure = s.post(ctx, t.Slack, a, map[string]string{"text": slackText(a)})
	case len(t.Mail) > 0:
		failure = s.mail(ctx, t, a)
	default:
		failure = run(ctx, t.Exec, a)
	}
	switch {
	case failure == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return failf("no answer within %s", limit)
	}
	failure.Words = oneLine(failure.Words)
	return failure
}

// address returns a URL from the settings, or from the variable that they name.
func (s *Sender) address(text string) (*url.URL, *Failure) {
	if name := engine.Variable(text); name != "" {
		value, set := "", false
		if s.Getenv != nil {
			value, set = s.Getenv(name)
		}
		if !set || value == "" {
			return nil, failf("the variable %s, which has the address, is not set here", name)
		}
		text = value
	}
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Host == "" {
		return nil, failf("the address is no URL") // and not the error, which has it
	}
	return u, nil
}

// slackText escapes what Slack would take for a link, a mention or markup.
func slackText(a *queue.Alert) string {
	text := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(headline(a))
	icon := ":red_circle:"
	if !a.Bad() {
		icon = ":large_green_circle:"
	}
	return fmt.Sprintf("%s %s\n%s, %s", icon, text, a.Of(), a.Time.Format(time.RFC3339))
}

// post sends JSON. An alert keeps its idempotency key in all attempts.
func (s *Sender) post(ctx context.Context, to string, a *queue.Alert, what any) *Failure {
	u, failure := s.address(to)
	if failure != nil {
		return failure
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		return failf("the address begins neither with https:// nor with http://")
	}
	body, err := codec.Marshal(what)
	if err != nil {
		return failf("%v", err)
	}
	user := u.User
	u.User = nil
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), strings.NewReader(string(body)))
	if err != nil {
		return failf("the address is no URL")
	}
	if password, set := user.Password(); set {
		req.SetBasicAuth(user.Username(), password)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", a.ID)
	req.Header.Set("User-Agent", "markmill")
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: s.TLS, DisableKeepAlives: true,
		ForceAttemptHTTP2: true}
	client := http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(req)
	if err != nil {
		return failf("%s", why(err))
	}
	defer answer.Body.Close()
	switch code := answer.StatusCode; {
	case code/100 == 2:
		return nil
	case code/100 == 3:
		return failf("status %d: the address has moved; write the new one into the settings", code)
	case code == 400 || code == 413 || code == 415 || code == 422: // of this alert, and not of the address or its time
		return &Failure{Words: fmt.Sprintf("status %d", code), Final: true}
	default:
		after, _ := time.ParseDuration(answer.Header.Get("Retry-After") + "s") // a date is not looked at
		return &Failure{Words: fmt.Sprintf("status %d", code), After: after}
	}
}

// why returns the innermost error, which names no address besides a host and a port.
func why(err error) string {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return err.Error()
}

// passed are the variables that a program gets besides its own: how to find programs and files, and which language and
// time zone to write in. A process that delivers alerts has others, with secrets of its runs.
var passed = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "LC_ALL", "TZ",
	"SystemRoot", "ComSpec", "PATHEXT", "USERPROFILE", "TEMP", "TMP"} // the last are those of Windows

// run starts a program, without a shell, with the alert on its standard input. Its output is dropped. When the context
// ends, the program and its children are killed.
func run(ctx context.Context, command []string, a *queue.Alert) *Failure {
	text, err := codec.Marshal(document(a))
	if err != nil {
		return failf("%v", err)
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin = bytes.NewReader(append(text, '\n'))
	cmd.Env = []string{"MARKMILL_ALERT=" + a.ID}
	for _, name := range passed {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.WaitDelay = time.Second
	group(cmd)
	err = cmd.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return failf("%s", ended.ProcessState)
	}
	if err != nil {
		return failf("%v", err)
	}
	return nil
}
