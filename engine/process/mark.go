package process

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

// Mark is the number that identifies a run's processes. Its last bits count the run's sessions. 0 is no mark.
type Mark uint64

const (
	markSessions Mark = 1<<14 - 1 // the bits that count sessions
	markMost     Mark = 1<<62 - 1
)

// NewMark returns a random mark for a run. It is always random, even where other ids are injected: two runs with the
// same mark would end each other's processes.
func NewMark() Mark {
	var b [8]byte
	rand.Read(b[:])
	return (Mark(binary.LittleEndian.Uint64(b[:]))&markMost | 1<<61) &^ markSessions
}

// run returns the mark of the whole run.
func (m Mark) run() Mark { return m &^ markSessions }

// word returns the run's mark as it appears in the environment.
func (m Mark) word() string {
	if m == 0 {
		return ""
	}
	return fmt.Sprintf("%016x", uint64(m.run()))
}

// markOfWord reads what Mark.word returns; 0 if it is none.
func markOfWord(word string) Mark {
	n, err := strconv.ParseUint(word, 16, 64)
	if err != nil {
		return 0
	}
	return Mark(n).run()
}

var sessions atomic.Uint64

// session returns the mark of one more session.
func (m Mark) session() Mark {
	if m == 0 {
		return 0
	}
	return m.run() | Mark(sessions.Add(1))&markSessions
}

// sessionVariable holds the tags of the sessions that a process is in, separated by "/".
const sessionVariable = "MARKMILL_SESSION"

// Tag creates a session's tag, which begins with the run's mark, and returns the environment variable that carries it.
// A Markmill inside a step keeps the outer session's tag, so that the outer one recognizes processes that the inner one
// leaves.
func (m Mark) Tag() (tag, variable string) {
	nonce := make([]byte, 12)
	rand.Read(nonce)
	tag = m.word() + hex.EncodeToString(nonce)
	return tag, sessionVariable + "=" + strings.TrimPrefix(os.Getenv(sessionVariable)+"/"+tag, "/")
}
