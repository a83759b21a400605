package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"markmill/cmd/internal/child"
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

// session is the source of a request: a browser that has signed in, or a program with a token.
type session struct {
	id         string
	name       string // of the person; "" is the user who started the workbench
	credential string // of the person in the tokens file
	role       role
	form       string // the token that each of its forms carries; "" needs none
	last       time.Time
}

// auth decides who may do what.
type auth struct {
	endpoint
	root        string // name of the repository's folder
	user        string // whose program it is
	port        string
	cookie      string
	role        role
	say         func(string)
	cross       *http.CrossOriginProtection
	tokens      *tokens // nil: whoever opens an address that was printed is the user
	limits      limits
	connections *connections
	key         []byte // of the form tokens of those whom the proxy names

	mutex     sync.Mutex
	addresses map[string]role // tokens of addresses that nobody has used yet
	sessions  map[string]*session
}

// maxSessions and maxAddresses bound what is kept; idle is how long an unused session lasts.
const (
	maxSessions  = 256
	maxAddresses = 64
	idle         = 12 * time.Hour
)

func newAuth(d endpoint, r role, t *tokens, say func(string)) *auth {
	_, port, _ := net.SplitHostPort(d.address)
	cookie := "markmill-" + port
	if d.secure() {
		cookie = "__Host-" + cookie
	}
	return &auth{endpoint: d, port: port, role: r, say: say, cookie: cookie, tokens: t, key: []byte(rand.Text()),
		connections: newConnections(maxConnections),
		cross:       http.NewCrossOriginProtection(), addresses: map[string]role{}, sessions: map[string]*session{}}
}

// named reports whether a request asks for this server: by a name that the certificate or --host has, or on the
// loopback interface by one of its addresses or as localhost. Any other name may be one that a page has had turned into
// this machine's address.
func (a *auth) named(host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.Trim(host, "[]"), ""
	}
	if a.loopback && port == a.port && (name == "localhost" || net.ParseIP(name).IsLoopback()) {
		return true
	}
	return a.known(name)
}

// printAddress prints an address that one browser can sign in with.
func (a *auth) printAddress() {
	switch {
	case len(a.proxies) > 0:
		a.say("Open " + a.origin() + ", whose proxy asks " + a.address)
		return
	case a.tokens != nil:
		a.say("Open " + a.origin() + "/sign-in")
		return
	}
	a.say("Open " + a.newAddress(a.role))
}

// newAddress makes an address that one browser can sign in with.
func (a *auth) newAddress(r role) string {
	token := rand.Text()
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if len(a.addresses) >= maxAddresses {
		clear(a.addresses)
	}
	a.addresses[token] = r
	return a.origin() + "/sign-in?token=" + token
}

const policyHeader = "Content-Security-Policy"

// all wraps every handler. It refuses requests for another host name (DNS rebinding), and keeps answers from being
// framed, sniffed, cached or run.
func (a *auth) all(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set(policyHeader, "default-src 'none'; style-src 'self'; script-src 'self'; "+
			"img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !a.named(r.Host) {
			http.Error(w, "this server has another name: ask for "+a.origin(), http.StatusMisdirectedRequest)
			return
		}
		if !a.admits(r.RemoteAddr) {
			http.Error(w, "only the proxy may ask this server", http.StatusForbidden)
			return
		}
		if err := a.cross.Check(r); err != nil {
			http.Error(w, "a page of another origin cannot do this", http.StatusForbidden)
			return
		}
		if r.ContentLength > maxBody {
			w.Header().Set("Connection", "close") // what else would come is not read
			http.Error(w, fmt.Sprintf("a request has at most %d bytes", maxBody), http.StatusRequestEntityTooLarge)
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

type sessionKey struct{}

// sessionOf returns the session of a request that require has admitted; nil for another one.
func sessionOf(r *http.Request) *session {
	s, _ := r.Context().Value(sessionKey{}).(*session)
	return s
}

// require admits a request if its session has the role. A form must also carry the session's token.
func (a *auth) require(needs role, next handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := a.identify(r)
		if err == nil {
			err = a.mayAct(r, s, needs)
		}
		if err == nil {
			ctx := context.WithValue(r.Context(), sessionKey{}, s)
			r = r.WithContext(child.As(ctx, s.name))
			err = next(w, r)
		}
		if err != nil {
			a.refuse(w, r, err)
		}
	})
}

// mayAct reports why a session may not do what a request asks for; nil if it may.
func (a *auth) mayAct(r *http.Request, s *session, needs role) error {
	if s.role < needs {
		return &refusal{status: http.StatusForbidden, title: "Not allowed",
			words: fmt.Sprintf("This needs the role %s, and you have the role %s.", needs, s.role)}
	}
	a.connections.identified(r, cmp.Or(s.name, "user"))
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	if r.ParseForm() != nil { // which reads forms alone, and leaves other bodies as they are
		return &refusal{status: http.StatusRequestEntityTooLarge, title: "Too large",
			words: fmt.Sprintf("A form has at most %d bytes.", maxBody)}
	}
	token := cmp.Or(r.Header.Get("X-Markmill-Token"), r.PostForm.Get("token"))
	if s.form != "" && subtle.ConstantTimeCompare([]byte(token), []byte(s.form)) != 1 {
		return &refusal{status: http.StatusForbidden, title: "Not from this page",
			words: "The form has no token of this session. Load the page again."}
	}
	return nil
}

// session finds the session of a browser.
func (a *auth) session(r *http.Request) *session {
	cookie, err := r.Cookie(a.cookie)
	if err != nil {
		return nil
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	s := a.sessions[cookie.Value]
	if s != nil && time.Since(s.last) > idle {
		delete(a.sessions, s.id)
		s = nil
	}
	if s != nil {
		s.last = time.Now()
	}
	return s
}

// begin begins a session.
func (a *auth) begin(s session) *session {
	s.id, s.form, s.last = rand.Text(), rand.Text(), time.Now()
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if len(a.sessions) >= maxSessions {
		a.drop()
	}
	a.sessions[s.id] = &s
	return &s
}

// setCookie gives the browser its session; "" takes it away.
func (a *auth) setCookie(w http.ResponseWriter, id string) {
	c := &http.Cookie{Name: a.cookie, Value: id, Path: "/", HttpOnly: true, Secure: a.secure(),
		SameSite: http.SameSiteStrictMode}
	if id == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// signIn exchanges the token of an address for a cookie. The answer is a page and no redirect: a strict cookie is not
// sent along when another site's link is redirected.
func (a *auth) signIn(w http.ResponseWriter, r *http.Request) {
	if a.tokens != nil {
		a.ask(w, http.StatusOK, "")
		return
	}
	token := r.URL.Query().Get("token")
	a.mutex.Lock()
	granted, found := a.addresses[token]
	delete(a.addresses, token)
	a.mutex.Unlock()
	if !found {
		if a.session(r) != nil { // the address once more, in the browser that used it
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		show(w, http.StatusUnauthorized, "notice", &frame{Title: "Used already", Body: notice{Words: "An address " +
			"signs one browser in, once. The terminal in which markmill serve runs has the next one."}})
		return
	}
	a.printAddress()
	a.setCookie(w, a.begin(session{role: granted}).id)
	w.Header().Set("Refresh", "0; url=/")
	show(w, http.StatusOK, "notice", &frame{Title: "Signed in",
		Body: notice{Words: "You are signed in.", Link: "/", Label: "Continue"}})
}

// drop forgets the least recently used session.
func (a *auth) drop() {
	var oldest *session
	for _, s := range a.sessions {
		if oldest == nil || s.last.Before(oldest.last) {
			oldest = s
		}
	}
	delete(a.sessions, oldest.id)
}

func (a *auth) signOut(w http.ResponseWriter, r *http.Request) error {
	a.mutex.Lock()
	delete(a.sessions, sessionOf(r).id)
	a.mutex.Unlock()
	a.setCookie(w, "")
	show(w, http.StatusOK, "notice", &frame{Title: "Signed out", Body: notice{Words: "This browser is signed out."}})
	return nil
}
