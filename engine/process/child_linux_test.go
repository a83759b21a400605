package process

import (
	"os"
	"syscall"
	"testing"
)

// A sandbox never takes rights from the main thread, wherever a session starts.
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
	// TestMain keeps the main thread free, so goroutines run on it too.
	t.Logf("%d of 200 came from the main thread", onMain)
}
