package cmdtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// tracer runs a program under ptrace and is asked at every system call with which it, in any of its
// threads, changes a file below a folder. The processes that it starts are not traced. So each write can be
// made to fail, or to be the last thing that the program does, without a hook in the program.
type tracer struct {
	under string // calls on files elsewhere are not looked at
	// at is asked before a call is made: 0 lets it be made, an errno makes it fail, and the constants
	// below do what they say.
	at func(call) verdict

	pid   int
	calls map[int]*pending // by thread, between the entry and the exit of a call
}

// verdict is what becomes of a call.
type verdict int

const (
	makeIt verdict = 0
	killIt verdict = -1 // the program gets SIGKILL and the call is not made
	halve  verdict = -2 // a write takes half of its bytes
)

// call is one system call that changes a file.
type call struct {
	name string
	path string // of what changes; where a rename or a link goes to
}

func (c call) String() string { return c.name + " " + c.path }

// grows says that a call wants room on the disk.
func (c call) grows() bool {
	switch c.name {
	case "write", "pwrite", "writev", "create", "mkdir", "link", "symlink", "fallocate":
		return true
	}
	return false
}

type pending struct{ errno unix.Errno }

// traced are the calls that are looked at; of open only what makes, cuts or opens for writing.
var traced = map[uint64]struct {
	name string
	path int // argument that holds the path
	dir  int // argument that holds the folder that it is relative to; -1: none
	fd   bool
}{
	unix.SYS_WRITE: {"write", 0, -1, true}, unix.SYS_PWRITE64: {"pwrite", 0, -1, true},
	unix.SYS_WRITEV: {"writev", 0, -1, true},
	unix.SYS_FSYNC:  {"fsync", 0, -1, true}, unix.SYS_FDATASYNC: {"fsync", 0, -1, true},
	unix.SYS_FTRUNCATE: {"truncate", 0, -1, true},
	unix.SYS_CLOSE:     {"close", 0, -1, true},
	unix.SYS_FCHMOD:    {"chmod", 0, -1, true}, unix.SYS_FALLOCATE: {"fallocate", 0, -1, true},
	unix.SYS_COPY_FILE_RANGE: {"write", 2, -1, true},
	unix.SYS_OPENAT:          {"open", 1, 0, false}, unix.SYS_MKDIRAT: {"mkdir", 1, 0, false},
	unix.SYS_RENAMEAT:  {"rename", 3, 2, false},
	unix.SYS_RENAMEAT2: {"rename", 3, 2, false}, unix.SYS_LINKAT: {"link", 3, 2, false},
	unix.SYS_SYMLINKAT: {"symlink", 2, 1, false},
	unix.SYS_UNLINKAT:  {"unlink", 1, 0, false}, unix.SYS_FCHMODAT: {"chmod", 1, 0, false},
	unix.SYS_TRUNCATE: {"truncate", 0, -1, false},
	unix.SYS_RENAME:   {"rename", 1, -1, false}, unix.SYS_MKDIR: {"mkdir", 0, -1, false},
	unix.SYS_UNLINK: {"unlink", 0, -1, false},
}

// errNoTrace says that this system lets nothing be traced.
var errNoTrace = errors.New("programs cannot be traced here")

// run runs the program to its end.
func (t *tracer) run(program string, args []string, attr os.ProcAttr) (unix.WaitStatus, error) {
	runtime.LockOSThread() // the thread that starts a program is the one that may trace it
	defer runtime.UnlockOSThread()
	// of its own, so that no other child of the thread is waited for
	attr.Sys = &unix.SysProcAttr{Ptrace: true, Setpgid: true}
	process, err := os.StartProcess(program, append([]string{program}, args...), &attr)
	if err != nil {
		return 0, errors.Join(errNoTrace, err)
	}
	t.pid, t.calls = process.Pid, map[int]*pending{}
	_ = process.Release() // it is waited for here
	var status unix.WaitStatus
	if _, err := unix.Wait4(t.pid, &status, 0, nil); err != nil || !status.Stopped() {
		return status, errors.Join(errNoTrace, err)
	}
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_EXITKILL
	if err := unix.PtraceSetOptions(t.pid, options); err != nil {
		_ = unix.Kill(t.pid, unix.SIGKILL)
		return 0, errors.Join(errNoTrace, err)
	}
	_ = unix.PtraceSyscall(t.pid, 0)
	return t.loop()
}

// loop lets the threads go on from stop to stop until none is left.
func (t *tracer) loop() (end unix.WaitStatus, err error) {
	for {
		var status unix.WaitStatus
		thread, err := unix.Wait4(-t.pid, &status, unix.WALL|unix.WNOTHREAD, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECHILD):
			return end, nil
		case err != nil:
			return end, err
		case status.Exited() || status.Signaled():
			if thread == t.pid {
				end = status
			}
			continue
		}
		pass := 0
		switch signal := status.StopSignal(); {
		case signal == unix.SIGTRAP|0x80:
			t.stopped(thread)
		case signal == unix.SIGTRAP && status.TrapCause() > 0: // a new thread
		case signal == unix.SIGSTOP: // a new thread begins so
		default:
			pass = int(signal)
		}
		_ = unix.PtraceSyscall(thread, pass) // one that was killed meanwhile is seen at the next wait
	}
}

// stopped is called at the entry and at the exit of each call.
func (t *tracer) stopped(thread int) {
	var regs unix.PtraceRegs
	if unix.PtraceGetRegs(thread, &regs) != nil {
		return
	}
	if p, inside := t.calls[thread]; inside {
		delete(t.calls, thread)
		if p.errno != 0 {
			regs.Rax = uint64(-int64(p.errno))
			_ = unix.PtraceSetRegs(thread, &regs)
		}
		return
	}
	p := &pending{}
	t.calls[thread] = p
	c, found := t.look(thread, &regs)
	if !found {
		return
	}
	switch v := t.at(c); {
	case v == killIt:
		_ = unix.Kill(t.pid, unix.SIGKILL)
	case v == halve:
		if regs.Rdx > 1 {
			regs.Rdx /= 2
			_ = unix.PtraceSetRegs(thread, &regs)
		}
	case v != makeIt:
		p.errno = unix.Errno(v)
		regs.Orig_rax = ^uint64(0) // no such call: nothing happens
		_ = unix.PtraceSetRegs(thread, &regs)
	}
}

// look says which file a call changes, when it is one below t.under.
func (t *tracer) look(thread int, regs *unix.PtraceRegs) (call, bool) {
	kind, known := traced[regs.Orig_rax]
	if !known {
		return call{}, false
	}
	args := []uint64{regs.Rdi, regs.Rsi, regs.Rdx, regs.R10, regs.R8}
	if kind.name == "open" {
		flags := args[2]
		if flags&(unix.O_CREAT|unix.O_TRUNC|unix.O_WRONLY|unix.O_RDWR) == 0 || flags&unix.O_PATH != 0 {
			return call{}, false
		}
		if flags&unix.O_CREAT != 0 {
			kind.name = "create"
		}
	}
	var path string
	if kind.fd {
		path = t.file(args[kind.path])
		if kind.name == "close" && !strings.HasSuffix(path, " (deleted)") {
			return call{}, false // it gives back no room
		}
	} else {
		path = t.text(thread, args[kind.path])
		if !filepath.IsAbs(path) {
			folder, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", t.pid))
			if kind.dir >= 0 && int32(args[kind.dir]) != unix.AT_FDCWD {
				folder = t.file(args[kind.dir])
			}
			path = filepath.Join(folder, path)
		}
	}
	if !strings.HasPrefix(path, t.under) {
		return call{}, false
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeDevice|os.ModeSocket) != 0 {
		return call{}, false // it goes to a process, not to a disk
	}
	return call{kind.name, path}, true
}

// file is the path of an open file.
func (t *tracer) file(fd uint64) string {
	path, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", t.pid, int32(fd)))
	return path
}

// text reads a string of the program, which ends with a zero byte.
func (t *tracer) text(thread int, at uint64) string {
	buffer := make([]byte, unix.PathMax)
	local := []unix.Iovec{{Base: &buffer[0], Len: unix.PathMax}}
	n, err := unix.ProcessVMReadv(thread, local, []unix.RemoteIovec{{Base: uintptr(at), Len: unix.PathMax}}, 0)
	if err != nil || n <= 0 { // the page after it may not be there
		n, _ = unix.PtracePeekData(thread, uintptr(at), buffer[:256])
	}
	text, _, _ := bytes.Cut(buffer[:max(n, 0)], []byte{0})
	return string(text)
}
