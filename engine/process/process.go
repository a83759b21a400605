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
	"syscall"
)

// Info describes a running process of a session.
type Info struct {
	PID     int
	Parent  int    // the process of the same list that started it, 0 if none did
	Program string // base name of the file it runs
	Started uint64 // start time in clock ticks, which tells it from a later process with the same number
}

// Options are the ways in which a child differs from a plain one.
type Options struct {
	// Confine, if set, takes rights from the thread that starts the child, and so from the child. It is called on that
	// thread, which ends with the child.
	Confine func() error
	// Attributes, if set, may change how the child is made, after everything else is decided.
	Attributes func(*syscall.SysProcAttr)
	// Place, if set, is where the child starts; Order then says what Confine and Attributes would (see PlaceMain).
	Place *Place
	Order string
}

// WardenName is the program name (argv[0]) under which Markmill is the warden of runs.
const WardenName = "markmill-warden"

// PlaceName is the program name (argv[0]) under which Markmill is the first process of a run's place.
const PlaceName = "markmill-place"

// Mount puts a file or folder of the system at another path of a place, with everything that is mounted below it. Both
// paths exist.
type Mount struct {
	From, To string
	ReadOnly bool
	// Upper, if set, is an existing, empty folder: To shows From, and what is written there is kept in Upper.
	Upper string
	// Optional is set for one without which the others are of use.
	Optional bool
	Kept     bool   // Upper is where it is, and not in memory, whatever its file system is
	Over     string // a folder whose files are seen, too, before those of From
}

// words and mountsOf are the form in which mounts are sent.
func (m Mount) words() []string {
	return []string{m.From, m.To, strconv.FormatBool(m.ReadOnly), m.Upper, strconv.FormatBool(m.Optional),
		strconv.FormatBool(m.Kept), m.Over}
}

func mountsOf(words []string) (list []Mount) {
	for ; len(words) >= 7; words = words[7:] {
		list = append(list, Mount{From: words[0], To: words[1], ReadOnly: words[2] == "true", Upper: words[3],
			Optional: words[4] == "true", Kept: words[5] == "true", Over: words[6]})
	}
	return list
}

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
