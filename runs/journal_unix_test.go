//go:build unix

package runs

import (
	"errors"
	"os/signal"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"markmill/notebooks"
)

// TestFullDisk: an append that the system takes only a part of leaves nothing in the file, and the
// next one, when there is room again, stands where it should. A limit on the file's size plays the
// full disk.
func TestFullDisk(t *testing.T) {
	signal.Ignore(unix.SIGXFSZ)
	defer signal.Reset(unix.SIGXFSZ)
	j, path := newJournal(t)
	mustAppend(t, j, RunStarted, "", nil)
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	full := before
	full.Cur = uint64(j.size) + 10
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &full); err != nil {
		t.Fatal(err)
	}
	_, err := j.Append(StepStarted, "s", strings.Repeat("x", 100))
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	var known *notebooks.Error
	if !errors.As(err, &known) || known.Kind != notebooks.KindArtifact {
		t.Fatalf("got %v", err)
	}
	mustAppend(t, j, RunCompleted, "", nil)
	events, torn := mustRead(t, path)
	if torn || len(events) != 2 || events[1].Type != RunCompleted || events[1].Seq != 1 {
		t.Errorf("torn %v, %v", torn, events)
	}
}
