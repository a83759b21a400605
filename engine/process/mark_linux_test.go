package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Marks of runs differ. The marks of a run's sessions differ and belong to the run.
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

// A process with an empty environment is recognized by its limit, and so are its children.
func TestTheMarkOfAProcessWithoutEnvironment(t *testing.T) {
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_LOCKS, &own); err != nil || own.Max != unix.RLIM_INFINITY {
		t.Skip("the limit of file locks is taken here: a run inside a run")
	}
	mark := NewMark()
	tag, variable := mark.Tag()
	family := NewFamily(mark, tag)
	file := filepath.Join(t.TempDir(), "pid")
	code := "read line; env -i setsid sh -c 'echo $$ >" + file + ".new; mv " + file + ".new " + file +
		"; exec sleep 300' & wait"
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

func found(m Mark) []int {
	look := openProcesses()
	defer unix.Close(look.fd)
	return m.found(look)
}

// endAll ends processes that fork as fast as they can, and none of another run.
func TestEndAll(t *testing.T) {
	mark, other, look := NewMark(), NewMark(), openProcesses()
	defer unix.Close(look.fd)
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
	eventually(t, func() bool { return len(found(mark)) > 3 })
	mark.endAll(look, time.Minute)
	if left := found(mark); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	breeder.Wait()
	if len(found(other)) == 0 {
		t.Error("a process of another run was ended")
	}
	other.endAll(look, time.Minute)
	bystander.Wait()
	// they were reparented here if this process is a reaper by now
	for _, pid := range childrenOfThread(os.Getpid(), os.Getpid()) {
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

// A program that is not a warden is reported as such, and a killed warden is replaced.
func TestAWardenThatIsNone(t *testing.T) {
	for _, tc := range []struct{ program, want string }{{"/bin/true", "did not become"}, {"/nowhere", "no such file"}} {
		w := NewWarden(tc.program, "run")
		err := w.Guard(NewMark())
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
	w := NewWarden(self, "run")
	if err := w.Guard(NewMark()); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	running := func() (*os.Process, *atomic.Bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.proc, w.hello
	}
	for _, greeted := range []bool{true, false} { // the second is killed before it can greet
		first, hello := running()
		if greeted {
			eventually(t, hello.Load)
		}
		first.Kill()
		eventually(t, func() bool { now, _ := running(); return now.Pid != first.Pid })
		if err := w.Stand(); err != nil {
			t.Error(err)
		}
	}
	t.Setenv(wardenVariable, "1")
	if err := NewWarden(self, "run").Guard(NewMark()); err == nil {
		t.Error("a warden starts wardens")
	}
}

// A warden that can no longer open files still finds and ends the remaining processes, scan after scan.
func TestABlindedWarden(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	line, theirs := os.NewFile(uintptr(ends[0]), "line"), os.NewFile(uintptr(ends[1]), "theirs")
	mark := NewMark()
	warden := exec.Command(self)
	warden.Args, warden.Env, warden.Stdin = []string{WardenName, "run", mark.word()}, []string{wardenVariable + "=1"},
		theirs
	err = warden.Start()
	theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := line.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
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
	eventually(t, func() bool { return len(found(mark)) == 2 })
	if err := unix.Prlimit(warden.Process.Pid, unix.RLIMIT_NOFILE, &unix.Rlimit{}, nil); err != nil {
		t.Fatal(err)
	}
	line.Close() // as the system does when Markmill is gone
	cmd.Wait()
	if err := warden.Wait(); err != nil {
		t.Errorf("the warden failed: %v", err)
	}
	// A killed process loses its program, by which the warden knows it, a moment before it is a zombie.
	eventually(t, func() bool { return len(found(mark)) == 0 })
}

// A warden of several runs ends the processes of those that are guarded when Markmill goes, also after it was killed
// itself or was stopped, and none of a run that was released.
func TestAWardenOfSeveralRuns(t *testing.T) {
	whole := patience
	t.Cleanup(func() { patience = whole })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		hurt func(w *Warden)
	}{
		{"alive", func(*Warden) {}},
		{"killed", func(w *Warden) { w.proc.Kill(); <-w.ended }},
		{"stopped", func(w *Warden) {
			patience = 300 * time.Millisecond
			w.proc.Signal(unix.SIGSTOP)
			filler := make([]byte, 17)
			for err := error(nil); err == nil; _, err = w.line.Write(filler) {
				w.line.SetWriteDeadline(time.Now().Add(time.Millisecond))
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := NewWarden(self, "runs")
			var marks []Mark
			var steps []*exec.Cmd
			add := func() {
				mark := NewMark()
				if err := w.Guard(mark); err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command("sleep", "300")
				cmd.Env = append(os.Environ(), "MARKMILL_SESSION="+mark.word()+"-1")
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
				marks, steps = append(marks, mark), append(steps, cmd)
			}
			for range 3 {
				add()
			}
			if err := w.Release(marks[1]); err != nil {
				t.Fatal(err)
			}
			w.mu.Lock()
			tc.hurt(w)
			w.mu.Unlock()
			add()
			w.mu.Lock()
			end, ended := w.line, w.ended
			w.mu.Unlock()
			end.Close() // as the system does when Markmill is gone
			<-ended
			for i, cmd := range steps {
				if i != 1 {
					cmd.Wait()
				} else if len(found(marks[i])) == 0 {
					t.Error("a process of a run that was released was ended")
				}
			}
		})
	}
}
