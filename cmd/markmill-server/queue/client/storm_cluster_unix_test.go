//go:build unix

package client

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"markmill/engine/queue"
	"markmill/engine/queue/jetstream"
	"markmill/notebooks"
)

// secured is what servers with TLS and accounts have.
type secured struct {
	ca, cert, key string // files
	otherCA       string // of a certificate that signs nothing here
}

// mayMove is what those need who make jobs go on: also a worker does, when a job has ended.
const mayMove = `"mm.q.>", "mm.labels.>", "mm.dep.>", "mm.one.*", "mm.steer.*", "mm.ctl.*", `

// permissions are those of docs/queue.md, of each role and of one that may not submit.
var permissions = map[string][2]string{
	"submit": {mayMove + `"mm.base.*"`, `"mm.ev.*"`},
	"jobs":   {mayMove + `"mm.pause.*", "mm.news.*"`, `"mm.ev.*"`},
	"worker": {mayMove + `"$JS.ACK.>", "mm.worker.*", "mm.hb.*"`,
		`"mm.hb.*", "mm.ctl.*", "mm.steer.*", "mm.job.>", "mm.labels.>", "mm.news.*"`},
	"reader": {`"mm.nothing"`, `"mm.nothing"`},
}

// secure makes the certificates.
func (s *storm) secure() {
	dir := s.TempDir()
	ca, caKey, caFile := s.authority(dir, "ca")
	_, _, other := s.authority(dir, "other")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.Fatal(err)
	}
	cert := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "queue"},
		NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.ParseIP("127.0.0.1")}}
	for _, h := range s.hosts {
		cert.IPAddresses = append(cert.IPAddresses, net.ParseIP(h.ip))
	}
	s.secured = &secured{ca: caFile, otherCA: other, cert: filepath.Join(dir, "cert.pem"),
		key: filepath.Join(dir, "key.pem")}
	der, err := x509.CreateCertificate(rand.Reader, cert, ca, &key.PublicKey, caKey)
	s.writePEM(s.secured.cert, "CERTIFICATE", der, err)
	der, err = x509.MarshalPKCS8PrivateKey(key)
	s.writePEM(s.secured.key, "PRIVATE KEY", der, err)
}

// authority makes a certificate that signs others, and writes it into a file.
func (s *storm) authority(dir, name string) (*x509.Certificate, *ecdsa.PrivateKey, string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.Fatal(err)
	}
	cert := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true,
		BasicConstraintsValid: true, NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	file := filepath.Join(dir, name+".pem")
	s.writePEM(file, "CERTIFICATE", der, err)
	return cert, key, file
}

func (s *storm) writePEM(path, kind string, der []byte, err error) {
	if err == nil {
		err = os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
	}
	if err != nil {
		s.Fatal(err)
	}
}

// config writes the configuration of a server of the cluster.
func (s *storm) config(i int, store string) string {
	tls := fmt.Sprintf("tls { cert_file: %q, key_file: %q, ca_file: %q", s.secured.cert, s.secured.key, s.secured.ca)
	var routes, users []string
	ip := func(i int) string { host, _, _ := strings.Cut(s.address(i), ":"); return host }
	for n := range s.servers {
		routes = append(routes, fmt.Sprintf(`"tls://%s:%s"`, ip(n), s.ports[len(s.servers)+n]))
	}
	for user, may := range permissions {
		users = append(users, fmt.Sprintf("{ user: %s, password: %s, permissions { publish: [\"$JS.API.>\", "+
			"\"_INBOX.>\", \"mm.ev.*\", \"mm.job.>\", \"mm.labels.>\", \"mm.dep.>\", \"mm.one.*\", \"mm.steer.*\", "+
			"\"mm.alert.>\", \"mm.cas.*\", %s], subscribe: [\"_INBOX.>\", %s] } }", user, user, may[0], may[1]))
	}
	text := fmt.Sprintf("server_name: s%d\nlisten: %q\njetstream { store_dir: %q }\n%s }\n"+
		"cluster { name: storm, listen: \"%s:%s\", routes: [%s], %s, verify: true } }\naccounts { QUEUE { jetstream: "+
		"enabled, users: [\n%s\n] } }\n", i, s.address(i), store, tls, ip(i), s.ports[len(s.servers)+i],
		strings.Join(routes, ", "), tls, strings.Join(users, "\n"))
	path := store + ".conf"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	return path
}

// wrong tries what the servers refuse: each is said with what to do.
func (s *storm) wrong() {
	right := s.options()
	right.URL = s.url("submit", "")
	for _, c := range []struct {
		name   string
		change func(*jetstream.Options)
		words  []string
	}{
		{"certificate", func(o *jetstream.Options) { o.CA = s.secured.otherCA }, []string{"certificate", "--nats-ca"}},
		{"password", func(o *jetstream.Options) { o.URL = s.url("submit", "guessed") },
			[]string{"Authorization", "user and password"}},
		{"no password", func(o *jetstream.Options) { o.URL = "tls://" + s.address(1) },
			[]string{"Authorization", "user and password"}},
		{"permission", func(o *jetstream.Options) { o.URL = s.url("reader", "") },
			[]string{"mm.q.default.normal.-.refused", "docs/queue.md"}},
	} {
		o := right
		c.change(&o)
		q, err := jetstream.Connect(s.Context(), o)
		if err == nil {
			_, _, err = q.Submit(s.Context(), &queue.Spec{ID: "refused", Queue: "default", Priority: queue.Normal},
				time.Now())
			q.Close()
		}
		var one *notebooks.Error
		if !errors.As(err, &one) {
			s.Errorf("wrong %s: %v", c.name, err)
			continue
		}
		for _, words := range c.words {
			if !strings.Contains(one.Msg+one.Hint, words) {
				s.Errorf("wrong %s: %s; %s: %q is not said", c.name, one.Msg, one.Hint, words)
			}
		}
		if strings.Contains(one.Error(), "guessed") {
			s.Errorf("wrong %s: the password is said: %v", c.name, one)
		}
	}
}
