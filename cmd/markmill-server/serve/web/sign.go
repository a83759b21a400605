package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// identify finds out who asks: by the token of a program, by the name that the proxy says, or by the cookie of a
// browser. What a person may do is read from the tokens file at each request.
func (a *auth) identify(r *http.Request) (*session, error) {
	if a.tokens == nil {
		if s := a.session(r); s != nil {
			return s, nil
		}
		return nil, &refusal{status: http.StatusUnauthorized, title: "Sign in", words: "Open the address that " +
			"markmill serve printed. An address works once; when it is used, the next one is printed."}
	}
	name, err := a.proxyUser(r)
	if err != nil {
		return nil, err
	}
	if token, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); is && (name == "" ||
		strings.HasPrefix(token, tokenPrefix)) {
		return a.byToken(r, name, token)
	}
	if name != "" {
		return a.byName(name)
	}
	s := a.session(r)
	if s == nil {
		return nil, &refusal{status: http.StatusUnauthorized, title: "Sign in", words: "Sign in at " + a.origin() +
			"/sign-in with your token; a program sends it as Authorization: Bearer."}
	}
	p, err := a.tokens.find(s.credential, s.name)
	if err != nil {
		return nil, a.unknown(err)
	}
	current := *s
	current.name, current.role = p.name, p.role
	return &current, nil
}

// unknown refuses a person who is not, or no more, in the tokens file.
func (a *auth) unknown(err error) error {
	if errors.Is(err, errUnknown) {
		return &refusal{status: http.StatusUnauthorized, title: "Not known",
			words: "The tokens file has no such person or token."}
	}
	return &refusal{status: http.StatusServiceUnavailable, title: "Nobody can sign in",
		words: "The tokens file cannot be read; the terminal of markmill serve says why."}
}

// byToken finds the person of a token. proxyUser is the name that the proxy says, if any.
func (a *auth) byToken(r *http.Request, proxyUser, token string) (*session, error) {
	p, err := a.tokens.find(hashOf(strings.TrimSpace(token)), "")
	if err != nil { // a right token is never refused for the wrong ones of others
		if !a.limits.missed(a.sourceOf(r, proxyUser), time.Now()) {
			return nil, &refusal{status: http.StatusTooManyRequests, title: "Too often",
				words: "Too many wrong tokens came from there. Wait, and try again."}
		}
		return nil, a.unknown(err)
	}
	return &session{name: p.name, credential: p.credential, role: p.role}, nil
}

// byName finds the person whom the proxy names.
func (a *auth) byName(name string) (*session, error) {
	if !isPerson(name) {
		return nil, &refusal{status: http.StatusForbidden, title: "Not known", words: "The proxy says a name that " +
			"can name nobody: a name has at most 64 letters, digits and . _ - + @."}
	}
	p, err := a.tokens.find(byProxy, name)
	if err != nil {
		return nil, a.unknown(err)
	}
	sum := hmac.New(sha256.New, a.key)
	sum.Write([]byte(name))
	return &session{name: p.name, credential: p.credential, role: p.role,
		form: strings.ToUpper(hex.EncodeToString(sum.Sum(nil)))}, nil
}

// signIn with a token, from the form of the sign-in page.
func (a *auth) signInToken(w http.ResponseWriter, r *http.Request) {
	if a.tokens == nil {
		http.NotFound(w, r)
		return
	}
	if err := r.ParseForm(); err != nil {
		a.ask(w, http.StatusRequestEntityTooLarge, "The form is too large.")
		return
	}
	name, err := a.proxyUser(r)
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	s, err := a.byToken(r, name, r.PostForm.Get("token"))
	if no, is := errors.AsType[*refusal](err); is {
		no.headers(w)
		a.ask(w, no.status, no.words)
		return
	}
	a.setCookie(w, a.begin(*s).id)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// ask shows the form that takes a token.
func (a *auth) ask(w http.ResponseWriter, status int, problem string) {
	show(w, status, "sign-in", &frame{Title: "Sign in", Body: problem})
}

// Wrong tokens are taken from one limiter at missEvery, after missFirst at once; maxSources bounds what is remembered.
const (
	missEvery  = 6 * time.Second
	missFirst  = 10
	maxSources = 4096
)

// limits count wrong tokens, by where they come from.
type limits struct {
	mutex   sync.Mutex
	sources map[string]*rate.Limiter
	rest    *rate.Limiter // of all for which there is no limiter
	tidied  time.Time     // when sources were last forgotten
}

// sourceOf is what wrong tokens are counted by: the network of an IPv6 address, since one machine has all of it, and
// behind the proxy the name that it says.
func (a *auth) sourceOf(r *http.Request, proxyUser string) string {
	if proxyUser != "" {
		return proxyUser
	}
	peer := peerOf(r.RemoteAddr)
	if peer.Is6() {
		if net, err := peer.Prefix(64); err == nil {
			peer = net.Addr()
		}
	}
	return peer.String() // netip's zero value is no address, and one limiter
}

// limiter is the limiter of a limiter. Its bucket holds what may still be wrong.
func (l *limits) limiter(from string, now time.Time) *rate.Limiter {
	if p := l.sources[from]; p != nil {
		return p
	}
	if l.sources == nil {
		l.sources, l.rest = map[string]*rate.Limiter{}, rate.NewLimiter(rate.Every(missEvery), missFirst)
	}
	if len(l.sources) >= maxSources && now.Sub(l.tidied) > missEvery {
		l.tidied = now
		for name, p := range l.sources {
			if p.TokensAt(now) >= missFirst {
				delete(l.sources, name)
			}
		}
	}
	if len(l.sources) >= maxSources {
		return l.rest
	}
	p := rate.NewLimiter(rate.Every(missEvery), missFirst)
	l.sources[from] = p
	return p
}

// missed counts a wrong token, and reports whether so many may come from there.
func (l *limits) missed(from string, now time.Time) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.limiter(from, now).AllowN(now, 1)
}
