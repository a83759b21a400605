package web

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"markmill/cmd/internal/child"
	"markmill/render/plain"
)

// webhookActor is the actor in the records of runs that a push started. No person can have that name.
const webhookActor = "webhook"

// WebhookVariable is the environment variable with the secret of webhooks.
const WebhookVariable = "MARKMILL_WEBHOOK_SECRET"

// Pushes that come within pushQuiet of each other are one, up to pushMost after the first. pullTime is how long a fetch
// may take; maxDeliveries how many deliveries are remembered; minSecret how many bytes a secret has at least.
const (
	pushQuiet     = time.Second
	pushMost      = 15 * time.Second
	pullTime      = 5 * time.Minute
	maxDeliveries = 1024
	minSecret     = 16
)

// hooks handles the pushes that a forge reports: it fetches, and runs what has become outdated, once for several
// pushes, and never twice at the same time.
type hooks struct {
	secret []byte // none: there is no webhook
	run    func(context.Context)
	auth   *auth

	mutex sync.Mutex
	seen  map[[sha256.Size]byte]bool
	order [][sha256.Size]byte
	push  chan struct{} // holds one push that no run has seen
}

// newHooks reads the secret from a file, or else from the environment.
func newHooks(file string, a *auth) (*hooks, error) {
	h := &hooks{auth: a, seen: map[[sha256.Size]byte]bool{}, push: make(chan struct{}, 1)}
	secret, from := []byte(os.Getenv(WebhookVariable)), WebhookVariable
	if file != "" {
		info, err := os.Stat(file)
		if err == nil {
			err = mayTrust(file, info)
		}
		if err == nil {
			secret, err = os.ReadFile(file)
		}
		if err != nil {
			return nil, fmt.Errorf("--webhook-secret: %w", err)
		}
		from = "--webhook-secret " + file
	}
	_ = os.Unsetenv(WebhookVariable) // no run is told the secret; it fails for names that are none
	if secret = bytes.TrimSpace(secret); len(secret) == 0 && file == "" {
		return h, nil
	}
	if len(secret) < minSecret {
		return nil, fmt.Errorf("%s: the secret of webhooks has at least %d characters", from, minSecret)
	}
	h.secret = secret
	return h, nil
}

// signed reports whether a delivery is from a forge that knows the secret: by the signature of its body (GitHub, Gitea,
// Forgejo), or by the secret itself (GitLab). The comparisons take constant time.
func (h *hooks) signed(header http.Header, body []byte) bool {
	sum := hmac.New(sha256.New, h.secret)
	sum.Write(body)
	for name, prefix := range map[string]string{"X-Hub-Signature-256": "sha256=", "X-Gitea-Signature": "",
		"X-Forgejo-Signature": ""} {
		if said := header.Get(name); said != "" {
			given, err := hex.DecodeString(strings.TrimPrefix(said, prefix))
			return err == nil && strings.HasPrefix(said, prefix) && hmac.Equal(given, sum.Sum(nil))
		}
	}
	given, want := sha256.Sum256([]byte(header.Get("X-Gitlab-Token"))), sha256.Sum256(h.secret)
	return subtle.ConstantTimeCompare(given[:], want[:]) == 1
}

// isPush reports whether a delivery reports a push.
func isPush(header http.Header) bool {
	for _, name := range []string{"X-GitHub-Event", "X-Gitea-Event", "X-Forgejo-Event"} {
		if kind := header.Get(name); kind != "" {
			return kind == "push"
		}
	}
	kind := header.Get("X-Gitlab-Event")
	return kind == "Push Hook" || kind == "Tag Push Hook"
}

// first reports whether a delivery has not come before. It is known by its body, which is what is signed: whoever sends
// it again can change the id in its header.
func (h *hooks) first(body []byte) bool {
	sum := sha256.Sum256(body)
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.seen[sum] {
		return false
	}
	if len(h.order) >= maxDeliveries {
		delete(h.seen, h.order[0])
		h.order = h.order[1:]
	}
	h.seen[sum] = true
	h.order = append(h.order, sum)
	return true
}

// receive receives a delivery, and answers before anything runs: a forge waits for ten seconds.
func (h *hooks) receive(w http.ResponseWriter, r *http.Request) {
	switch kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); {
	case len(h.secret) == 0:
		http.NotFound(w, r)
		return
	case kind != "application/json":
		http.Error(w, "set the content type of the webhook to application/json", http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		code := http.StatusBadRequest
		if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
			code = http.StatusRequestEntityTooLarge
		}
		http.Error(w, fmt.Sprintf("a delivery has at most %d bytes", maxBody), code)
		return
	}
	if !h.signed(r.Header, body) {
		http.Error(w, "the signature or token is not that of this webhook's secret", http.StatusUnauthorized)
		return
	}
	words := "nothing to do: this is no push"
	switch {
	case !isPush(r.Header):
	case !h.first(body):
		words = "this delivery came before"
	default:
		select {
		case h.push <- struct{}{}:
		default: // one waits already, and will see this push, too
		}
		words = "what has become outdated runs next"
	}
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprintln(w, words)
}

// serve handles the pushes one after the other, until ctx ends.
func (h *hooks) serve(ctx context.Context) {
	for {
		select {
		case <-h.push:
		case <-ctx.Done():
			return
		}
		most := time.After(pushMost)
		for quiet := false; !quiet; {
			select {
			case <-h.push:
			case <-time.After(pushQuiet):
				quiet = true
			case <-most:
				quiet = true
			case <-ctx.Done():
				return
			}
		}
		h.run(ctx)
	}
}

// pushed updates the checkout to the pushed commit, if no local change prevents it, and runs what is outdated there.
func (s *server) pushed(ctx context.Context) {
	tell := func(words string) { s.auth.say("Webhook: " + plain.Cut(plain.OneLine(words), 1000)) }
	pulling, cancel := context.WithTimeout(ctx, pullTime)
	pull := exec.CommandContext(pulling, "git", "-C", s.Root, "pull", "--ff-only", "--quiet")
	pull.Env = append(child.Environ(ctx), "GIT_TERMINAL_PROMPT=0")
	text, err := pull.CombinedOutput()
	cancel()
	if err != nil {
		tell(fmt.Sprintf("git pull --ff-only: %v: %s", err, text))
		return
	}
	code, words, err := s.outdated.Do(child.As(ctx, webhookActor), child.Call{Args: []string{"run", "--outdated",
		"--no-progress-bar", "--log-level=ERROR", "--", "."}, To: &child.Most{}})
	if err != nil {
		words = err.Error()
	}
	lines := strings.Split(strings.TrimSpace(words), "\n")
	tell(fmt.Sprintf("run --outdated ended with %d: %s", code, strings.TrimPrefix(lines[len(lines)-1], "markmill: ")))
}
