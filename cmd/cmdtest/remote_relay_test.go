package cmdtest

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"markmill/cmd/internal/remote"
)

// relay stands between the program and a server, and can stop in the middle of what is sent.
type relay struct {
	url    string
	target string

	mu    sync.Mutex
	left  int           // bytes that still go to the server; less than 0 is all
	stop  func()        // what is done when they are used up, once
	shut  bool          // no connection is made any more
	conns []net.Conn    // all that there were
	ended chan struct{} // the test is over
}

func newRelay(t *testing.T, target string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{url: "http://" + l.Addr().String(), target: target, left: -1, ended: make(chan struct{})}
	t.Cleanup(func() {
		l.Close()
		close(r.ended)
		r.drop()
	})
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go r.pass(in)
		}
	}()
	return r
}

func (r *relay) pass(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", r.target)
	if err != nil {
		return
	}
	defer out.Close()
	r.mu.Lock()
	shut := r.shut
	r.conns = append(r.conns, in, out)
	r.mu.Unlock()
	if shut {
		return
	}
	go func() {
		_, _ = io.Copy(in, out)
		in.Close()
	}()
	buf := make([]byte, 32<<10)
	for {
		n, err := in.Read(buf)
		if n > 0 && !r.allowed(n) {
			<-r.ended // nothing more is read: the program waits
			return
		}
		if _, werr := out.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}

// allowed says whether so many bytes may go on.
func (r *relay) allowed(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left < 0 {
		return true
	}
	if r.left -= n; r.left >= 0 {
		return true
	}
	r.left = 0
	if stop := r.stop; stop != nil {
		r.stop = nil
		go stop()
	}
	return false
}

// after lets so many bytes go to the server, and then none, and calls stop. Less than 0 ends that.
func (r *relay) after(bytes int, stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left, r.stop, r.shut = bytes, stop, false
}

// drop cuts all connections; later ones are cut at once.
func (r *relay) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shut = true
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = nil
}

// bulky is a notebook of 20 MB, of which the output notebook has all.
var bulky = sync.OnceValue(func() string {
	return dailyNotebook + "\n" + strings.Repeat(strings.Repeat("lorem ipsum ", 8)+"\n\n", 20_000_000/98)
})

// odd does with a server what is rarer than tour: names, sizes, what is not there, and runs that are killed.
func (b *remoteBed) odd(t *testing.T, r *relay, nowhere, why string) {
	t.Helper()
	source := b.base + "/daily-north.md"
	runs := b.records(t)
	b.wants(t, b.run(source, nowhere), remote.Name(nowhere)+": cannot be written: "+why, "exit 2")
	b.wants(t, b.run(b.base+"/nosuch.md"), b.base+"/nosuch.md: cannot be read: there is no \"jobs/nosuch.md\" in the ",
		"(404", "exit 2")
	b.wants(t, b.run(nowhere), remote.Name(nowhere)+": cannot be read: there is no ", "(404", "exit 2")
	if b.records(t) != runs {
		t.Error("a run was recorded that did not begin")
	}

	named := b.base + "/a b/ü 日本 #?%20&=+;'().md"
	b.wants(t, b.run(source, named, "-p", "region", "Łódź"), "passed · 2 of 2", "exit 0")
	if got := b.read(t, named); !bytes.Contains(got, []byte("Łódź 1.5")) {
		t.Errorf("%s", got)
	}
	b.wants(t, b.do("check", "--show", named), "show", "exit 0")

	// Large, and then small in the same place.
	local, there := filepath.Join(b.dir, "bulky.md"), b.base+"/bulky.md"
	write(t, local, bulky())
	b.wants(t, b.run(local, there), "passed · 2 of 2", "exit 0")
	whole := b.read(t, there)
	if len(whole) < 20_000_000 || !bytes.Equal(whole, b.lastOutput(t)) {
		t.Fatalf("%d bytes came back, which are not those of the record", len(whole))
	}
	b.wants(t, b.do("notebook", "strip", "--check", there), "has outputs", "exit 1")
	b.wants(t, b.run(source, there), "passed · 2 of 2", "exit 0")
	small := b.read(t, there)
	if len(small) > 10_000 || !bytes.Equal(small, b.lastOutput(t)) {
		t.Errorf("%d bytes came back, which are not those of the record", len(small))
	}

	// Killed while a step runs, and while OUTPUT is sent: what was there stays. The first can be gone on with.
	resumed, goOn := b.base+"/resumed.md", filepath.Join(b.dir, "go-on")
	if err := b.client.Write(t.Context(), resumed, []byte("old")); err != nil {
		t.Fatal(err)
	}
	inRepository := *b // outside one a run works in the folder itself, and cannot be resumed
	inRepository.dir = t.TempDir()
	write(t, filepath.Join(inRepository.dir, "waits.md"),
		"```bash {#first}\necho one\n```\n\n```bash {#wait}\n[ -e "+goOn+" ] || sleep 600\necho two\n```\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."},
		{"-c", "user.name=A", "-c", "user.email=a@localhost", "commit", "-qm", "base"}} {
		command(t, inRepository.dir, "git", args...)
	}
	c := inRepository.command("run", "waits.md", resumed, "--events", "-")
	events, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var told []byte
	for buf := make([]byte, 4096); bytes.Count(told, []byte("step.started")) < 2; {
		n, err := events.Read(buf)
		if told = append(told, buf[:n]...); err != nil {
			t.Fatalf("the second step did not begin: %v\n%s", err, told)
		}
	}
	kill(t, c)
	if got := b.read(t, resumed); string(got) != "old" {
		t.Errorf("a run that was killed left %q", got)
	}
	write(t, goOn, "")
	b.wants(t, inRepository.do("resume", "last"), "carried over: first", "passed · 2 of 2", "exit 0")
	if got := b.read(t, resumed); !bytes.Contains(got, []byte("one")) || !bytes.Contains(got, []byte("two")) {
		t.Errorf("%s", got)
	}
	half := make(chan struct{})
	r.after(5_000_000, func() { close(half) })
	c = b.command("run", local, there)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	<-half
	kill(t, c)
	r.drop()
	r.after(-1, nil)
	if got := b.read(t, there); !bytes.Equal(got, small) {
		t.Errorf("a run that was killed while it sent OUTPUT left %d bytes there", len(got))
	}
	b.secretless(t)
}

// gone ends with a server that is there when a run begins, and goes while OUTPUT is sent to it: the file that was there
// stays.
func (b *remoteBed) gone(t *testing.T, r *relay) {
	t.Helper()
	there := b.base + "/bulky.md"
	small := b.read(t, there)
	before := b.records(t)
	r.after(5_000_000, r.drop)
	b.wants(t, b.run("bulky.md", there), "passed · 2 of 2", there+": cannot be written: ", "reachable from here",
		"the run is recorded, and what OUTPUT was to be is records", "exit 1")
	if got := b.lastOutput(t); b.records(t) != before+1 || len(got) < 20_000_000 {
		t.Errorf("the record has %d bytes", len(got))
	}
	r.after(-1, nil)
	if got := b.read(t, there); !bytes.Equal(got, small) {
		t.Errorf("%d bytes are there", len(got))
	}
	b.secretless(t)
}

func kill(t *testing.T, c *exec.Cmd) {
	t.Helper()
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // it was killed
}

func (b *remoteBed) read(t *testing.T, address string) []byte {
	t.Helper()
	got, err := b.client.Read(t.Context(), address, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// lastOutput is the output notebook of the newest record.
func (b *remoteBed) lastOutput(t *testing.T) []byte {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(b.dir, "records", "runs", "2*", "output.md"))
	if err != nil || len(found) == 0 {
		t.Fatal("no record has an output notebook: ", err)
	}
	var newest os.FileInfo
	var file string
	for _, each := range found {
		info, err := os.Stat(each)
		if err != nil {
			t.Fatal(err)
		}
		if newest == nil || info.ModTime().After(newest.ModTime()) {
			newest, file = info, each
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// with is an environment with other values in it.
func with(env []string, changed ...string) []string {
	return append(env[:len(env):len(env)], changed...)
}
