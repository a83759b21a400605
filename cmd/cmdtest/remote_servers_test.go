package cmdtest

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestRemoteS3 reads and writes at a real server of S3.
func TestRemoteS3(t *testing.T) {
	t.Parallel()
	b, r, data := newS3Bed(t)
	b.tour(t)
	got, err := os.ReadFile(filepath.Join(data, "bucket", "jobs", "daily-north-2.50.out.md"))
	if err != nil || !bytes.Contains(got, []byte("north 2.5")) {
		t.Errorf("the server has not the file: %v\n%s", err, got)
	}
	b.odd(t, r, "s3://nobucket/out.md", `there is no bucket "nobucket"`)
	b.wants(t, b.run("s3://bucket/nosuch.md"), `there is no "nosuch.md" in the bucket "bucket" (404 NoSuchKey`)
	good := b.env
	b.env = with(good, "AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY=")
	b.wants(t, b.run(b.base+"/daily-north.md"), "access is refused (403",
		"with no credentials: none are in the environment or in ~/.aws", "exit 2")
	b.env = with(good, "AWS_SECRET_ACCESS_KEY=hush-wrong")
	b.wants(t, b.run(b.base+"/daily-north.md"), "403 SignatureDoesNotMatch", "with AWS_ACCESS_KEY_ID", "exit 2")
	b.refused(t, "s3://bucket/out.md", "SignatureDoesNotMatch")
	b.env = good
	b.gone(t, r)
}

// newS3Bed has a real server of S3, which CI builds: MARKMILL_S3_SERVER is the program (versitygw). Its files are in
// the folder.
func newS3Bed(t *testing.T) (b *remoteBed, r *relay, data string) {
	t.Helper()
	server := os.Getenv("MARKMILL_S3_SERVER")
	if server == "" {
		t.Skip("MARKMILL_S3_SERVER names no versitygw: see the stage remote of .ci/run")
	}
	data = t.TempDir()
	if err := os.Mkdir(filepath.Join(data, "bucket"), 0o755); err != nil {
		t.Fatal(err)
	}
	r = newRelay(t, serve(t, []string{server}, func(_, _, address string) []string {
		return []string{"--port", address, "--access", "id", "--secret", "hush-hush", "--quiet", "posix", "--sidecar",
			t.TempDir(), data}
	}))
	return newRemoteBed(t, "s3://bucket/jobs", "AWS_ENDPOINT_URL="+r.url, "AWS_ACCESS_KEY_ID=id",
		"AWS_SECRET_ACCESS_KEY=hush-hush"), r, data
}

// TestRemoteGoogle does the same with a real server of Google's interface: MARKMILL_GS_SERVER is the program
// (fake-gcs-server). It asks for no credentials, so that those are looked at in front of it: there the program believes
// that it speaks to Google.
func TestRemoteGoogle(t *testing.T) {
	t.Parallel()
	server := os.Getenv("MARKMILL_GS_SERVER")
	if server == "" {
		t.Skip("MARKMILL_GS_SERVER names no fake-gcs-server: see the stage remote of .ci/run")
	}
	data := t.TempDir()
	if err := os.Mkdir(filepath.Join(data, "bucket"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := newRelay(t, serve(t, []string{server}, func(host, port, _ string) []string {
		return []string{"-scheme", "http", "-host", host, "-port", port, "-backend", "memory", "-data", data,
			"-log-level",
			"error"}
	}))
	b := newRemoteBed(t, "gs://bucket/jobs", "STORAGE_EMULATOR_HOST="+r.url)
	b.tour(t)
	b.odd(t, r, "gs://nobucket/out.md", `there is no bucket "nobucket"`)

	var asked []string // what each request came with
	proxy := interceptor(t, b, "storage.googleapis.com", r.url, func(q *http.Request) int {
		asked = append(asked, q.Header.Get("Authorization"))
		if q.Header.Get("Authorization") != "Bearer hush-token" {
			return http.StatusUnauthorized
		}
		return 0
	})
	given := http.StatusOK
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(given)
		fmt.Fprint(w,
			`{"access_token":"hush-token","token_type":"Bearer","expires_in":3600,"error":"invalid_grant","error_description":"no such account"}`)
	}))
	t.Cleanup(tokens.Close)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	account, err := json.Marshal(map[string]string{"type": "service_account", "client_email": "robot@example.com",
		"private_key_id": "1", "token_uri": tokens.URL,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY",
			Bytes: x509.MarshalPKCS1PrivateKey(key)}))})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(b.dir, "account.json")
	write(t, file, string(account))
	good := b.env
	b.env = with(good, append(proxy, "STORAGE_EMULATOR_HOST=", "GOOGLE_APPLICATION_CREDENTIALS="+file)...)
	b.wants(t, b.run(b.base+"/daily-north.md", b.base+"/signed.md"), "passed · 2 of 2", "exit 0")
	if len(asked) == 0 || slices.ContainsFunc(asked, func(a string) bool { return a != "Bearer hush-token" }) {
		t.Errorf("requests came with %q", asked)
	}
	given = http.StatusBadRequest
	b.wants(t, b.run(b.base+"/daily-north.md"),
		"access is refused (401 invalid_grant: no such account) with GOOGLE_APPLICATION_CREDENTIALS", "exit 2")
	b.env = with(b.env, "GOOGLE_APPLICATION_CREDENTIALS=")
	b.wants(t, b.run(b.base+"/daily-north.md"), "access is refused (401",
		"with no credentials: none were found; set GOOGLE_APPLICATION_CREDENTIALS", "exit 2")
	b.env = good
	if got, err := b.client.Read(t.Context(), b.base+"/signed.md", 1<<20); err != nil ||
		!bytes.Contains(got, []byte("south 1.5")) {
		t.Errorf("%v\n%s", err, got)
	}
	jobs := *b
	jobs.works(t, "gs://bucket/files")
	jobs.fetches(t)
	b.gone(t, r)
}

// TestRemoteAzure does the same with a real server of Azure's interface: MARKMILL_AZURE_SERVER is the program
// (azurite-blob).
func TestRemoteAzure(t *testing.T) {
	t.Parallel()
	server := os.Getenv("MARKMILL_AZURE_SERVER")
	if server == "" {
		t.Skip("MARKMILL_AZURE_SERVER names no azurite-blob: see the stage remote of .ci/run")
	}
	const secret = "hush-hush"
	key := base64.StdEncoding.EncodeToString([]byte(secret))
	r := newRelay(t, serve(t, []string{"env", "AZURITE_ACCOUNTS=acc:" + key, server},
		func(host, port, _ string) []string {
			return []string{"--blobHost", host, "--blobPort", port, "--inMemoryPersistence", "--skipApiVersionCheck",
				"--silent"}
		}))
	signature := accountSignature("acc", []byte(secret))
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPut, r.url+"/acc/box?restype=container&"+signature,
		nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil || res.StatusCode != http.StatusCreated {
		t.Fatalf("no container was made: %v %v", err, res)
	}
	res.Body.Close()
	connection := func(key string) string {
		return "AZURE_STORAGE_CONNECTION_STRING=DefaultEndpointsProtocol=http;AccountName=acc;AccountKey=" + key +
			";BlobEndpoint=" + r.url + "/acc"
	}
	b := newRemoteBed(t, "az://box/jobs", connection(key))
	b.secrets = []string{key, strings.SplitAfter(signature, "sig=")[1]}
	b.tour(t)
	b.odd(t, r, "az://nobox/out.md", `there is no container "nobox"`)
	good := b.env
	wrong := base64.StdEncoding.EncodeToString([]byte("hush-wrong"))
	b.env = with(good, connection(wrong))
	b.wants(t, b.run(b.base+"/daily-north.md"),
		"access is refused (403 AuthorizationFailure) with AZURE_STORAGE_CONNECTION_STRING", "exit 2")
	b.refused(t, "az://box/out.md", "access is refused (403")
	b.env = with(good, "AZURE_STORAGE_CONNECTION_STRING=")
	b.wants(t, b.run(b.base+"/daily-north.md"), "the account of Azure's is not set", "exit 2")
	for _, each := range []struct{ credential, want string }{
		{"AZURE_STORAGE_KEY=" + key, "exit 0"}, {"AZURE_STORAGE_SAS_TOKEN=" + signature, "exit 0"},
		{"AZURE_STORAGE_SAS_TOKEN=" + strings.Replace(signature, "sp=rwdlac", "sp=rwdlacu", 1),
			"access is refused (403"},
		{"AZURE_STORAGE_KEY=", "with no credentials: none are in the environment"},
	} {
		b.env = with(good, "AZURE_STORAGE_CONNECTION_STRING=", "AZURE_STORAGE_ACCOUNT=acc",
			"AZURE_STORAGE_BLOB_ENDPOINT="+r.url+"/acc", each.credential)
		b.wants(t, b.run(b.base+"/daily-north.md", b.base+"/keyed.md"), each.want)
	}
	// papermill's form, with the signature in the address: there the account has a host of Azure's.
	const host = "acc.blob.core.windows.net"
	b.env = with(good, append(interceptor(t, b, host, r.url, nil), "AZURE_STORAGE_CONNECTION_STRING=")...)
	b.wants(t, b.run("abs://"+host+"/box/jobs/daily-north.md?"+signature, "abs://"+host+"/box/jobs/abs.md?"+signature),
		"passed · 2 of 2", "exit 0")
	b.env = good
	if got, err := b.client.Read(t.Context(), b.base+"/abs.md", 1<<20); err != nil ||
		!bytes.Contains(got, []byte("south 1.5")) {
		t.Errorf("%v\n%s", err, got)
	}
	jobs := *b
	jobs.works(t, "az://box/files")
	jobs.fetches(t)
	b.secretless(t)
	b.gone(t, r)
}

// accountSignature is the query of a shared access signature for all of an account's blobs
// (https://learn.microsoft.com/rest/api/storageservices/create-account-sas).
func accountSignature(account string, key []byte) string {
	q := url.Values{"sv": {"2019-12-12"}, "ss": {"b"}, "srt": {"sco"}, "sp": {"rwdlac"}, "se": {"2099-01-01T00:00:00Z"}}
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "%s\n%s\n%s\n%s\n\n%s\n\n\n%s\n", account, q.Get("sp"), q.Get("ss"), q.Get("srt"), q.Get("se"),
		q.Get("sv"))
	return q.Encode() + "&sig=" + url.QueryEscape(base64.StdEncoding.EncodeToString(h.Sum(nil)))
}

// freePort is a port on which nobody listens. It is below those that systems give to whoever asks for any, as the other
// tests do, so that it is still free when a server takes it.
func freePort(t *testing.T) string {
	t.Helper()
	const lowest, highest = 20000, 30000
	for range 100 {
		port := strconv.Itoa(lowest + mathrand.IntN(highest-lowest))
		if l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

// serve starts a server on a free port of the loopback interface and waits until it listens. The test ends it.
func serve(t *testing.T, program []string, args func(host, port, address string) []string) (address string) {
	t.Helper()
	host, port := "127.0.0.1", freePort(t)
	address = net.JoinHostPort(host, port)
	var log bytes.Buffer
	c := exec.CommandContext(t.Context(), program[0], append(program[1:], args(host, port, address)...)...)
	c.Stdout, c.Stderr, c.WaitDelay = &log, &log, 10*time.Second
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	t.Cleanup(func() {
		_ = c.Process.Kill() // it may have ended
		<-ended
	})
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return address
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%s ended: %v\n%s", program, err, log.Bytes())
		default:
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("%s does not listen", program)
		}
	}
}

// interceptor gives the environment of a program that takes a server here for the host of that name, over TLS and
// through a proxy. Answer looks at each request first: what is not 0 is the answer.
func interceptor(t *testing.T, b *remoteBed, host, target string, answer func(*http.Request) int) []string {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host},
		DNSNames: []string{host},
		NotAfter: time.Now().Add(time.Hour),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	raw, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	behind := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(to)
		p.Out.Host = p.In.Host // which names the account
	}}
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if answer != nil {
			if code := answer(q); code != 0 {
				w.WriteHeader(code)
				return
			}
		}
		behind.ServeHTTP(w, q)
	}))
	front.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}}
	front.StartTLS()
	t.Cleanup(front.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method != http.MethodConnect || q.Host != host+":443" {
			t.Errorf("the proxy is asked for %s %s", q.Method, q.Host)
			return
		}
		in, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer in.Close()
		out, err := net.Dial("tcp", front.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer out.Close()
		_, _ = io.WriteString(in, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(out, in); out.Close() }()
		_, _ = io.Copy(in, out)
	}))
	t.Cleanup(proxy.Close)
	roots := filepath.Join(b.dir, host+".pem")
	write(t, roots, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})))
	return []string{"HTTPS_PROXY=" + proxy.URL, "https_proxy=", "NO_PROXY=", "no_proxy=", "SSL_CERT_FILE=" + roots}
}
