package process

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// put gives the mark to a process, and so to everything that it will start.
//
// The mark is stored as the limit of file locks, where nothing removes it by accident: Linux keeps the limit across
// fork and execve and has not used it since 2.4 (getrlimit(2), RLIMIT_LOCKS). A daemon that clears or overwrites its
// environment, or that may not be inspected, still shows it in /proc/<pid>/limits.
//
// A run inside a run leaves the limit alone: it is the outer run's mark.
func (m Mark) put(pid int) {
	var own unix.Rlimit
	if m == 0 || unix.Getrlimit(unix.RLIMIT_LOCKS, &own) != nil || own.Max != unix.RLIM_INFINITY {
		return
	}
	// If the process has ended or the system refuses, the environment still identifies it.
	_ = unix.Prlimit(pid, unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: uint64(m), Max: uint64(m)}, nil)
}

// markOf returns the mark of a process, 0 if it has none. The system call works for the user's own processes without
// opening anything; the file works for all.
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

// hasTag reports whether a tag is in the environment of a process. empty means that the process shows no environment:
// it has none, is in the middle of execve(2), or is a kernel thread.
func hasTag(pid int, tag []byte) (has, empty bool) {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(env, tag), err == nil && len(env) == 0
}
