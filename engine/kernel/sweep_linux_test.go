package kernel

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startAndWait is the test binary's helper mode for the test below: it starts interpreters, prints their ids, keeps
// them busy, and waits to be killed.
func startAndWait() {
	ready := make(chan struct{})
	for name, code := range map[string]string{"bash": "echo ready; while :; do :; done",
		"python": "print('ready')\nwhile True: pass"} {
		k, _ := Lookup(name)
		private, err := os.MkdirTemp(os.Getenv("KERNEL_TEST_HELPER"), "")
		if err != nil {
			panic(err)
		}
		s, err := k.Start(context.Background(), Options{Dir: private, Private: private, Env: os.Environ()})
		if err != nil {
			panic(err)
		}
		fmt.Println(s.Info().PID)
		stdout := &trigger{do: func() { ready <- struct{}{} }}
		go s.Run(context.Background(), Request{Code: []byte(code), Stdout: stdout, Stderr: os.Stderr})
		<-ready
	}
	fmt.Println("ready")
	select {}
}

// A Markmill that is killed leaves no interpreter behind.
func TestAKilledEngineLeavesNoInterpreter(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	helper := exec.Command(self)
	helper.Env = append(os.Environ(), "KERNEL_TEST_HELPER="+t.TempDir())
	out, err := helper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "ready" {
		pid, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	if len(pids) != 2 {
		t.Fatal("the helper did not start two interpreters")
	}
	helper.Process.Signal(syscall.SIGKILL)
	helper.Wait()
	for _, pid := range pids {
		for begin := time.Now(); running(strconv.Itoa(pid)); time.Sleep(time.Millisecond) {
			if time.Since(begin) > time.Minute {
				t.Fatal("an interpreter outlived the engine")
			}
		}
		syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // it came to this process, if that is a reaper by now
	}
}

// A step's orphans are reaped and do not become the engine's zombies.
func TestOrphansAreReaped(t *testing.T) {
	children := func() []string {
		list, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
		if err != nil {
			t.Skip(err)
		}
		return strings.Fields(string(list))
	}
	others := children() // of earlier tests
	bash, _ := Lookup("bash")
	h := start(t, bash)
	for range 3 {
		h.run("(setsid sleep 300 &); (sleep 300 &); (setsid true &); sh -c 'setsid true & setsid true &'")
	}
	// Processes that end late are reaped when a later step ends.
	for begin := time.Now(); ; {
		h.run("")
		zombies := slices.DeleteFunc(children(), func(pid string) bool {
			return running(pid) ||
				slices.Contains(others, pid)
		})
		if len(zombies) == 0 {
			return
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("processes %v are zombies", zombies)
		}
	}
}
