package process

import (
	"os"
	"syscall"
	"testing"
)

// The thread that a sandbox takes rights from is never the main one, from wherever a session is started.
func TestConfineIsNeverOnTheMainThread(t *testing.T) {
	onMain := 0
	for range 200 {
		tid := make(chan int, 1)
		done := make(chan bool)
		go func() {
			onMain0 := isMainThread()
			onThread(func() { tid <- syscall.Gettid() }, false)
			done <- onMain0
		}()
		if <-done {
			onMain++
		}
		if got := <-tid; got == os.Getpid() {
			t.Fatal("it ran on the main thread")
		}
	}
	// The main thread itself: TestMain keeps it free, so that goroutines come to run on it.
	t.Logf("%d of 200 came from the main thread", onMain)
}
