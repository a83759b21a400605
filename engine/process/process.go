package process

import (
	"strconv"
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
