package kernel

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// procInfo is what is used of /proc/<pid>/stat (proc_pid_stat(5)).
type procInfo struct {
	state                           byte
	parent, group, session, threads int
}

// over says whether a process has ended. One whose first thread alone has ended looks like it and runs on.
func (i procInfo) over() bool { return (i.state == 'Z' || i.state == 'X') && i.threads <= 1 }

func statOf(pid int) (procInfo, bool) {
	raw, err := readProc("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procInfo{}, false
	}
	// The program's name stands in parentheses and may hold any byte, so fields count from the last one.
	at := bytes.LastIndexByte(raw, ')')
	if at < 0 {
		return procInfo{}, false
	}
	f := bytes.Fields(raw[at+1:])
	if len(f) < 18 {
		return procInfo{}, false
	}
	return procInfo{state: f[0][0], parent: atoi(f[1]), group: atoi(f[2]), session: atoi(f[3]), threads: atoi(f[17])}, true
}

// readProc reads a small file of /proc. It stands in the way of every step, and os.ReadFile would
// first try to wait for such a file.
func readProc(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	raw := make([]byte, 0, 1024)
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

// childrenOf lists the children of all threads of a process, ended ones included.
func childrenOf(pid int) []int {
	if pid == 0 {
		return nil
	}
	threads, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return nil
	}
	var all []int
	for _, t := range threads {
		tid, err := strconv.Atoi(t.Name())
		if err == nil {
			all = append(all, childrenOfThread(pid, tid)...)
		}
	}
	return all
}

func childrenOfThread(pid, tid int) []int {
	path := "/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(tid) + "/children"
	raw, err := readProc(path)
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

// childrenByParent is for a system that keeps no list of children: it looks at every process.
func childrenByParent(parent int) []int {
	if _, err := os.Stat("/proc/" + strconv.Itoa(parent)); err != nil {
		return nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if info, ok := statOf(pid); ok && info.parent == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}

// tree lists the running processes at and below roots.
func tree(roots []int) []int {
	var all []int
	seen := map[int]bool{}
	for queue := roots; len(queue) > 0; queue = queue[1:] {
		pid := queue[0]
		if info, ok := statOf(pid); seen[pid] || !ok || info.over() {
			continue
		}
		seen[pid] = true
		all = append(all, pid)
		queue = append(queue, childrenOf(pid)...)
	}
	return all
}

func atoi(b []byte) int {
	n, _ := strconv.Atoi(string(b))
	return n
}
