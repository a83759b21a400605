package serve

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// role is what a session may do. Each includes those before it.
type role int

const (
	read    role = iota // look at everything
	run                 // run notebooks, fork, steer and abort
	approve             // approve, accept, reject and apply
)

var roleNames = [...]string{"read", "run", "approve"}

func (r role) String() string { return roleNames[r] }

func parseRole(word string) (role, error) {
	for i, name := range roleNames {
		if word == name {
			return role(i), nil
		}
	}
	return 0, fmt.Errorf("%q is no role; they are read, run and approve", word)
}

// session is a browser that has signed in.
type session struct {
	id   string
	role role
	form string // the token that each of its forms carries
	last time.Time
}

// guard decides who may ask for what.
type guard struct {
	address string // host and port
	port    string
	cookie  string
	role    role
	say     func(string)
	cross   *http.CrossOriginProtection

	mutex    sync.Mutex
	offered  map[string]role // tokens of addresses that nobody has used yet
	sessions map[string]*session
}

// maxSessions and maxOffers bound what the guard keeps; idle is how long an unused session lasts.
const (
	maxSessions = 256
	maxOffers   = 64
	idle        = 12 * time.Hour
)

func newGuard(address string, r role, say func(string)) *guard {
	_, port, _ := net.SplitHostPort(address)
	return &guard{address: address, port: port, role: r, say: say, cookie: "markmill-" + port,
		cross: http.NewCrossOriginProtection(), offered: map[string]role{}, sessions: map[string]*session{}}
}

// named reports whether a request asks for this server: by an address of the loopback interface, or as localhost. Any
// other name may be one that a page has had turned into this machine's address.
func (g *guard) named(host string) bool {
	name, port, err := net.SplitHostPort(host)
	return err == nil && port == g.port && (name == "localhost" || net.ParseIP(name).IsLoopback())
}

// offer prints an address that one browser can sign in with.
func (g *guard) offer() {
	g.say("Open " + g.invite(g.role))
}

// invite makes an address that one browser can sign in with.
func (g *guard) invite(r role) string {
	token := rand.Text()
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if len(g.offered) >= maxOffers {
		clear(g.offered)
	}
	g.offered[token] = r
	return "http://" + g.address + "/sign-in?token=" + token
}

// all stands before every address: a page of another name, which DNS has turned into this machine, gets nothing, and
// no answer may be framed, sniffed, cached or run.
func (g *guard) all(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; "+
			"img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !g.named(r.Host) {
			http.Error(w, "this server has another name: ask for http://"+g.address, http.StatusMisdirectedRequest)
			return
		}
		if err := g.cross.Check(r); err != nil {
			http.Error(w, "a page of another origin cannot do this", http.StatusForbidden)
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

type sessionKey struct{}

// of is the session of a request that let has let through.
func of(r *http.Request) *session { return r.Context().Value(sessionKey{}).(*session) }

// let lets a request through whose session has the role. A form has the session's token, too.
func (g *guard) let(needs role, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := g.session(r)
		switch {
		case s == nil:
			refuse(w, http.StatusUnauthorized, "Sign in", "Open the address that markmill serve printed. An address "+
				"works once; when it is used, the next one is printed.")
			return
		case s.role < needs:
			refuse(w, http.StatusForbidden, "Not allowed",
				fmt.Sprintf("This needs the role %s, and this browser has the role %s.", needs, s.role))
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			token := r.Header.Get("X-Markmill-Token")
			if token == "" {
				if err := r.ParseForm(); err != nil {
					refuse(w, http.StatusRequestEntityTooLarge, "Too large",
						fmt.Sprintf("A form has at most %d bytes.", maxBody))
					return
				}
				token = r.PostForm.Get("token")
			}
			if subtle.ConstantTimeCompare([]byte(token), []byte(s.form)) != 1 {
				refuse(w, http.StatusForbidden, "Not from this page",
					"The form has no token of this session. Load the page again.")
				return
			}
		}
		next(w, r.WithContext(context.WithValue(r.Context(), sessionKey{}, s)))
	})
}

// session finds the session of a request.
func (g *guard) session(r *http.Request) *session {
	cookie, err := r.Cookie(g.cookie)
	if err != nil {
		return nil
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	s := g.sessions[cookie.Value]
	if s != nil && time.Since(s.last) > idle {
		delete(g.sessions, s.id)
		s = nil
	}
	if s != nil {
		s.last = time.Now()
	}
	return s
}

// signIn exchanges the token of an address for a cookie. The answer is a page and no redirect: a strict cookie is not
// sent along when another site's link is redirected.
func (g *guard) signIn(w http.ResponseWriter, r *http.Request) {
	token := r.URL.Query().Get("token")
	g.mutex.Lock()
	granted, found := g.offered[token]
	if found {
		delete(g.offered, token)
	}
	var s *session
	if found {
		s = &session{id: rand.Text(), role: granted, form: rand.Text(), last: time.Now()}
		if len(g.sessions) >= maxSessions {
			g.drop()
		}
		g.sessions[s.id] = s
	}
	g.mutex.Unlock()
	if !found {
		if g.session(r) != nil { // the address once more, in the browser that used it
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		refuse(w, http.StatusUnauthorized, "Used already", "An address signs one browser in, once. The terminal in "+
			"which markmill serve runs has the next one.")
		return
	}
	g.offer()
	http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: s.id, Path: "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	w.Header().Set("Refresh", "0; url=/")
	show(w, http.StatusOK, "notice", &frame{Title: "Signed in",
		Body: notice{Words: "You are signed in.", Link: "/", Label: "Continue"}})
}

// drop forgets the session that was used the longest ago.
func (g *guard) drop() {
	var oldest *session
	for _, s := range g.sessions {
		if oldest == nil || s.last.Before(oldest.last) {
			oldest = s
		}
	}
	delete(g.sessions, oldest.id)
}

func (g *guard) signOut(w http.ResponseWriter, r *http.Request) {
	g.mutex.Lock()
	delete(g.sessions, of(r).id)
	g.mutex.Unlock()
	http.SetCookie(w, &http.Cookie{Name: g.cookie, Path: "/", MaxAge: -1, HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	refuse(w, http.StatusOK, "Signed out", "This browser is signed out.")
}
