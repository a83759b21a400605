package runs

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// holdLockWithChild names the variable that makes the test binary a process whose child has its lock, too.
const holdLockWithChild = "MARKMILL_TEST_HOLD_LOCK_WITH_CHILD"

// lockAndHandOn locks dir and starts a program that keeps the lock's descriptor until its standard input ends.
func lockAndHandOn(dir string) {
	if _, err := Lock(dir); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fds, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range fds {
		if at, _ := os.Readlink("/proc/self/fd/" + fd.Name()); at == filepath.Join(dir, LockFile) {
			var n uintptr
			fmt.Sscan(fd.Name(), &n)
			child := exec.Command("cat")
			child.Stdin, child.ExtraFiles = os.Stdin, []*os.File{os.NewFile(n, at)}
			if err := child.Start(); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			fmt.Println("locked")
			_ = child.Wait()
		}
	}
	os.Exit(1)
}

// TestLockOfAProcessThatIsGone: a process that was killed while it made a child leaves its lock with the child for a
// moment. That is not the run any more, and is waited for.
func TestLockOfAProcessThatIsGone(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the child finds the lock's descriptor in /proc")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command(self)
	other.Env = append(os.Environ(), holdLockWithChild+"="+dir)
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	if !Alive(dir) {
		t.Error("not alive while its process is there")
	}
	_ = other.Process.Kill()
	_, _ = other.Process.Wait()
	time.AfterFunc(20*time.Millisecond, func() { in.Close() }) // the child lets go
	release, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	release()
}
