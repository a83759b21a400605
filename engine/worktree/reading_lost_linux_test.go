package worktree

import (
	"os/exec"
	"reflect"
	"testing"
	"unsafe"

	"markmill/engine/worktree/gittest"
)

// TestReadsLost: where the system has lost events, everything counts as read from that step on.
func TestReadsLost(t *testing.T) {
	g := gittest.New(t)
	g.Write("a", "1\n")
	g.Commit("one")
	tree := made(t, g)
	if !tree.SeesReads() {
		t.Skip(tree.reading.unknown)
	}
	for _, lost := range []bool{false, true} {
		if lost { // reads.TestLost fills the queue of the system: that takes longer
			field := reflect.ValueOf(tree.reading.watch).Elem().FieldByName("lost")
			*(*bool)(unsafe.Pointer(field.UnsafeAddr())) = true
		}
		cmd := exec.Command("true")
		cmd.Dir = tree.Dir()
		gittest.Must(t, cmd.Run())
		change, err := tree.Capture(t.Context(), "s", "s")
		gittest.Must(t, err)
		if whole := len(change.Reads) == 1 && change.Reads[0].Path == "." && change.Reads[0].Tree != ""; whole != lost {
			t.Errorf("lost %t: it read %v", lost, change.Reads)
		}
	}
}
