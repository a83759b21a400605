package runs

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// holdLock names the variable that makes the test binary a process that holds a run's lock.
const holdLock = "MARKMILL_TEST_HOLD_LOCK"

func holdLockUntilKilled(dir string) {
	if _, err := Lock(dir); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("locked")
	_, _ = bufio.NewReader(os.Stdin).ReadByte() // of a pipe that nobody writes to
	os.Exit(1)
}

// lockElsewhere has another process lock dir; kill ends it as a crash would.
func lockElsewhere(t *testing.T, dir string) (kill func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command(self)
	other.Env = append(os.Environ(), holdLock+"="+dir)
	if _, err := other.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	})
	t.Cleanup(kill)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	return kill
}

// A folder that was moved away while it was locked, and made anew: the lock of the new one is not the old one's to
// take.
func TestLockOfAMovedFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	made := func() func() {
		t.Helper()
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		release, err := Lock(dir)
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	old := made()
	if err := os.Rename(dir, dir+"-gone"); err != nil {
		t.Fatal(err)
	}
	defer made()()
	old()
	if _, err := Lock(dir); !errors.Is(err, ErrLive) {
		t.Errorf("the new folder is not locked any more: %v", err)
	}
}

// A run whose record is complete is about to end, and is waited for; one that goes on is not.
func TestWorking(t *testing.T) {
	dir := t.TempDir()
	release, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	journal := filepath.Join(dir, JournalFile)
	if err := os.WriteFile(journal, []byte(`{"type":"step.finished"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !Working(dir) {
		t.Error("a run that goes on is said to have ended")
	}
	if err := os.WriteFile(journal, []byte(`{"type":"run.completed"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		time.Sleep(50 * time.Millisecond)
		release()
	}()
	if Working(dir) {
		t.Error("a run that is about to end was not waited for")
	}
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	if Alive(dir) {
		t.Error("alive before it is locked")
	}
	release, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(dir); !errors.Is(err, ErrLive) {
		t.Errorf("locked twice: %v", err)
	}
	if !Alive(dir) {
		t.Error("not alive while it is locked")
	}
	release()
	if Alive(dir) {
		t.Error("alive after its release")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	again, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestLockOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	kill := lockElsewhere(t, dir)
	if _, err := Lock(dir); !errors.Is(err, ErrLive) || !Alive(dir) {
		t.Errorf("got %v, alive %v", err, Alive(dir))
	}
	kill()
	if _, err := os.Stat(filepath.Join(dir, LockFile)); err != nil {
		t.Errorf("a crash removed the file: %v", err)
	}
	if Alive(dir) {
		t.Error("alive after it was killed")
	}
}

// TestLockOfARemovedFile: a file that was opened before its holder removed it is not taken for the lock.
func TestLockOfARemovedFile(t *testing.T) {
	dir := t.TempDir()
	release, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, LockFile)
	late, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	release()
	if _, err := os.Stat(path); err == nil {
		t.Skip("this system removes no file that is open")
	}
	if held, err := acquire(late, path); held || err != nil {
		t.Errorf("held %v, %v", held, err)
	}
}

// TestLockHasOneHolder: of many that lock and release one run, none ever meets another inside.
func TestLockHasOneHolder(t *testing.T) {
	dir := t.TempDir()
	var inside atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				release, err := Lock(dir)
				if errors.Is(err, ErrLive) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two hold the lock")
				}
				inside.Add(-1)
				release()
			}
		})
	}
	wg.Wait()
}

// TestLockWhileOthersLook: whoever looks whether a run is alive keeps nobody from taking it.
func TestLockWhileOthersLook(t *testing.T) {
	dir := t.TempDir()
	release, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	stop, looked := make(chan struct{}), make(chan struct{})
	for range 4 {
		go func() {
			for {
				select {
				case <-stop:
					looked <- struct{}{}
					return
				default:
					Alive(dir)
				}
			}
		}()
	}
	for range 2000 {
		release()
		if err := os.WriteFile(filepath.Join(dir, LockFile), nil, 0o644); err != nil { // as a killed run leaves it
			t.Fatal(err)
		}
		if release, err = Lock(dir); err != nil {
			t.Errorf("nobody but those who look holds it: %v", err)
			break
		}
	}
	close(stop)
	for range 4 {
		<-looked
	}
	if !Alive(dir) {
		t.Error("a run that is locked is not alive")
	}
	release()
}
