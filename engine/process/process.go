package process

import "syscall"

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
