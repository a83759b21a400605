package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// endpoint is how the workbench is reached: its address, its names, and its proxy.
type endpoint struct {
	address  string // host and port
	loopback bool   // only this machine can connect
	hosts    []string
	cert     *certificate   // nil: without TLS
	proxies  []netip.Prefix // addresses of the proxy; none: there is no proxy
	header   string         // in which the proxy says who asks
}

// secure reports whether browsers reach the workbench over TLS.
func (d *endpoint) secure() bool { return d.cert != nil || len(d.proxies) > 0 }

// origin is the address that a person opens.
func (d *endpoint) origin() string {
	if len(d.proxies) > 0 {
		return "https://" + d.hosts[0]
	}
	if d.cert == nil {
		return "http://" + d.address
	}
	_, port, _ := net.SplitHostPort(d.address)
	names := slices.Concat(d.hosts, d.cert.names())
	if len(names) == 0 {
		return "https://" + d.address
	}
	return "https://" + net.JoinHostPort(names[0], port)
}

// known reports whether a name is in the certificate or is that of --host.
func (d *endpoint) known(name string) bool {
	if slices.ContainsFunc(d.hosts, func(h string) bool { return strings.EqualFold(h, name) }) {
		return true
	}
	return d.cert != nil && name != "" && d.cert.covers(name)
}

// peerOf is the address at the other end of a connection.
func peerOf(remote string) netip.Addr {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}

// isProxy reports whether a connection is the proxy's.
func (d *endpoint) isProxy(remote string) bool {
	peer := peerOf(remote)
	return slices.ContainsFunc(d.proxies, func(p netip.Prefix) bool { return p.Contains(peer) })
}

// admits reports whether a connection may ask at all: without TLS, and elsewhere than on this machine, only the proxy.
func (d *endpoint) admits(remote string) bool {
	return d.loopback || d.cert != nil || d.isProxy(remote)
}

// proxyUser returns the user that the proxy names; "" if there is none, or the request is not from the proxy.
func (d *endpoint) proxyUser(r *http.Request) (string, error) {
	if d.header == "" || !d.isProxy(r.RemoteAddr) {
		return "", nil
	}
	values := r.Header.Values(d.header)
	if len(values) > 1 {
		return "", &refusal{status: http.StatusBadRequest, title: "Not from the proxy", words: fmt.Sprintf(
			"the proxy must replace the header %s of its client, and there are %d of it", d.header, len(values))}
	}
	return strings.TrimSpace(strings.Join(values, "")), nil
}

// newEndpoint checks that the options of listening agree, and listens.
func newEndpoint(ctx context.Context, o Options) (d endpoint, l net.Listener, err error) {
	fail := func(words string, args ...any) (endpoint, net.Listener, error) {
		return endpoint{}, nil, fmt.Errorf("--listen %s: "+words, append([]any{o.Listen}, args...)...)
	}
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return fail("give an address and a port, as in 127.0.0.1:8080")
	}
	if d.loopback, err = onLoopback(ctx, host); err != nil {
		return fail("%w", err)
	}
	d.hosts = o.Hosts
	if (o.Cert == "") != (o.Key == "") {
		return fail("--cert and --key go together")
	}
	if (len(o.Proxies) == 0) != (o.ProxyHeader == "") {
		return fail("--proxy and --proxy-header go together: the address of the proxy, and the header in which it " +
			"says who asks")
	}
	for _, word := range o.Proxies {
		prefix, err := parsePrefix(word)
		if err != nil {
			return fail("--proxy %s: give an address or a network, as in 10.0.0.7 or 10.0.0.0/28", word)
		}
		d.proxies = append(d.proxies, prefix)
	}
	d.header = o.ProxyHeader
	if strings.EqualFold(d.header, "Authorization") || strings.EqualFold(d.header, "Cookie") {
		return fail("--proxy-header %s: the header holds a name, as Remote-User does", d.header)
	}
	switch {
	case !d.loopback && o.Cert == "" && len(d.proxies) == 0:
		return fail("other machines reach the workbench over TLS only; give --cert FILE --key FILE, or name a proxy " +
			"that does it with --proxy ADDRESS --proxy-header Remote-User --host NAME; without either, listen on " +
			"127.0.0.1 and forward the port with ssh -L")
	case (!d.loopback || len(d.proxies) > 0) && o.Tokens == "":
		return fail("say who may do what with --tokens FILE; markmill serve token NAME --role run --tokens FILE " +
			"makes it")
	case len(d.proxies) > 0 && len(d.hosts) == 0:
		return fail("name the host that browsers ask the proxy for with --host NAME")
	}
	if o.Cert != "" {
		if d.cert, err = newCertificate(o.Cert, o.Key); err != nil {
			return fail("%w", err)
		}
	}
	if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", o.Listen); err != nil {
		return d, nil, err
	}
	d.address = l.Addr().String()
	return d, l, nil
}

// behind returns a listener with TLS if there is a certificate.
func (d *endpoint) behind(l net.Listener) net.Listener {
	if d.cert == nil {
		return l
	}
	return tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: d.cert.get,
		NextProtos: []string{"http/1.1"}}) // a connection of HTTP/2 would count as one, with hundreds of requests
}

// onLoopback reports whether all addresses of a host are of the loopback interface. The host "" is every address.
func onLoopback(ctx context.Context, host string) (bool, error) {
	if host == "" {
		return false, nil
	}
	ips, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return false, errors.Join(err, errors.New("the host is not known"))
	}
	return !slices.ContainsFunc(ips, func(ip net.IPAddr) bool { return !ip.IP.IsLoopback() }), nil
}

func parsePrefix(word string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(word); err == nil {
		return p.Masked(), nil
	}
	a, err := netip.ParseAddr(word)
	if err != nil {
		return netip.Prefix{}, err
	}
	return a.Unmap().Prefix(a.Unmap().BitLen())
}

// certificate is the pair of files of --cert and --key. They are read again when they have changed, as they do every
// few weeks; while the new ones cannot be used, the old ones are.
type certificate struct {
	cert, key string

	mutex sync.Mutex
	time  time.Time // of the certificate's file
	pair  *tls.Certificate
}

func newCertificate(cert, key string) (*certificate, error) {
	c := &certificate{cert: cert, key: key}
	return c, c.load()
}

func (c *certificate) load() error {
	info, err := os.Stat(c.cert)
	if err != nil {
		return err
	}
	if c.pair != nil && info.ModTime().Equal(c.time) {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key) // it fills in Leaf
	if err != nil {
		return fmt.Errorf("--cert %s --key %s: %w", c.cert, c.key, err)
	}
	c.pair, c.time = &pair, info.ModTime()
	return nil
}

func (c *certificate) current() (*tls.Certificate, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err := c.load(); err != nil && c.pair == nil {
		return nil, err
	}
	return c.pair, nil
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current() }

func (c *certificate) covers(name string) bool {
	pair, err := c.current()
	return err == nil && pair.Leaf.VerifyHostname(name) == nil
}

// names are the host names of the certificate that stand for one host.
func (c *certificate) names() (list []string) {
	pair, err := c.current()
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(pair.Leaf.DNSNames), func(n string) bool { return strings.Contains(n, "*") })
}
