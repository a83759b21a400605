package cmdtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// traced runs the run with each of its writes asked of at, and returns them as they came.
func (r *trial) traced(at func(n int, c call) verdict) []call {
	r.Helper()
	calls, exit := r.trace(r.args(), at)
	r.exit = exit
	return calls
}

// trace does that with any command. The exit status is -1 when a signal ended it.
func (r *trial) trace(args []string, at func(n int, c call) verdict) (calls []call, exit int) {
	r.Helper()
	t := tracer{under: filepath.Join(r.dir, "run"), at: func(c call) verdict {
		calls = append(calls, c)
		return at(len(calls), c)
	}}
	status, err := t.run(r.bed.program, args, os.ProcAttr{Dir: r.repo, Env: r.env, Files: r.files()})
	if errors.Is(err, errNoTrace) {
		r.Skip(err)
	}
	if err != nil {
		r.Fatal(err)
	}
	return calls, status.ExitStatus()
}

// some are n of the numbers from 1 to all, spread and in order; more than there are is each of them.
func someOf(random *rand.Rand, n, all int) []int {
	var out []int
	for i := range min(n, all) {
		from, to := i*all/min(n, all), (i+1)*all/min(n, all)
		out = append(out, from+1+random.IntN(to-from))
	}
	return out
}

// ownWrites has what writesOf gave, by its output.
var ownWrites struct {
	sync.Mutex
	writes map[string][]call
}

// writesOf are the writes of a run that nothing happens to. They are counted once.
func (b *crashBed) writesOf(t *testing.T, output string) []call {
	t.Helper()
	ownWrites.Lock()
	defer ownWrites.Unlock()
	if calls := ownWrites.writes[output]; calls != nil {
		return calls
	}
	r := b.trial(t).to(output)
	r.branch = true
	calls := r.traced(func(int, call) verdict { return makeIt })
	if r.judge(); r.exit != 0 {
		words, _ := os.ReadFile(r.errs)
		t.Fatalf("the run itself exits %d: %s", r.exit, words)
	}
	if ownWrites.writes == nil {
		ownWrites.writes = map[string][]call{}
	}
	ownWrites.writes[output] = calls
	return calls
}

// TestKillsAtWrites kills runs right before a write: before each one, when MARKMILL_KILLS is as large.
func TestKillsAtWrites(t *testing.T) {
	t.Parallel()
	b := newCrashBed(t)
	random := seed(t)
	const more = 5 // a run may make some more than the one that was counted
	type plan struct {
		output        string
		point, second int // second: where runs maintain reconcile is killed as well, which makes about as many writes
	}
	var plans []plan
	for _, output := range outputs {
		for _, point := range someOf(random, number(t, "MARKMILL_KILLS", 2)/len(outputs),
			len(b.writesOf(t, output))+more) {
			plans = append(plans, plan{output, point, 1 + random.IntN(40)})
		}
	}
	survive(t, "kills at a write", len(plans), func(i int) string {
		return fmt.Sprintf("%s-%d", plans[i].output,
			plans[i].point)
	}, func(t *testing.T, i int) {
		p := plans[i]
		r := b.trial(t).to(p.output)
		r.branch = true
		if i%3 == 0 {
			r.between = func(string) {
				r.trace([]string{"runs", "maintain", "reconcile"}, func(n int, _ call) verdict {
					if n == p.second {
						return killIt
					}
					return makeIt
				})
			}
		}
		last := ""
		r.traced(func(n int, c call) verdict {
			if n == p.point {
				last = c.String()
				return killIt
			}
			return makeIt
		})
		if r.judge(); t.Failed() {
			t.Logf("killed before %s", last)
		}
	})
}

// fault is a way in which writes fail.
type fault struct {
	name string
	// hits says which calls it can happen to.
	hits func(call) bool
	// at is asked at every write from the chosen one on; so many it has asked before.
	at func(c call, since int, first call) verdict
}

// once fails the chosen write alone.
func once(errno unix.Errno) func(call, int, call) verdict {
	return func(_ call, since int, _ call) verdict {
		if since == 0 {
			return verdict(errno)
		}
		return makeIt
	}
}

var faults = []fault{
	{"EIO", func(c call) bool { return c.name != "close" && c.name != "unlink" }, once(unix.EIO)},
	{"EACCES", func(c call) bool { return !slices.Contains([]string{"write", "fsync", "close", "unlink"}, c.name) },
		once(unix.EACCES)},
	// A write takes half of its bytes, and the next one to the same file none.
	{"short", func(c call) bool { return c.name == "write" }, func(c call, since int, first call) verdict {
		switch {
		case since == 0:
			return halve
		case c == first:
			return verdict(unix.ENOSPC)
		}
		return makeIt
	}},
	// The disk is full, until a file that has no name is closed.
	{"full", call.grows, nil},
}

// full is a disk that has no room from the chosen write on, until the run gives up what it holds in reserve.
func full() func(call, int, call) verdict {
	room := false
	return func(c call, _ int, _ call) verdict {
		room = room || c.name == "close"
		if c.grows() && !room {
			return verdict(unix.ENOSPC)
		}
		return makeIt
	}
}

// TestFailedWrites makes the writes of a run fail, one in each run, in each of several ways. MARKMILL_FAULTS
// says how many in each way; more than a run has writes is all of them. Without it, each way is tried with one OUTPUT.
func TestFailedWrites(t *testing.T) {
	t.Parallel()
	b := newCrashBed(t)
	random := seed(t)
	type plan struct {
		fault
		output string
		point  int
	}
	var plans []plan
	for i, output := range outputs {
		calls := b.writesOf(t, output)
		for j, f := range faults {
			if os.Getenv("MARKMILL_FAULTS") == "" && j%len(outputs) != i {
				continue
			}
			// which of the calls that it can happen to; the run that it happens to may have one or two more
			var hit []int
			for _, c := range calls {
				if f.hits(c) {
					hit = append(hit, len(hit)+1)
				}
			}
			for _, n := range someOf(random, (number(t, "MARKMILL_FAULTS", 1)+1)/len(outputs), len(hit)) {
				plans = append(plans, plan{f, output, n})
			}
		}
	}
	survive(t, "failed writes", len(plans), func(i int) string {
		return fmt.Sprintf("%s-%s-%d", plans[i].output,
			plans[i].name, plans[i].point)
	}, func(t *testing.T, i int) {
		r := b.trial(t).to(plans[i].output)
		r.branch = true
		at := plans[i].at
		if at == nil {
			at = full()
		}
		var first call
		hits, since := 0, 0
		r.traced(func(_ int, c call) verdict {
			if first.name == "" {
				if plans[i].hits(c) {
					hits++
				}
				if hits < plans[i].point {
					return makeIt
				}
				first = c
			} else {
				since++
			}
			return at(c, since, first)
		})
		if first.name == "" {
			t.Log("the run made fewer writes than the one that was counted")
		}
		if r.judge(); t.Failed() {
			words, _ := os.ReadFile(r.errs)
			t.Logf("failed: %s, exit %d: %s", first, r.exit, words)
		}
	})
}
