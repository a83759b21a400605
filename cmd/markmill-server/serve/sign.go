package serve

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

// who finds out who asks: by the token of a program, by the name that the proxy says, or by the cookie of a browser.
// What a person may do is read from the tokens file at each request.
func (g *guard) who(r *http.Request) (*session, error) {
	if g.tokens == nil {
		if s := g.session(r); s != nil {
			return s, nil
		}
		return nil, &refusal{status: http.StatusUnauthorized, title: "Sign in", words: "Open the address that " +
			"markmill serve printed. An address works once; when it is used, the next one is printed."}
	}
	name, err := g.presented(r)
	if err != nil {
		return nil, err
	}
	if token, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); is && (name == "" ||
		strings.HasPrefix(token, tokenPrefix)) {
		return g.byToken(r, name, token)
	}
	if name != "" {
		return g.byName(name)
	}
	s := g.session(r)
	if s == nil {
		return nil, &refusal{status: http.StatusUnauthorized, title: "Sign in", words: "Sign in at " + g.origin() +
			"/sign-in with your token; a program sends it as Authorization: Bearer."}
	}
	p, err := g.tokens.find(s.credential, s.name)
	if err != nil {
		return nil, g.unknown(err)
	}
	current := *s
	current.name, current.role = p.name, p.role
	return &current, nil
}

// unknown refuses a person who is not, or no more, in the tokens file.
func (g *guard) unknown(err error) error {
	if errors.Is(err, errUnknown) {
		return &refusal{status: http.StatusUnauthorized, title: "Not known",
			words: "The tokens file has no such person or token."}
	}
	return &refusal{status: http.StatusServiceUnavailable, title: "Nobody can sign in",
		words: "The tokens file cannot be read; the terminal of markmill serve says why."}
}

// byToken finds the person of a token. presented is the name that the proxy says, if any.
func (g *guard) byToken(r *http.Request, presented, token string) (*session, error) {
	p, err := g.tokens.find(hashOf(strings.TrimSpace(token)), "")
	if err != nil { // a right token is never refused for the wrong ones of others
		if !g.limits.missed(g.sourceOf(r, presented), time.Now()) {
			return nil, &refusal{status: http.StatusTooManyRequests, title: "Too often",
				words: "Too many wrong tokens came from there. Wait, and try again."}
		}
		return nil, g.unknown(err)
	}
	return &session{name: p.name, credential: p.credential, role: p.role}, nil
}

// byName finds the person whom the proxy names.
func (g *guard) byName(name string) (*session, error) {
	if !isPerson(name) {
		return nil, &refusal{status: http.StatusForbidden, title: "Not known", words: "The proxy says a name that " +
			"can name nobody: a name has at most 64 letters, digits and . _ - + @."}
	}
	p, err := g.tokens.find(byProxy, name)
	if err != nil {
		return nil, g.unknown(err)
	}
	sum := hmac.New(sha256.New, g.key)
	sum.Write([]byte(name))
	return &session{name: p.name, credential: p.credential, role: p.role,
		form: strings.ToUpper(hex.EncodeToString(sum.Sum(nil)))}, nil
}

// signIn with a token, from the form of the sign-in page.
func (g *guard) signInToken(w http.ResponseWriter, r *http.Request) {
	if g.tokens == nil {
		http.NotFound(w, r)
		return
	}
	if err := r.ParseForm(); err != nil {
		g.ask(w, http.StatusRequestEntityTooLarge, "The form is too large.")
		return
	}
	name, err := g.presented(r)
	if err != nil {
		g.refuse(w, r, err)
		return
	}
	s, err := g.byToken(r, name, r.PostForm.Get("token"))
	if no, is := errors.AsType[*refusal](err); is {
		no.headers(w)
		g.ask(w, no.status, no.words)
		return
	}
	g.setCookie(w, g.begin(*s).id)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// ask shows the form that takes a token.
func (g *guard) ask(w http.ResponseWriter, status int, problem string) {
	show(w, status, "sign-in", &frame{Title: "Sign in", Body: problem})
}

// Wrong tokens are taken from one place at missEvery, after missFirst at once; maxPlaces bounds what is remembered.
const (
	missEvery = 6 * time.Second
	missFirst = 10
	maxPlaces = 4096
)

// limits count wrong tokens, by where they come from.
type limits struct {
	mutex  sync.Mutex
	places map[string]*rate.Limiter
	rest   *rate.Limiter // of all for which there is no place
	tidied time.Time     // when places were last forgotten
}

// sourceOf is what wrong tokens are counted by: the network of an IPv6 address, since one machine has all of it, and
// behind the proxy the name that it says.
func (g *guard) sourceOf(r *http.Request, presented string) string {
	if presented != "" {
		return presented
	}
	peer := peerOf(r.RemoteAddr)
	if peer.Is6() {
		if net, err := peer.Prefix(64); err == nil {
			peer = net.Addr()
		}
	}
	return peer.String() // netip's zero value is no address, and one place
}

// place is the limiter of a place. Its bucket holds what may still be wrong.
func (l *limits) place(from string, now time.Time) *rate.Limiter {
	if p := l.places[from]; p != nil {
		return p
	}
	if l.places == nil {
		l.places, l.rest = map[string]*rate.Limiter{}, rate.NewLimiter(rate.Every(missEvery), missFirst)
	}
	if len(l.places) >= maxPlaces && now.Sub(l.tidied) > missEvery {
		l.tidied = now
		for name, p := range l.places {
			if p.TokensAt(now) >= missFirst {
				delete(l.places, name)
			}
		}
	}
	if len(l.places) >= maxPlaces {
		return l.rest
	}
	p := rate.NewLimiter(rate.Every(missEvery), missFirst)
	l.places[from] = p
	return p
}

// missed counts a wrong token, and reports whether so many may come from there.
func (l *limits) missed(from string, now time.Time) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.place(from, now).AllowN(now, 1)
}
