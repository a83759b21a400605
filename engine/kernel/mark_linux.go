package kernel

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// put gives the process, and so all that it will start, the mark.
//
// The mark stands where nothing takes it away by accident: as the limit of file locks, which Linux
// has inherited over fork and execve since 2.4 and has not looked at since (getrlimit(2), RLIMIT_LOCKS).
// A daemon that empties or overwrites its environment, or that may not be looked into, still shows it to
// everyone, in /proc/<pid>/limits.
//
// A run inside a run leaves the limit alone: it is the outer run's mark.
func (m Mark) put(pid int) {
	var own unix.Rlimit
	if m == 0 || unix.Getrlimit(unix.RLIMIT_LOCKS, &own) != nil || own.Max != unix.RLIM_INFINITY {
		return
	}
	// A process that has ended by now, and a system that cannot, leave the environment to know it by.
	_ = unix.Prlimit(pid, unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: uint64(m), Max: uint64(m)}, nil)
}

// markOf is the mark of a process, 0 without one.
//
// The system call tells it of the user's own processes, and opens nothing; the file, of all.
func markOf(pid int) Mark {
	var limit unix.Rlimit
	if pid > 0 && unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &limit) == nil {
		return markIn(limit.Max)
	}
	raw, err := readProc("/proc/" + strconv.Itoa(pid) + "/limits")
	if err != nil {
		return 0
	}
	_, raw, _ = bytes.Cut(raw, []byte("\nMax file locks"))
	line, _, _ := bytes.Cut(raw, []byte("\n"))
	f := bytes.Fields(line)
	if len(f) < 2 {
		return 0
	}
	n, err := strconv.ParseUint(string(f[1]), 10, 64) // the hard limit; "unlimited" is none
	if err != nil {
		return 0
	}
	return markIn(n)
}

func markIn(limit uint64) Mark {
	if limit > uint64(markMost) {
		return 0 // no limit
	}
	return Mark(limit)
}

// hasTag says whether a tag is in the environment of a process. empty is true when it shows none: it has
// none, or is in the middle of execve(2), or is a part of the system.
func hasTag(pid int, tag []byte) (has, empty bool) {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(env, tag), err == nil && len(env) == 0
}
