package engine

import (
	"strings"
	"testing"
	"time"

	"markmill/runs"
)

// TestShortTMPDIR: a program of a step can make a socket below TMPDIR, whatever the notebook is called, for a user with
// a long name. What follows TMPDIR is the path that Python's multiprocessing makes.
func TestShortTMPDIR(t *testing.T) {
	e := &Engine{Cache: "/home/" + strings.Repeat("u", 24) + "/.cache/markmill"}
	id := runs.NewRunID(time.Unix(0, 0), strings.Repeat("name", 20)+".md", make([]byte, 8))
	socket := e.workRoot(id) + "/tmp/pymp-xxxxxxxx/listener-xxxxxxxx"
	if len(socket) > 107 {
		t.Errorf("%s has %d bytes; a socket's path has at most 107", socket, len(socket))
	}
}
