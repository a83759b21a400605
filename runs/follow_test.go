package runs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// followRun names the variable that makes the test binary a process that follows a run and prints its status.
const followRun = "MARKMILL_TEST_FOLLOW_RUN"

func followAndPrint(dir string) {
	f, run := At(dir).Follow(0), NewRun()
	for {
		event, err := f.Next(context.Background())
		if err != nil {
			fmt.Println(errors.Join(err, f.Close()))
			os.Exit(0)
		}
		if err := run.Add(event); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(event.Type, run.Status())
	}
}

// The follower is another process, and each event is appended only when it has reported the one before.
func TestFollowFromAnotherProcess(t *testing.T) {
	for _, completed := range []bool{true, false} {
		record, release, journal := liveRun(t)
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		other := exec.Command(self)
		other.Env = append(os.Environ(), followRun+"="+record.Path())
		out, err := other.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		expect := func(want string) {
			t.Helper()
			if line, err := lines.ReadString('\n'); strings.TrimSpace(line) != want {
				t.Fatalf("the follower printed %q (%v), not %q", line, err, want)
			}
		}
		expect("run.started running")
		mustAppend(t, journal, ContractCreated, "", ContractData{ContractRules: ContractRules{TaskID: "fix"}})
		expect("task.contract.created running")
		if completed { // it ends while the run is still alive
			mustAppend(t, journal, RunCompleted, "", CompletedData{Status: Blocked})
			expect("run.completed blocked")
			expect("EOF")
			release()
		} else {
			release()
			expect("EOF")
		}
		if err := other.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// liveRun begins a run that is alive until release is called.
func liveRun(t testing.TB) (record *Record, release func(), journal *Journal) {
	t.Helper()
	store, id := newStore(t), NewRunID(aTime, "fix.md", []byte{1})
	record, release, err := store.Create(id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	if journal, err = record.Begin("notebook.md", []byte("# Fix\n"), ticking(aTime)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := journal.Close(); err != nil {
			t.Error(err)
		}
	})
	mustAppend(t, journal, RunStarted, "", RunStartedData{RunID: id, SourceFile: "notebook.md"})
	return record, release, journal
}

func TestFollow(t *testing.T) {
	r := aPass(t, newStore(t), aTime, 1)
	var tar strings.Builder
	if err := At(r.dir).WriteTar(&tar); err != nil {
		t.Fatal(err)
	}
	for name, record := range map[string]*Record{"folder": At(r.dir), "archive": archived(t, tar.String())} {
		events, _, err := record.events(JournalFile, DigestOf(r.source))
		if err != nil {
			t.Fatal(err)
		}
		var offset int64
		for from := range events { // from every offset, the rest
			f := record.Follow(offset)
			var got []Hashes
			for {
				event, err := f.Next(context.Background())
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%s: event %d: %v", name, from+len(got), err)
				}
				if got = append(got, Hashes{event.Prev, event.Hash}); len(got) == 1 {
					offset = f.Offset()
				}
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			if want := hashesOf(events[from:]); !slices.Equal(got, want) {
				t.Errorf("%s: from event %d it gives %d events, not %d", name, from, len(got), len(want))
			}
		}
	}
}

// Hashes tells events apart.
type Hashes struct{ Prev, Hash Digest }

func hashesOf(events []Event) (out []Hashes) {
	for _, e := range events {
		out = append(out, Hashes{e.Prev, e.Hash})
	}
	return out
}

func TestFollowEnds(t *testing.T) {
	record, release, journal := liveRun(t)
	f := record.Follow(0)
	t.Cleanup(func() { f.Close() })
	if event, err := f.Next(t.Context()); err != nil || event.Type != RunStarted {
		t.Fatalf("the first event is %v, %v", event.Type, err)
	}
	no := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(no)
	if _, err := f.Next(ctx); !errors.Is(err, no) {
		t.Errorf("after its context ended it returns %v", err)
	}
	// A part of a line is no event, and may be taken back.
	path := record.File(JournalFile)
	size := f.Offset()
	appendTo(t, path, `{"data":{"a`)
	if _, found, err := f.read(); found || err != nil {
		t.Fatalf("a part of a line gives an event (%v)", err)
	}
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, journal, ContractCreated, "", ContractData{ContractRules: ContractRules{TaskID: "fix"}})
	if event, err := f.Next(t.Context()); err != nil || event.Type != ContractCreated {
		t.Errorf("after a line that was taken back: %v, %v", event.Type, err)
	}
	appendTo(t, path, "{}\n")
	if _, err := f.Next(t.Context()); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a line that is no event of the chain gives %v", err)
	}
	release()
	for _, other := range []*Follower{At(t.TempDir()).Follow(0), record.Follow(1 << 20), record.Follow(3)} {
		if _, err := other.Next(t.Context()); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("from %d of %s: %v", other.offset, other.record.path, err)
		}
		other.Close()
	}
}
