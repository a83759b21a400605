package jetstream_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"mime"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"markmill/engine"
)

// post is a mail server. It takes mail of those that log in as me, if auth is set.
type post struct {
	auth bool
	mu   sync.Mutex
	got  []letter
}

type letter struct {
	from string
	to   []string
	data []byte
}

func (p *post) NewSession(*smtp.Conn) (smtp.Session, error) { return &session{p: p}, nil }

type session struct {
	p      *post
	known  bool
	letter letter
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if s.known = user == "me" && password == "passw0rd"; !s.known {
			return errors.New("not " + password)
		}
		return nil
	}), nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if s.p.auth && !s.known {
		return smtp.ErrAuthRequired
	}
	s.letter.from = from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.letter.to = append(s.letter.to, to)
	return nil
}

func (s *session) Data(r io.Reader) (err error) {
	s.letter.data, err = io.ReadAll(r)
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.got = append(s.p.got, s.letter)
	return err
}

func (p *post) letters() []letter {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.got
}

func (s *session) Reset()        { s.letter = letter{} }
func (s *session) Logout() error { return nil }

// serve starts a server; with implicit TLS, with STARTTLS, or with neither. It returns its address.
func serve(t *testing.T, p *post, config *tls.Config, implicit bool) string {
	s := smtp.NewServer(p)
	s.Domain, s.TLSConfig = "localhost", config
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if implicit {
		l = tls.NewListener(l, config)
	}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return address
}

// certificate is one of 127.0.0.1, and the pool that trusts it.
func certificate(t *testing.T) (*tls.Config, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, pool
}

// TestMail: mail goes over TLS with a certificate that is trusted, with STARTTLS or without, as somebody or nobody, and
// not otherwise.
func TestMail(t *testing.T) {
	t.Parallel()
	config, pool := certificate(t)
	p := &post{auth: true}
	start, implicit, open := serve(t, p, config, false), serve(t, p, config, true), serve(t, p, nil, false)
	nobody := &post{}
	free := serve(t, nobody, nil, false)
	target := func(server string) engine.AlertTarget {
		return engine.AlertTarget{Mail: []string{"ops@example.org", "Night <night@example.org>"},
			From:   "Mill <mill@example.org>",
			Server: server}
	}
	for server, words := range map[string]string{
		"smtp://me:passw0rd@" + start: "", "smtps://me:passw0rd@" + implicit: "", "smtp://" + free + "?tls=none": "",
		"smtp://me:passw0rd@" + open:        "STARTTLS",
		"smtp://me:wr0ng@" + start:          "AUTH",
		"smtp://" + start:                   "authenticate",
		"smtp://" + free:                    "STARTTLS",
		"smtp://me:x@" + free + "?tls=none": "without TLS",
	} {
		before := len(p.letters()) + len(nobody.letters())
		s := variables(map[string]string{"SMTP": server})
		s.TLS = &tls.Config{RootCAs: pool}
		err := s.Send(t.Context(), target("${SMTP}"), hostile())
		sent := len(p.letters()) + len(nobody.letters()) - before
		if words == "" && (err != nil || sent != 1) || words != "" &&
			(err == nil || !strings.Contains(strings.ToLower(err.Error()),
				strings.ToLower(words)) || sent != 0 || strings.Contains(err.Error(), "wr0ng") ||
				strings.Contains(err.Error(), "passw0rd")) {
			t.Errorf("%s: %v, %d sent", server, err, sent)
		}
	}
	for _, server := range []string{"smtp://me:passw0rd@" + start, "smtps://me:passw0rd@" + implicit} {
		s := variables(map[string]string{"SMTP": server}) // trusts those of the system
		if err := s.Send(t.Context(), target("${SMTP}"), hostile()); err == nil ||
			!strings.Contains(err.Error(), "certificate") {
			t.Errorf("%s: %v", server, err)
		}
	}
	for _, l := range append(p.letters(), nobody.letters()...) {
		checkLetter(t, l)
	}
}

// checkLetter looks for what the name of a check wanted to be.
func checkLetter(t *testing.T, l letter) {
	m, err := mail.ReadMessage(bytes.NewReader(l.data))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case l.from != "mill@example.org", strings.Join(l.to, " ") != "ops@example.org night@example.org":
		t.Errorf("from %s to %v", l.from, l.to)
	case m.Header.Get("Bcc") != "", strings.ContainsAny(subject, "\r\n\x1b\u202e"), !strings.HasPrefix(subject,
		"ALERT w.md "):
		t.Errorf("%q, %v", subject, m.Header)
	case m.Header.Get("Message-ID") != "<0123456789abcdef@markmill.invalid>",
		m.Header.Get("Auto-Submitted") != "auto-generated", m.Header.Get("X-Markmill-Alert") != "0123456789abcdef":
		t.Errorf("%v", m.Header)
	}
}
