package process

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// testPlace is a place whose program is the test binary.
func testPlace(t *testing.T) *Place {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlace(self, "test", NewMark())
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(p.Close)
	return p
}

// inPlace runs a shell's code in a place and returns what it printed.
func inPlace(t *testing.T, p *Place, code string) string {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	mark := NewMark()
	tag, variable := mark.Tag()
	child, err := NewFamily(mark, tag).Start("/bin/sh", []string{"sh", "-c", code}, append(os.Environ(), variable), "/",
		[]*os.File{write, write, write}, Options{Place: p})
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(read)
	if err != nil {
		t.Fatal(err)
	}
	<-child.Ended
	if code, signal := child.Exit(); code != 0 {
		t.Errorf("exit %d %s", code, signal)
	}
	return string(text)
}

// What is mounted is seen by all processes of the place and by nobody else; what they write into an overlay changes the
// folder below it no more than what is read-only.
func TestPlace(t *testing.T) {
	p := testPlace(t)
	dir := filepath.Join(t.TempDir(), `a b,c:ü\d`)
	for _, name := range []string{"tree/deps", "checkout/deps", "upper", "objects", "seen"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"tree/file", "checkout/file", "checkout/deps/dep"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("of "+name+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	if _, err := p.Mount([]Mount{{From: at("objects"), To: at("seen"), ReadOnly: true},
		{From: at("checkout/deps"), To: at("tree/deps"), Upper: at("upper")},
		{From: at("tree"), To: at("checkout")}}); err != nil {
		t.Skip(err)
	}
	quoted := "cd '" + at("checkout") + "'; "
	got := inPlace(t, p, quoted+"cat file deps/dep; echo changed >file; echo new >deps/dep; "+
		"touch ../seen/x 2>/dev/null || echo held")
	if want := "of tree/file\nof checkout/deps/dep\nheld\n"; got != want {
		t.Errorf("a program of the place prints %q, want %q", got, want)
	}
	if got := inPlace(t, p, quoted+"cat file deps/dep"); got != "changed\nnew\n" {
		t.Errorf("another one prints %q", got)
	}
	for name, want := range map[string]string{"tree/file": "changed\n", "checkout/file": "of checkout/file\n",
		"checkout/deps/dep": "of checkout/deps/dep\n"} {
		if text, err := os.ReadFile(at(name)); err != nil || string(text) != want {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
	}
	if text, err := os.ReadFile(p.Outside(at("checkout/deps/dep"))); err != nil || string(text) != "new\n" {
		t.Errorf("from outside it is %q, %v", text, err)
	}
	if _, err := p.Mount([]Mount{{From: at("none"), To: at("checkout")}}); err == nil ||
		!strings.Contains(err.Error(), at("checkout")) {
		t.Errorf("a mount of nothing gives %v", err)
	}
	refused, err := p.Mount([]Mount{{From: at("none"), To: at("seen"), Optional: true},
		{From: at("tree"), To: at("objects")}})
	if err != nil || len(refused) != 1 || refused[at("seen")] == "" {
		t.Errorf("an optional mount of nothing gives %q, %v", refused, err)
	}
	if got := inPlace(t, p, "cat '"+at("objects/file")+"'"); got != "changed\n" {
		t.Errorf("the mount after it shows %q", got)
	}
}

// A program that is not there is told as without a place, and its place goes on.
func TestPlaceMissingProgram(t *testing.T) {
	p := testPlace(t)
	_, err := NewFamily(0, "x").Start("/none", []string{"none"}, nil, "/", nil, Options{Place: p})
	if e, ok := err.(*os.PathError); !ok || e.Err != syscall.ENOENT {
		t.Errorf("%#v", err)
	}
	if got := inPlace(t, p, "echo on"); got != "on\n" {
		t.Errorf("then it prints %q", got)
	}
}

// When the end of Markmill closes the socket, what the place started is killed, and its first process ends.
func TestPlaceLeft(t *testing.T) {
	p := testPlace(t)
	child, err := NewFamily(0, "x").Start("/bin/sleep", []string{"sleep", "300"}, nil, "/", nil, Options{Place: p})
	if err != nil {
		t.Fatal(err)
	}
	if info, ok := statOf(child.PID); !ok || info.parent != os.Getpid() {
		t.Errorf("its parent is %d, not this process", info.parent)
	}
	if same, err := os.Readlink("/proc/" + strconv.Itoa(child.PID) + "/ns/mnt"); err != nil {
		t.Error(err)
	} else if own, _ := os.Readlink("/proc/self/ns/mnt"); same == own {
		t.Error("it is in the namespace of this process")
	}
	p.Close()
	select {
	case <-child.Ended:
	case <-time.After(time.Minute):
		t.Fatal("the program lives")
	}
	if _, signal := child.Exit(); signal != "KILL" {
		t.Errorf("it ended by %q", signal)
	}
	if _, err := p.Mount(nil); err == nil {
		t.Error("a place that was left takes requests")
	}
}

// Environments are larger than what a socket holds.
func TestPlaceLargeRequest(t *testing.T) {
	p := testPlace(t)
	var env []string
	for i := range 15 {
		env = append(env, "V"+strconv.Itoa(i)+"="+strings.Repeat("x", 100_000))
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	child, err := NewFamily(0, "x").Start("/bin/sh", []string{"sh", "-c", "exit $((${#V14} / 10000))"}, env, "/",
		[]*os.File{null, null, null}, Options{Place: p})
	if err != nil {
		t.Fatal(err)
	}
	<-child.Ended
	if code, _ := child.Exit(); code != 10 {
		t.Errorf("exit %d", code)
	}
}

// What started a place in another user namespace has none of its rights in what it starts.
func TestPlaceGivesNoRights(t *testing.T) {
	p := testPlace(t)
	got := inPlace(t, p, "grep CapEff /proc/self/status")
	want, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		for line := range strings.Lines(string(want)) {
			if strings.HasPrefix(line, "CapEff") && line != got {
				t.Errorf("%q, and this process has %q", got, line)
			}
		}
	} else if strings.Trim(strings.TrimPrefix(got, "CapEff:"), "\t\n0") != "" {
		t.Errorf("it has %q", got)
	}
}
