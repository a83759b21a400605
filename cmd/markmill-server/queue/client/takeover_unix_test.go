//go:build unix

package client

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"markmill/cmd/internal/schedules"
	"markmill/engine"
	"markmill/engine/queue"
	"markmill/engine/queue/jetstream"
	"markmill/engine/schedule"
	"markmill/engine/worktree"
	"markmill/engine/worktree/gittest"
)

// schedulerVariable has the test program be a scheduler: the folder of the queue, that of the repository, and when the
// clock began, with commas.
const schedulerVariable = "MARKMILL_TEST_SCHEDULER"

const (
	shortLead = time.Second
	speed     = 60 // of the clock: a second is a minute
	looks     = 100 * time.Millisecond
)

// firstMinute is what the clock showed when it began.
var firstMinute = time.Date(2026, 11, 20, 6, 0, 30, 0, time.UTC)

// TestMain is a scheduler where a test has started it as one.
func TestMain(m *testing.M) {
	words := strings.Split(os.Getenv(schedulerVariable), ",")
	if len(words) < 3 {
		gittest.Main(m)
		return
	}
	began, err := strconv.ParseInt(words[2], 10, 64)
	if err == nil {
		err = scheduleFast(words[0], words[1], time.Unix(0, began))
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func fast(began time.Time) time.Time { return firstMinute.Add(time.Since(began) * speed) }

// scheduleFast is a scheduler with a clock that is fast and a lead that is short.
func scheduleFast(dir, root string, began time.Time) error {
	ctx := context.Background()
	c := &Client{Connection: queue.Connection{Root: root, Store: filepath.Join(root, ".markmill")},
		stdout: io.Discard, stderr: os.Stdout}
	var err error
	if c.Queue, err = jetstream.Connect(ctx, jetstream.Options{Dir: dir}); err != nil {
		return err
	}
	s, err := c.newScheduler(ctx, "default", shortLead)
	if err != nil {
		return err
	}
	s.now = func() time.Time { return fast(began) }
	s.submit = func(ctx context.Context, n *schedules.Notebook, r *schedule.Run) error {
		_, _, err := s.Queue.Submit(ctx, &queue.Spec{ID: r.ID, Queue: "default", Priority: queue.Normal,
			By: strconv.Itoa(os.Getpid()), Request: engine.Request{Path: n.Path}}, time.Now())
		return err
	}
	return s.run(ctx, looks)
}

// TestTakeover: of two schedulers on two checkouts, processes of their own, the one that has the lead is killed, and
// stopped and continued, again and again, while something is due every minute. The other one takes over when the time
// of the lead is over, and each window is submitted, once.
func TestTakeover(t *testing.T) {
	t.Parallel()
	g := gittest.New(t)
	g.Configure("[remote \"origin\"]\n\turl = https://forge.example/a.git\n")
	g.Write("n.md", "---\nschedule: {cron: \"* * * * *\", timezone: UTC, overlap: queue}\n---\n\n"+
		"```bash {#one}\ntrue\n```\n")
	g.Commit("begin")
	clone := filepath.Join(t.TempDir(), "clone")
	g.Git("clone", "-q", g.Dir, clone)
	gittest.GitIn(t, clone, os.Environ(), "remote", "set-url", "origin", "https://forge.example/a.git")
	dir := t.TempDir()
	q, err := jetstream.Connect(t.Context(), jetstream.Options{Dir: dir}) // this process has the server
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	states, err := q.Schedules(t.Context(), "t", 1, shortLead)
	if err != nil {
		t.Fatal(err)
	}
	src, err := worktree.Open(g.Dir)
	if err != nil {
		t.Fatal(err)
	}
	key, began := schedules.Key(schedules.Scope(src), "n.md"), time.Now()
	start := func(root string) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s,%s,%d", schedulerVariable, dir, root, began.UnixNano()))
		cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()         // by the signal
		})
		return cmd
	}
	roots := []string{g.Dir, clone}
	both := []*exec.Cmd{start(roots[0]), start(roots[1])}
	submitted := func(minute int) *queue.History {
		due := firstMinute.Truncate(time.Minute).Add(time.Duration(minute) * time.Minute)
		h, err := q.Find(t.Context(), jobOf(key, due))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	// next waits for the next window, and returns which of the processes has submitted it.
	last := 0
	next := func() int {
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			if h := submitted(last + 1); h != nil {
				last++
				// it must hold no later one
				if _, err := q.Cancel(t.Context(), h.ID, "t", "ended", time.Now()); err != nil {
					t.Fatal(err)
				}
				for i, cmd := range both {
					if h.Spec().By == strconv.Itoa(cmd.Process.Pid) {
						return i
					}
				}
				return -1 // one that was killed
			}
			if time.Now().After(deadline) {
				t.Fatalf("nobody submits minute %d, and it is %s", last+1, fast(began))
			}
		}
	}
	for submitted(1) == nil { // who has come first may have begun later than that minute
		if state, err := states.Load(t.Context(), key); err != nil {
			t.Fatal(err)
		} else if !state.Seen.IsZero() {
			last = int(state.Seen.Sub(firstMinute.Truncate(time.Minute)).Minutes())
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	first := last + 1
	rounds := 2
	if os.Getenv("MARKMILL_ALL") != "" {
		rounds = 10
	}
	for round := range rounds {
		leads := next()
		for leads < 0 {
			leads = next()
		}
		killed := round%2 == 0
		if killed {
			if err := both[leads].Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = both[leads].Wait() // by the signal
		} else if err := both[leads].Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		for next() != 1-leads {
			if last > first+100 {
				t.Fatalf("round %d: the other one does not take over", round)
			}
		}
		if killed {
			both[leads] = start(roots[leads])
		} else if err := both[leads].Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		for range 3 { // the one that comes back takes nothing from the other
			if got := next(); got != 1-leads {
				t.Errorf("round %d: %d submits minute %d, and %d has the lead", round, got, last, 1-leads)
			}
		}
	}
	for minute := first; minute <= last; minute++ {
		h := submitted(minute)
		if h == nil {
			t.Errorf("minute %d is lost", minute)
			continue
		}
		times := 0
		for _, e := range h.Entries {
			if e.Kind == queue.Enqueued {
				times++
			}
		}
		if times != 1 {
			t.Errorf("minute %d is submitted %d times", minute, times)
		}
	}
	t.Logf("%d windows, from minute %d", last-first+1, first)
}
