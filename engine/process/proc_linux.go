package process

import (
	"bytes"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// procInfo holds some fields of /proc/<pid>/stat (proc_pid_stat(5)).
type procInfo struct {
	state                           byte
	parent, group, session, threads int
	started                         uint64 // clock ticks since boot; with the pid it identifies a process uniquely
	name                            string // of the program, truncated to 15 bytes
}

// over reports whether a process has ended. One whose first thread alone has ended looks the same but still runs.
func (i procInfo) over() bool { return (i.state == 'Z' || i.state == 'X') && i.threads <= 1 }

func statOf(pid int) (procInfo, bool) {
	raw, err := readProc("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procInfo{}, false
	}
	// The program's name is in parentheses and may contain any byte, so count fields from the last parenthesis.
	at := bytes.LastIndexByte(raw, ')')
	if at < 0 {
		return procInfo{}, false
	}
	f := bytes.Fields(raw[at+1:])
	if len(f) < 20 {
		return procInfo{}, false
	}
	started, _ := strconv.ParseUint(string(f[19]), 10, 64)
	_, name, _ := bytes.Cut(raw[:at], []byte{'('})
	return procInfo{state: f[0][0], parent: atoi(f[1]), group: atoi(f[2]), session: atoi(f[3]), threads: atoi(f[17]),
		started: started, name: string(name)}, true
}

// readProc reads a small file in /proc. Every step waits for it, and os.ReadFile would first register the file with the
// poller.
func readProc(path string) ([]byte, error) { return readProcAt(unix.AT_FDCWD, path) }

func readProcAt(dir int, path string) ([]byte, error) {
	fd, err := openAt(dir, path, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	raw := make([]byte, 0, 512)
	for {
		if len(raw) == cap(raw) {
			raw = append(raw, 0)[:len(raw)]
		}
		n, err := unix.Read(fd, raw[len(raw):cap(raw)])
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			return raw, err
		}
		raw = raw[:len(raw)+n]
	}
}

func openAt(dir int, path string, flags int) (fd int, err error) {
	for {
		if fd, err = unix.Openat(dir, path, unix.O_RDONLY|unix.O_CLOEXEC|flags, 0); err != unix.EINTR {
			return fd, err
		}
	}
}

// childrenOf lists the children of all threads of a process, including ended ones. It is called after every step, and a
// Jupyter kernel has a dozen threads: names are used as they are read, and files are opened relative to their folder.
func childrenOf(pid int) []int {
	if pid == 0 {
		return nil
	}
	dir, err := openAt(unix.AT_FDCWD, "/proc/"+strconv.Itoa(pid)+"/task", unix.O_DIRECTORY)
	if err != nil {
		return nil
	}
	defer unix.Close(dir)
	var all []int
	for tid := range numbersIn(dir) {
		all = append(all, childrenIn(dir, strconv.Itoa(tid)+"/children", pid, tid)...)
	}
	return all
}

// numbersIn returns the numeric names in an open folder of /proc: processes or threads.
func numbersIn(dir int) iter.Seq[int] {
	return func(yield func(int) bool) {
		var buf [8192]byte
		for {
			n, err := unix.ReadDirent(dir, buf[:])
			if err == unix.EINTR {
				continue
			}
			if n <= 0 {
				return
			}
			var names []string
			_, _, names = unix.ParseDirent(buf[:n], -1, names)
			for _, name := range names {
				if number, err := strconv.Atoi(name); err == nil && !yield(number) {
					return
				}
			}
		}
	}
}

func childrenOfThread(pid, tid int) []int {
	return childrenIn(unix.AT_FDCWD, "/proc/"+strconv.Itoa(pid)+"/task/"+strconv.Itoa(tid)+"/children", pid, tid)
}

func childrenIn(dir int, path string, pid, tid int) []int {
	raw, err := readProcAt(dir, path)
	if err != nil {
		if pid == tid && err == unix.ENOENT {
			return childrenByParent(pid)
		}
		return nil
	}
	var pids []int
	for _, f := range bytes.Fields(raw) {
		pids = append(pids, atoi(f))
	}
	return pids
}

// childrenByParent scans every process, for kernels without CONFIG_PROC_CHILDREN.
func childrenByParent(parent int) []int {
	if _, err := os.Stat("/proc/" + strconv.Itoa(parent)); err != nil {
		return nil
	}
	all := openProcesses()
	defer unix.Close(all.fd)
	return slices.DeleteFunc(all.list(), func(pid int) bool {
		info, ok := statOf(pid)
		return !ok || info.parent != parent
	})
}

// tree lists the running processes at and below roots, except those in but and everything below them.
func tree(roots []int, but procs) []int {
	var all []int
	walkTree(roots, but, func(pid int, _ procInfo) { all = append(all, pid) })
	return all
}

func walkTree(roots []int, but procs, visit func(pid int, info procInfo)) {
	seen := map[int]bool{}
	for queue := roots; len(queue) > 0; queue = queue[1:] {
		pid := queue[0]
		if seen[pid] {
			continue
		}
		info, ok := statOf(pid)
		if !ok || info.over() || but.has(pid, info) {
			continue
		}
		seen[pid] = true
		visit(pid, info)
		queue = append(queue, childrenOf(pid)...)
	}
}

// procs maps process ids to start times, because ids are reused.
type procs map[int]uint64

func (p procs) has(pid int, info procInfo) bool {
	started, ok := p[pid]
	return ok && started == info.started
}

// programOf returns the base name of the program that a process runs.
func programOf(pid int, info procInfo) string {
	exe, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	if err != nil { // we may not inspect it
		return info.name
	}
	return filepath.Base(strings.TrimSuffix(exe, " (deleted)"))
}

func atoi(b []byte) int {
	n, _ := strconv.Atoi(string(b))
	return n
}
