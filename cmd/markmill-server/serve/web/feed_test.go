package web

import (
	"strconv"
	"strings"
	"testing"

	"markmill/runs"
)

// TestFeed: a client that is behind gets what it missed, one that is too far behind is given up, and nothing waits for
// either.
func TestFeed(t *testing.T) {
	f := &feed{epoch: "E"}
	f.publish(runs.RunStarted, runEvent{Run: "first"})
	behind, reset := f.start("E.0")
	if behind != 1 || reset {
		t.Fatalf("behind the first event is %d, %v", behind, reset)
	}
	if text, upTo, fallen := f.after(behind); text != "" || upTo != behind || fallen {
		t.Errorf("behind the last event is %q", text)
	}
	for range keptEvents * 3 { // nobody reads: an event that waited would wait for ever
		f.publish(runs.RunCompleted, runEvent{Run: "later"})
	}
	if _, _, fallen := f.after(behind); !fallen {
		t.Error("a client that is further behind than what is kept is not given up")
	}
	if len(f.kept) > keptEvents {
		t.Errorf("%d events are kept", len(f.kept))
	}
	if _, reset := f.start("E.0"); !reset {
		t.Error("a client that comes back too late is not told that events are missing")
	}
	last := f.first + len(f.kept)
	next, reset := f.start("E." + strconv.Itoa(last-3))
	text, upTo, _ := f.after(next)
	if reset || next != last-2 || upTo != last || strings.Count(text, "event: ") != 2 ||
		!strings.HasPrefix(text, "id: E."+strconv.Itoa(last-2)+"\n") {
		t.Errorf("from %d to %d, %v:\n%s", next, upTo, reset, text)
	}
}
