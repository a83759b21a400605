package kernel

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync/atomic"
)

// Mark is the number by which the processes of a run are known wherever they went. Its last bits
// count the sessions of the run. 0 is no mark.
type Mark uint64

const (
	markSessions Mark = 1<<14 - 1 // the bits that count sessions
	markMost     Mark = 1<<62 - 1
)

// NewMark makes the mark of a run. It is not the engine's to choose how random it is: two runs with one
// mark would end each other's processes.
func NewMark() Mark {
	var b [8]byte
	rand.Read(b[:])
	return (Mark(binary.LittleEndian.Uint64(b[:]))&markMost | 1<<61) &^ markSessions
}

// run is the mark of the whole run.
func (m Mark) run() Mark { return m &^ markSessions }

// word is how the mark of a run stands in the environment.
func (m Mark) word() string {
	if m == 0 {
		return ""
	}
	return fmt.Sprintf("%016x", uint64(m.run()))
}

var sessions atomic.Uint64

// session is the mark of one more session.
func (m Mark) session() Mark {
	if m == 0 {
		return 0
	}
	return m.run() | Mark(sessions.Add(1))&markSessions
}
