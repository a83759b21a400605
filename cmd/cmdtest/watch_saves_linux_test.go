//go:build linux

package cmdtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"markmill/cmd/api"
	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/views"
	"markmill/cmd/internal/watch"
	"markmill/engine"
	"markmill/engine/worktree/gittest"
	"markmill/runs"
)

// watchCeiling bounds every wait: it is reached only when something hangs.
const watchCeiling = time.Minute

// session is a watched notebook of two steps: test fails unless lib/size is below 20. It waits for lib/gate first if
// that says so.
type session struct {
	*gittest.Repository
	states chan watch.State
	ended  chan error
	stop   context.CancelCauseFunc
}

const steps = "```sh {#prepare}\necho ready\n```\n\n```sh {#test .test}\n" +
	"if grep -q shut lib/gate; then sleep 600; fi\ntest $(cat lib/size) -lt 20\n```\n"

func beginWatch(t *testing.T) *session {
	s := &session{Repository: gittest.New(t), states: make(chan watch.State, 100), ended: make(chan error, 1)}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	s.put("task.md", steps)
	s.put("lib/size", "1\n")
	s.put("lib/gate", "open\n")
	s.put(".gitignore", "*.log\n")
	for i := range 100 {
		s.put(fmt.Sprintf("many/%d", i), "x\n")
	}
	s.commit("base")
	ctx, stop := context.WithCancelCause(t.Context())
	s.stop = stop
	eng, src, err := engines.New(s.Dir)
	gittest.Must(t, err)
	eng.Source, eng.Beside = src, func(name string) bool { return watch.Temporary(filepath.Base(name)) }
	apart := []string{eng.Cache, engine.ApartFolder(eng.Cache, eng.Getenv)}
	go func() {
		s.ended <- watch.Notebook(ctx, watch.Options{Notebook: filepath.Join(s.Dir, "task.md"), User: "ann",
			Source: src,
			Tell:   func(state watch.State) { s.states <- state },
			Own: func(file string) bool {
				return slices.ContainsFunc(apart, func(dir string) bool { return strings.HasPrefix(file, dir+"/") })
			},
			Run: func(ctx context.Context, b watch.Beginning) (*engine.Result, error) {
				source, err := os.ReadFile(filepath.Join(s.Dir, "task.md"))
				if err != nil {
					return nil, err
				}
				plan, _, err := watch.Plan(ctx, eng, engine.Request{Path: filepath.Join(s.Dir, "task.md"),
					Source: source, Repository: src.Root(), Dirty: engine.DirtyInclude}, b)
				if err != nil {
					return nil, err
				}
				return eng.Run(ctx, plan, engine.Sinks{Views: views.Views()})
			}})
	}()
	t.Cleanup(func() {
		stop(nil)
		for range s.ended {
			break
		}
	})
	if got := s.next(); got.Result.Run.Status() != runs.Pass {
		t.Fatalf("the first run: %s", got.Result.Run.Status())
	}
	return s
}

func (s *session) commit(message string) {
	s.Git("add", ".")
	s.Git("commit", "-q", "-m", message)
}

// put writes a file in place.
func (s *session) put(name, text string) {
	s.Helper()
	file := filepath.Join(s.Dir, name)
	gittest.Must(s, os.MkdirAll(filepath.Dir(file), 0o755))
	gittest.Must(s, os.WriteFile(file, []byte(text), 0o644))
}

func (s *session) move(from, to string) {
	s.Helper()
	gittest.Must(s, os.Rename(filepath.Join(s.Dir, from), filepath.Join(s.Dir, to)))
}

func (s *session) remove(name string) {
	s.Helper()
	gittest.Must(s, os.Remove(filepath.Join(s.Dir, name)))
}

// state is the next state.
func (s *session) state() watch.State {
	s.Helper()
	select {
	case state := <-s.states:
		return state
	case err := <-s.ended:
		s.Fatal("it ended: ", err)
	case <-time.After(watchCeiling):
		s.Fatal("nothing happened")
	}
	panic("unreachable")
}

// next is the next run that came to its end by itself. Of one save a slow machine may make two.
func (s *session) next() watch.State {
	s.Helper()
	for {
		if state := s.state(); state.Ended && !state.Cut {
			if state.Err != nil {
				s.Fatal(state.Err)
			}
			return state
		}
	}
}

// Every way in which editors save is noticed, and the run that follows sees what was saved.
func TestSaves(t *testing.T) {
	s := beginWatch(t)
	size := func(n int) string { return fmt.Sprintln(n) }
	for i, save := range []struct {
		how string
		do  func(text string)
	}{
		{"in place", func(text string) { s.put("lib/size", text) }},
		{"a temporary file, which does not count, renamed over it", func(text string) {
			s.put("lib/.goutputstream-1", text)
			s.move("lib/.goutputstream-1", "lib/size")
		}},
		{"deleted and created", func(text string) {
			s.remove("lib/size")
			s.put("lib/size", text)
		}},
		{"as vim does: a test file, a backup, a new file", func(text string) {
			s.put("lib/.size.swp", "swap")
			s.put("lib/4913", "")
			s.remove("lib/4913")
			s.move("lib/size", "lib/size~")
			s.put("lib/size", text)
			s.remove("lib/size~")
			s.remove("lib/.size.swp")
		}},
		{"as emacs does: a lock, a backup that stays", func(text string) {
			gittest.Must(t, os.Symlink("ann@host.1:1", filepath.Join(s.Dir, "lib/.#size")))
			s.move("lib/size", "lib/size~")
			s.put("lib/size", text)
			s.remove("lib/.#size")
		}},
		{"its folder renamed away, and another one in its place", func(text string) {
			s.put("new/size", text)
			s.put("new/gate", "open\n")
			s.move("lib", "old")
			s.move("new", "lib")
		}},
		{"in the folder that came", func(text string) { s.put("lib/size", text) }},
		{"git checkout of many files", func(text string) {
			s.Git("checkout", "-q", "--", ".")
			s.Git("checkout", "-q", "-b", "other"+strings.TrimSpace(text))
			for i := range 100 {
				s.put(fmt.Sprintf("many/%d", i), text)
			}
			s.put("lib/size", text)
			s.commit("many")
			s.Git("checkout", "-q", "main")
			s.Git("checkout", "-q", "other"+strings.TrimSpace(text))
		}},
	} {
		want, n := runs.Pass, 2+i
		if i%2 == 0 {
			want, n = runs.Fail, 30+i
		}
		t.Log(save.how)
		save.do(size(n))
		for { // the files of a checkout may come in two runs
			if got := s.next(); got.Result.Run.Status() == want {
				break
			} else if i < 7 {
				t.Errorf("%s: %s, want %s (%q)", save.how, got.Result.Run.Status(), want, got.Saved)
				break
			}
		}
	}
}

// A save that no step has read, that Git ignores, or that changes nothing begins no run. The next one begins at the
// step that read the file, and carries the others.
func TestOnlyInputs(t *testing.T) {
	s := beginWatch(t)
	s.put("many/1", "another text\n")
	s.put("noise.log", "ignored\n")
	s.put("lib/size", "1\n")
	s.put("lib/size~", "0\n")
	s.put("lib/size", "2\n")
	state := s.state()
	if state.Ended || state.At != "test" || state.From == nil || slices.Contains(state.Saved, "lib/size~") {
		t.Errorf("%+v", state)
	}
	state = s.state()
	if state.Cut || state.Result == nil || len(state.Result.Run.Carried()) != 1 {
		t.Fatalf("%+v", state)
	}
	v, err := api.Verify(state.Result.Dir)
	if err != nil || !v.OK() {
		t.Error(err, v.Findings)
	}
	s.put("many/2", "another text\n")
	s.put("task.md", strings.Replace(steps, "ready", "READY", 1))
	if state = s.next(); len(state.Result.Run.Carried()) != 0 || state.Result.Run.Status() != runs.Pass {
		t.Errorf("the first step was edited, and it is carried: %+v", state.Result.Run.Carried())
	}
	if n := s.records(); n != 3 {
		t.Errorf("%d runs, want 3", n)
	}
}

// A run that failed may have looked for a file that comes later, or comes back: no run sees what was not found.
func TestFileThatWasMissing(t *testing.T) {
	s := beginWatch(t)
	s.remove("lib/size")
	if got := s.next().Result.Run.Status(); got != runs.Fail {
		t.Fatal(got)
	}
	s.put("lib/new", "1\n")
	if got := s.next().Result.Run; got.Status() != runs.Fail || len(got.Carried()) != 1 {
		t.Errorf("%s, %v is carried", got.Status(), got.Carried())
	}
	s.put("lib/size", "1\n")
	if got := s.next().Result.Run; got.Status() != runs.Pass || len(got.Carried()) != 1 {
		t.Errorf("%s, %v is carried", got.Status(), got.Carried())
	}
}

// A long session makes forks of the last whole run, and no chain of them: the record of a fork has the journals of all
// runs before it.
func TestForks(t *testing.T) {
	s := beginWatch(t)
	for i := range 3 {
		s.put("lib/size", fmt.Sprintln(2+i))
		got := s.next().Result
		if from := got.Run.Started.ResumedFrom; from == nil {
			t.Error("it is no fork")
		} else if journals, err := filepath.Glob(filepath.Join(got.Dir, "resumed", "*.jsonl")); len(journals) != 1 ||
			err != nil {
			t.Errorf("a fork of %s, with %d journals", from.Run, len(journals))
		}
	}
	edited := strings.Replace(steps, "ready", "READY", 1)
	s.put("task.md", edited)
	if got := s.next().Result; len(got.Run.Carried()) > 0 {
		t.Errorf("%v is carried", got.Run.Carried())
	}
	for i := range 3 { // the last whole run is of this notebook now
		s.put("lib/size", fmt.Sprintln(5+i))
		got := s.next().Result
		if journals, err := filepath.Glob(filepath.Join(got.Dir, "resumed", "*.jsonl")); len(journals) != 1 ||
			err != nil {
			t.Errorf("%d journals", len(journals))
		}
	}
}

// records is how many runs are kept.
func (s *session) records() int {
	entries, err := os.ReadDir(filepath.Join(s.Dir, ".markmill", "runs"))
	gittest.Must(s, err)
	return len(entries)
}

// sleeping waits until the step test has begun in a run that goes on: it has read lib/gate, or is about to.
func (s *session) sleeping() {
	s.Helper()
	for until := time.Now().Add(watchCeiling); time.Now().Before(until); time.Sleep(time.Millisecond) {
		journals, err := filepath.Glob(filepath.Join(s.Dir, ".markmill", "runs", "*", "events.jsonl"))
		gittest.Must(s, err)
		for _, journal := range journals {
			text, err := os.ReadFile(journal)
			gittest.Must(s, err)
			if strings.Contains(string(text), `"dir":"steps/02-test"`) &&
				!strings.Contains(string(text), `"run.completed"`) {
				return
			}
		}
	}
	s.Fatal("the step did not begin")
}

// A save during a run ends it, with a whole record that says so, and the next run begins. The end of the context ends a
// run in the same way.
func TestSaveDuringRun(t *testing.T) {
	s := beginWatch(t)
	s.put("lib/gate", "shut\n")
	s.sleeping()
	s.put("lib/gate", "open\n")
	state := s.state()
	for !state.Ended || state.Result == nil { // nil: it was cut before it began
		state = s.state()
	}
	run := state.Result.Run
	if !state.Cut || run.Status() != runs.Interrupted || run.Completed.Aborted == nil ||
		run.Completed.Aborted.Actor != "ann" || !strings.Contains(run.Completed.Aborted.Reason, "lib/gate was saved") {
		t.Errorf("%s, %+v", run.Status(), run.Completed.Aborted)
	}
	if v, err := api.Verify(state.Result.Dir); err != nil || !v.OK() {
		t.Error(err, v.Findings)
	}
	if state = s.next(); state.Result.Run.Status() != runs.Pass || !slices.Contains(state.Saved, "lib/gate") {
		t.Errorf("%s, for %q", state.Result.Run.Status(), state.Saved)
	}
	s.put("lib/gate", "shut\n")
	for s.state().Ended {
	}
	s.stop(engine.Interrupt{Signal: 2})
	if state = s.state(); state.Result != nil && state.Result.Run.Completed.Signal != 2 {
		t.Errorf("%+v", state.Result.Run.Completed)
	}
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
	close(s.ended)
	if left, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "markmill", "work", "*")); len(left) > 0 ||
		err != nil {
		t.Errorf("%q is left, %v", left, err)
	}
}

// A notebook with a mistake does not end the watch.
func TestMistake(t *testing.T) {
	s := beginWatch(t)
	s.put("task.md", "```sh {#a}\n```\n\n```sh {#a}\n```\n")
	for {
		if state := s.state(); state.Ended {
			if state.Err == nil {
				t.Errorf("%+v", state)
			}
			break
		}
	}
	s.put("task.md", steps)
	if state := s.next(); state.Result.Run.Status() != runs.Pass {
		t.Error(state.Result.Run.Status())
	}
}

// The engine carries no step that has read what is another file now, whoever asks for the fork.
func TestForkOfOtherInputs(t *testing.T) {
	s := &session{Repository: gittest.New(t)}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	s.put("task.md", "```sh {#prepare}\ncat lib/size\n```\n\n```sh {#test .test}\ntrue\n```\n")
	s.put("lib/size", "1\n")
	s.put("lib/other", "1\n")
	s.commit("base")
	eng, src, err := engines.New(s.Dir)
	gittest.Must(t, err)
	source, err := os.ReadFile(filepath.Join(s.Dir, "task.md"))
	gittest.Must(t, err)
	run := func(b watch.Beginning) *engine.Result {
		plan, _, err := watch.Plan(t.Context(), eng, engine.Request{Path: "task.md", Source: source,
			Repository: src.Root(),
			Dirty:      engine.DirtyInclude}, b)
		gittest.Must(t, err)
		result, err := eng.Run(t.Context(), plan, engine.Sinks{Views: views.Views()})
		gittest.Must(t, err)
		return result
	}
	from := watch.Beginning{From: run(watch.Beginning{}), At: "test"}
	s.put("lib/other", "2\n")
	if got := run(from).Run; got.Status() != runs.Pass || len(got.Carried()) != 1 {
		t.Errorf("nothing read it: %s, %v", got.Status(), got.Blockers())
	}
	s.put("lib/size", "2\n")
	if got := run(from).Run; got.Status() != runs.Pass || len(got.Carried()) != 0 {
		t.Errorf("prepare has read it: %s, %v is carried", got.Status(), got.Carried())
	}
}
