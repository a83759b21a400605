package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Marks of runs differ, and those of a run's sessions differ and are the run's.
func TestMarks(t *testing.T) {
	a, b := NewMark(), NewMark()
	if a.run() == b.run() || a.run() != a || a == 0 || a > markMost {
		t.Fatalf("%x %x", a, b)
	}
	one, two := a.session(), a.session()
	if one == two || one.run() != a || two.run() != a {
		t.Errorf("%x has the sessions %x and %x", a, one, two)
	}
	if Mark(0).session() != 0 || Mark(0).word() != "" {
		t.Error("no mark has sessions")
	}
}

// A process whose environment is empty is known by its limit, and so are its children.
func TestTheMarkOfAProcessWithoutEnvironment(t *testing.T) {
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_LOCKS, &own); err != nil || own.Max != unix.RLIM_INFINITY {
		t.Skip("the limit of file locks is taken here: a run inside a run")
	}
	mark := NewMark()
	tag, variable := mark.Tag()
	family := NewFamily(mark, tag)
	file := filepath.Join(t.TempDir(), "pid")
	code := "read line; env -i setsid sh -c 'echo $$ >" + file + ".new; mv " + file + ".new " + file + "; exec sleep 300' & wait"
	env := append(os.Environ(), variable)
	stdin, marked, err := os.Pipe() // the mark is set right after the start
	if err != nil {
		t.Fatal(err)
	}
	child, err := family.Start("/bin/sh", []string{"sh", "-c", code}, env, "/", []*os.File{stdin, nil, nil}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	stdin.Close()
	marked.Close()
	if got := markOf(child.PID); got.run() != mark {
		t.Fatalf("the interpreter has the mark %x, not %x", got, mark)
	}
	var text []byte
	eventually(t, func() bool { text, err = os.ReadFile(file); return err == nil })
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if has, _ := hasTag(pid, []byte(mark.word())); has || !mark.owns(pid, []byte(mark.word())) {
		t.Errorf("tag %v, mark %x of %x", has, markOf(pid), mark)
	}
	if NewMark().owns(pid, []byte("0123456789abcdef")) {
		t.Error("it is of another run, too")
	}
	child.KillGroup()
	<-child.Ended
	family.ForgetPID()
	if n := family.End(time.Second); n == 0 || !ended(pid) {
		t.Errorf("%d processes were ended, and not %d", n, pid)
	}
}

// endAll ends processes that start others as fast as they can, and none of another run.
func TestEndAll(t *testing.T) {
	mark, other := NewMark(), NewMark()
	begin := func(m Mark, code string) *exec.Cmd {
		cmd := exec.Command("sh", "-c", code)
		cmd.Env = append(os.Environ(), "MARKMILL_SESSION="+m.word()+"-1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		m.put(cmd.Process.Pid)
		return cmd
	}
	breeder := begin(mark, "while :; do sh -c 'setsid sleep 300 & setsid true' & wait $!; done")
	bystander := begin(other, "sleep 300 & wait")
	eventually(t, func() bool { return len(mark.found()) > 3 })
	mark.endAll(time.Minute)
	if left := mark.found(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	breeder.Wait()
	if len(other.found()) == 0 {
		t.Error("a process of another run was ended")
	}
	other.endAll(time.Minute)
	bystander.Wait()
	for _, pid := range childrenOfThread(os.Getpid(), os.Getpid()) { // they came here, if this process is a reaper by now
		if info, ok := statOf(pid); ok && info.over() {
			unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}

func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	for begin := time.Now(); !holds(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatal("it never came")
		}
	}
}

// A program that is not a warden is told as that, and one that has been killed is replaced.
func TestAWardenThatIsNone(t *testing.T) {
	for _, tc := range []struct{ program, want string }{{"/bin/true", "did not become"}, {"/nowhere", "no such file"}} {
		w, err := StartWarden(tc.program, "run", NewMark())
		if err == nil {
			<-w.ended
			err = w.Stand()
			w.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.program, err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w, err := StartWarden(self, "run", NewMark())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, greeted := range []bool{true, false} { // the second is killed before it can say that it is one
		first := w.proc.Pid
		if greeted {
			eventually(t, w.hello.Load)
		}
		w.proc.Kill()
		<-w.ended
		if err := w.Stand(); err != nil || w.proc.Pid == first {
			t.Errorf("%v, process %d after %d", err, w.proc.Pid, first)
		}
	}
	t.Setenv(wardenVariable, "1")
	if _, err := StartWarden(self, "run", NewMark()); err == nil {
		t.Error("a warden starts wardens")
	}
}

// A warden that may not open anything any more finds and ends what is left all the same.
func TestABlindedWarden(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mark := NewMark()
	w, err := StartWarden(self, "run", mark)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	eventually(t, w.hello.Load)
	cmd := exec.Command("setsid", "sh", "-c", "read line; env -i sleep 300 & exec sleep 300")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	marked, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	mark.put(cmd.Process.Pid)
	marked.Close()
	eventually(t, func() bool { return len(mark.found()) == 2 })
	if err := unix.Prlimit(w.proc.Pid, unix.RLIMIT_NOFILE, &unix.Rlimit{}, nil); err != nil {
		t.Fatal(err)
	}
	w.line.Close() // as the system does when Markmill is gone
	cmd.Wait()
	<-w.ended
	if left := mark.found(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
