package cmdtest

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"markmill/cmd/internal/program"
	"markmill/cmd/markmill-server/serve/web"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// peopleDesk is a workbench in this process with a tokens file.
type peopleDesk struct {
	t       *testing.T
	root    string
	file    string            // of the tokens
	tokens  map[string]string // by name, which is that of the role
	address string            // scheme, host and port
	said    chan string
	client  *http.Client // without a session
}

// newPeopleDesk starts a workbench with a person for each role. change may alter the options.
func newPeopleDesk(t *testing.T, change func(*web.Options)) *peopleDesk {
	t.Helper()
	d := &peopleDesk{t: t, root: serveRepository(t), tokens: map[string]string{}, said: make(chan string, 100),
		file: filepath.Join(t.TempDir(), "tokens")}
	for _, role := range []string{"read", "run", "approve"} {
		token, err := web.AddToken(d.file, role, role)
		if err != nil {
			t.Fatal(err)
		}
		d.tokens[role] = token
	}
	o := web.Options{Program: builtProgram(t), Root: d.root, Listen: "127.0.0.1:0",
		User: "tester", Tokens: d.file, Connection: queueDesk(d.root)}
	if change != nil {
		change(&o)
	}
	reader, writer := io.Pipe()
	go func() {
		for lines := bufio.NewScanner(reader); lines.Scan(); {
			d.said <- lines.Text()
		}
	}()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(ctx, program.New(), writer, o) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the workbench: %v", err)
		}
	})
	select {
	case line := <-d.said:
		d.address = strings.TrimSuffix(strings.TrimPrefix(line, "Open "), "/sign-in")
	case err := <-ended:
		ended <- nil
		t.Fatalf("the workbench: %v", err)
	case <-time.After(ownTime):
		t.Fatal("no address was printed")
	}
	d.client = &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return d
}

// ask sends a request. header has names and values in turn.
func (d *peopleDesk) ask(method, path, body string, header ...string) (int, http.Header, string) {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), method, d.address+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Add(header[i], header[i+1])
	}
	resp, err := d.client.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

// as sends a request with the token of a person.
func (d *peopleDesk) as(name, method, path, body string) (int, string) {
	d.t.Helper()
	code, _, text := d.ask(method, path, body, "Authorization", "Bearer "+d.tokens[name])
	return code, text
}

// ran runs a notebook as a person, and waits for its end.
func (d *peopleDesk) ran(name, notebook string) *runs.Record {
	d.t.Helper()
	code, text := d.as(name, "POST", "/api/v1/runs", `{"notebook": "`+notebook+`"}`)
	var made struct {
		ID runs.RunID `json:"run_id"`
	}
	if err := codec.Unmarshal([]byte(text), &made); err != nil || code != http.StatusCreated {
		d.t.Fatalf("%s runs %s: %d %s", name, notebook, code, text)
	}
	d.as(name, "GET", "/runs/"+string(made.ID)+"/live", "")
	return runs.At(filepath.Join(d.root, ".markmill", "runs", string(made.ID)))
}

// signedIn is a browser that has signed in with a token, and the token of its forms.
func (d *peopleDesk) signedIn(token string) (*http.Client, string) {
	d.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		d.t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Transport: d.client.Transport}
	resp, err := browser.PostForm(d.address+"/sign-in", url.Values{"token": {token}})
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		d.t.Fatalf("sign-in: %d %v\n%s", resp.StatusCode, err, text)
	}
	return browser, formToken(string(text))
}

// TestServeActors: records, approvals and decisions name the person, and nothing that a form says changes the name.
func TestServeActors(t *testing.T) {
	t.Parallel()
	d := newPeopleDesk(t, nil)
	self := (&program.World{}).UserName()
	record := d.ran("run", "lines.md")
	run, _, err := record.Load()
	if err != nil || run.Started.Actor != "run via "+self {
		t.Fatalf("run.started says %q, %v", run.Started.Actor, err)
	}
	// The person's name is in the record, and not that of a form's field, a header or a parameter.
	browser, form := d.signedIn(d.tokens["approve"])
	r, err := http.NewRequestWithContext(t.Context(), "POST", d.address+"/runs/"+string(run.ID)+"/reject",
		strings.NewReader(url.Values{"token": {form}, "reason": {"no\nMARKMILL_ACTOR=root"}, "actor": {"root"},
			"user": {"root"}, "MARKMILL_ACTOR": {"root"}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, name := range []string{"Remote-User", "X-Remote-User", "X-Forwarded-User", "MARKMILL_ACTOR"} {
		r.Header.Set(name, "root")
	}
	if resp, err := browser.Do(r); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("reject: %v %v", resp, err)
	}
	list, err := record.Decisions()
	if err != nil || len(list) != 1 || list[0].Actor != "approve via "+self {
		t.Fatalf("the decision is %+v, %v", list, err)
	}
	// An approval names who gave it; who asked for the run cannot give it where the policy wants another.
	gated := d.ran("approve", "gated.md")
	asked, _, err := gated.Load()
	if err != nil || asked.Requested == nil {
		t.Fatalf("the run did not ask: %v", err)
	}
	form2 := url.Values{"token": {form}, "reason": {"seen"}}
	if resp, err := browser.PostForm(d.address+"/runs/"+string(asked.ID)+"/approve", form2); err != nil ||
		resp.StatusCode != http.StatusOK {
		t.Fatalf("approve: %v %v", resp, err)
	}
	approved, _, err := d.ran("run", "gated.md").Load()
	if err != nil || approved.Granted == nil || approved.Granted.Actor != "approve via "+self {
		t.Fatalf("the approval is %+v, %v", approved.Granted, err)
	}
	// A step is not told who asked, and so cannot pass it on.
	if _, page := d.as("read", "GET", "/runs/"+string(run.ID), ""); !strings.Contains(page, "run via "+self) {
		t.Error("the page of the run does not say who asked for it")
	}
}

// TestServeTokens signs in, loses a role, and guesses.
func TestServeTokens(t *testing.T) {
	t.Parallel()
	d := newPeopleDesk(t, nil)
	if code, header, page := d.ask("GET", "/runs", ""); code != http.StatusUnauthorized ||
		header.Get("WWW-Authenticate") != "Bearer" || !strings.Contains(page, "/sign-in") {
		t.Errorf("without a token: %d\n%s", code, page)
	}
	if code, _, page := d.ask("GET", "/sign-in?token="+d.tokens["run"], ""); code != http.StatusOK ||
		!strings.Contains(page, `type="password"`) {
		t.Errorf("the sign-in page: %d\n%s", code, page)
	}
	browser, form := d.signedIn(d.tokens["run"])
	at, err := url.Parse(d.address)
	if err != nil {
		t.Fatal(err)
	}
	if cookies := browser.Jar.Cookies(at); len(cookies) != 1 || strings.Contains(cookies[0].Value, "markmill_") {
		t.Errorf("the cookies are %v", cookies)
	}
	// Another site cannot sign a browser in, and nobody makes addresses here.
	if code, _, _ := d.ask("POST", "/sign-in", "token="+d.tokens["run"], "Content-Type",
		"application/x-www-form-urlencoded", "Origin", "http://evil.example"); code != http.StatusForbidden {
		t.Errorf("sign-in of another origin: %d", code)
	}
	if code, text := d.as("approve", "POST", "/address", "role=approve"); code != http.StatusConflict {
		t.Errorf("an address for whom the record could not name: %d\n%s", code, text)
	}
	// The file has no token, and what is taken out of it ends at once, also what is signed in.
	text, err := os.ReadFile(d.file)
	if err != nil || strings.Contains(string(text), "markmill_") || strings.Count(string(text), "sha256:") != 3 {
		t.Errorf("the file has\n%s", text)
	}
	lesser := strings.Replace(string(text), "run run ", "run read ", 1)
	writeTokens(t, d.file, lesser)
	resp, err := browser.PostForm(d.address+"/new", url.Values{"token": {form}, "notebook": {"lines.md"}})
	if err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("a role that was taken away: %v %v", resp, err)
	}
	gone := strings.Replace(lesser, "run read ", "#", 1)
	writeTokens(t, d.file, gone)
	if resp, err := browser.Get(d.address + "/runs"); err != nil || resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a token that was taken away: %v %v", resp, err)
	}
	// While the file cannot be read, nobody gets in, and the terminal says why.
	writeTokens(t, d.file, gone+"one two\n")
	if code, _ := d.as("approve", "GET", "/runs", ""); code != http.StatusServiceUnavailable {
		t.Errorf("a tokens file with a mistake: %d", code)
	}
	select {
	case line := <-d.said:
		if !strings.Contains(line, d.file+":4: 2 words") {
			t.Errorf("the terminal says %q", line)
		}
	case <-time.After(ownTime):
		t.Error("the terminal says nothing")
	}
	writeTokens(t, d.file, gone)
	// Guesses are limited, by the form and by the header, and the sign-in page says so.
	last := 0
	for n := range 20 {
		if n%2 == 0 {
			last, _, _ = d.ask("GET", "/api/v1/runs", "", "Authorization", "Bearer markmill_guess")
		} else {
			last, _, _ = d.ask("POST", "/sign-in", "token=guess", "Content-Type", "application/x-www-form-urlencoded")
		}
		if want := http.StatusUnauthorized; n < 5 && last != want {
			t.Errorf("guess %d: %d", n, last)
		}
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("20 guesses end with %d", last)
	}
	if code, _ := d.as("read", "GET", "/runs", ""); code != http.StatusOK {
		t.Errorf("a right token from where others guess: %d", code)
	}
}

// writeTokens replaces a tokens file. Its time differs from that of the one before.
func writeTokens(t *testing.T, file, text string) {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, time.Time{}, info.ModTime().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
}

// TestServeProxy: a header names the user only where the proxy sends it.
func TestServeProxy(t *testing.T) {
	t.Parallel()
	proxied := func(proxy string) *peopleDesk {
		d := newPeopleDesk(t, func(o *web.Options) {
			o.Hosts, o.Proxies, o.ProxyHeader = []string{"runs.example"}, []string{proxy}, "Remote-User"
			text, err := os.ReadFile(o.Tokens)
			if err != nil {
				t.Fatal(err)
			}
			writeTokens(t, o.Tokens, string(text)+"carol approve proxy\n* read proxy\n")
		})
		said, address, _ := strings.Cut(d.address, ", whose proxy asks ")
		if said != "https://runs.example" {
			t.Errorf("the address that people open is %s", said)
		}
		d.address = "http://" + address
		return d
	}
	d := proxied("127.0.0.0/8")
	through := func(method, path, body string, header ...string) (int, string) {
		t.Helper()
		code, _, text := d.ask(method, path, body, append(header, "Host", "runs.example", "Content-Type",
			"application/x-www-form-urlencoded")...)
		return code, text
	}
	code, page := through("GET", "/runs", "", "Remote-User", "carol")
	if code != http.StatusOK || !strings.Contains(page, "carol, role approve") {
		t.Fatalf("carol: %d\n%s", code, page)
	}
	form := formToken(page)
	if code, page := through("GET", "/runs", "", "Remote-User", "dave"); code != http.StatusOK ||
		!strings.Contains(page, "dave, role read") || formToken(page) == form {
		t.Errorf("dave: %d\n%s", code, page)
	}
	for name, c := range map[string]struct {
		want   int
		header []string
	}{
		"nobody":                {http.StatusUnauthorized, nil},
		"an empty name":         {http.StatusUnauthorized, []string{"Remote-User", ""}},
		"two names":             {http.StatusBadRequest, []string{"Remote-User", "dave", "Remote-User", "carol"}},
		"no name":               {http.StatusForbidden, []string{"Remote-User", "carol via root"}},
		"everybody":             {http.StatusForbidden, []string{"Remote-User", "*"}},
		"another spelling":      {http.StatusUnauthorized, []string{"Remote_User", "carol"}},
		"a stranger's token":    {http.StatusUnauthorized, []string{"Authorization", "Bearer x"}},
		"a token of the proxy":  {http.StatusOK, []string{"Remote-User", "carol", "Authorization", "Bearer x.y.z"}},
		"a token without proxy": {http.StatusOK, []string{"Authorization", "Bearer " + d.tokens["read"]}},
	} {
		if code, text := through("GET", "/runs", "", c.header...); code != c.want {
			t.Errorf("%s: %d, want %d\n%s", name, code, c.want, text)
		}
	}
	reject := "/runs/20260101T000000Z-x-0000000000000000/reject"
	for name, c := range map[string]struct {
		want   int
		body   string
		header []string
	}{
		"carol":                   {http.StatusNotFound, "reason=x&token=" + form, []string{"Remote-User", "carol"}},
		"carol from another site": {http.StatusForbidden, "reason=x", []string{"Remote-User", "carol"}},
		"dave with carol's token": {http.StatusForbidden, "reason=x&token=" + form, []string{"Remote-User", "dave"}},
		"carol of another origin": {http.StatusForbidden, "reason=x&token=" + form, []string{"Remote-User", "carol",
			"Origin", "https://evil.example"}},
		"carol from the workbench": {http.StatusNotFound, "reason=x&token=" + form, []string{"Remote-User", "carol",
			"Origin", "https://runs.example"}},
	} {
		if code, text := through("POST", reject, c.body, c.header...); code != c.want {
			t.Errorf("%s: %d, want %d\n%s", name, code, c.want, text)
		}
	}
	// From anywhere else the header is nothing: not at the same port, and not with another name of the machine.
	d = proxied("10.0.0.7")
	for _, host := range []string{"runs.example", strings.TrimPrefix(d.address, "http://")} {
		if code, _, _ := d.ask("GET", "/runs", "", "Host", host, "Remote-User", "carol"); code !=
			http.StatusUnauthorized {
			t.Errorf("a header that is not the proxy's, under %s: %d", host, code)
		}
	}
	// Listening elsewhere without TLS, only the proxy may ask, with a token or without.
	d = newPeopleDesk(t, func(o *web.Options) {
		o.Listen, o.Hosts = "0.0.0.0:0", []string{"runs.example"}
		o.Proxies, o.ProxyHeader = []string{"10.0.0.7"}, "X-User"
	})
	_, address, _ := strings.Cut(d.address, ", whose proxy asks ")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	d.address = "http://127.0.0.1:" + port
	for _, header := range [][]string{{"X-User", "run"}, {"Authorization", "Bearer " + d.tokens["run"]}} {
		if code, _, _ := d.ask("GET", "/runs", "", append(header, "Host", "runs.example")...); code !=
			http.StatusForbidden {
			t.Errorf("plain HTTP past the proxy with %s: %d", header[0], code)
		}
	}
}

// selfSigned writes a certificate for localhost and its key, and returns their files and a pool that trusts it.
func selfSigned(t *testing.T, names ...string) (cert, key string, trusts *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: names,
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true, IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	trusts = x509.NewCertPool()
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	trusts.AddCert(made)
	return cert, key, trusts
}

// TestServeTLS listens on every address, with a certificate.
func TestServeTLS(t *testing.T) {
	t.Parallel()
	cert, key, trusts := selfSigned(t, "localhost")
	d := newPeopleDesk(t, func(o *web.Options) { o.Listen, o.Cert, o.Key = "0.0.0.0:0", cert, key })
	d.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusts}}
	browser, _ := d.signedIn(d.tokens["read"])
	at, err := url.Parse(d.address)
	if err != nil || at.Scheme != "https" {
		t.Fatalf("the address is %s", d.address)
	}
	resp, err := browser.Get(d.address + "/runs")
	if err != nil || resp.StatusCode != http.StatusOK || resp.TLS == nil || resp.ProtoMajor != 1 {
		t.Fatalf("%v %v", resp, err)
	}
	resp, err = browser.PostForm(d.address+"/sign-in", url.Values{"token": {d.tokens["read"]}})
	if err != nil {
		t.Fatal(err)
	}
	if resp = resp.Request.Response; resp == nil || !strings.HasPrefix(resp.Header.Get("Set-Cookie"), "__Host-") ||
		!strings.Contains(resp.Header.Get("Set-Cookie"), "; Secure") ||
		!strings.Contains(resp.Header.Get("Set-Cookie"), "SameSite=Strict") {
		t.Errorf("the cookie: %v", resp)
	}
	plain, err := http.Get("http://" + at.Host + "/sign-in")
	if err != nil || plain.StatusCode != http.StatusBadRequest {
		t.Errorf("plain HTTP: %v %v", plain, err)
	}
	for _, host := range []string{"evil.example", "evil.example:" + at.Port(), "127.0.0.1:" + at.Port(), "", "[::1]"} {
		if code, _, _ := d.ask("GET", "/healthz", "", "Host", host); host != "" && code !=
			http.StatusMisdirectedRequest {
			t.Errorf("under the name %q: %d", host, code)
		}
	}
	if _, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusts,
		MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}}}).Get(d.address + "/healthz"); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
}

// TestServeElsewhere: what would be unsafe elsewhere is refused, in words that say how to mend it.
func TestServeElsewhere(t *testing.T) {
	t.Parallel()
	root := serveRepository(t)
	cert, key, _ := selfSigned(t, "localhost")
	file := filepath.Join(t.TempDir(), "tokens")
	if _, err := web.AddToken(file, "a", "read"); err != nil {
		t.Fatal(err)
	}
	loose, empty := filepath.Join(t.TempDir(), "loose"), filepath.Join(t.TempDir(), "empty")
	for name, mode := range map[string]os.FileMode{loose: 0o644, empty: 0o600} {
		if err := os.WriteFile(name, []byte("# nobody\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for words, o := range map[string]web.Options{
		"over TLS only":           {Listen: "0.0.0.0:0", Tokens: file},
		"forward the port":        {Listen: ":0", Tokens: file},
		"--tokens FILE":           {Listen: "0.0.0.0:0", Cert: cert, Key: key},
		"--cert and --key go":     {Listen: "0.0.0.0:0", Cert: cert, Tokens: file},
		"--proxy and --proxy-":    {Listen: "0.0.0.0:0", Proxies: []string{"10.0.0.1"}, Tokens: file},
		"find any PEM":            {Listen: "0.0.0.0:0", Cert: file, Key: key, Tokens: file},
		"give an address or a":    {Listen: "0.0.0.0:0", Proxies: []string{"proxy"}, ProxyHeader: "X", Tokens: file},
		"with --host NAME":        {Listen: "0.0.0.0:0", Proxies: []string{"::1"}, ProxyHeader: "X", Tokens: file},
		"chmod 600":               {Listen: "127.0.0.1:0", Tokens: loose},
		"names nobody":            {Listen: "127.0.0.1:0", Tokens: empty},
		"no such file":            {Listen: "127.0.0.1:0", Tokens: file + "x"},
		"the header holds a name": {Listen: ":0", Proxies: []string{"::1"}, ProxyHeader: "cookie", Tokens: file},
	} {
		o.Program, o.Root = "x", root
		err := web.Serve(t.Context(), program.New(), io.Discard, o)
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q is not said: %v", words, err)
		}
	}
	for line, words := range map[string]string{"a b c d": "4 words", "a sudo proxy": "no role",
		"é read proxy":     "name nobody",
		"* read sha256:00": "name nobody", "a read sha256:00": "64 hexadecimal", "a read plain": "64 hexadecimal"} {
		writeTokens(t, empty, "\n"+line)
		o := web.Options{Program: "x", Root: root, Listen: "127.0.0.1:0", Tokens: empty}
		err := web.Serve(t.Context(), program.New(), io.Discard, o)
		if err == nil || !strings.Contains(err.Error(), words) ||
			!strings.Contains(err.Error(), empty+":2: ") {
			t.Errorf("%q: %v", line, err)
		}
	}
	for _, c := range [][2]string{{"a b", "read"}, {"", "read"}, {"a", "root"}, {"-x", "read"}} {
		if _, err := web.AddToken(empty, c[0], c[1]); err == nil {
			t.Errorf("a token for %q", c)
		}
	}
}
