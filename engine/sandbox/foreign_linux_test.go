package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// foreign lists attempts on another process of the user (its number is in the file bystander) and on the user's IPC
// objects (ids in the file objects), keys and terminal. None changes what it finds.
var foreign = map[string]func(top string) error{
	"limits": func(top string) error {
		return unix.Prlimit(bystander(top), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 50, Max: 50}, nil)
	},
	"its processor time": func(top string) error {
		return unix.Prlimit(bystander(top), unix.RLIMIT_CPU, &unix.Rlimit{Cur: 1000, Max: 1000}, nil)
	},
	"its mark": func(top string) error {
		return unix.Prlimit(bystander(top), unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: 5, Max: 5}, nil)
	},
	"priority": func(top string) error {
		return unix.Setpriority(unix.PRIO_PROCESS, bystander(top), 19)
	},
	"priority of its group": func(top string) error { return unix.Setpriority(unix.PRIO_PGRP, bystander(top), 19) },
	"priority of a user": func(string) error {
		return reached(unix.Setpriority(unix.PRIO_USER, noUser, 19), unix.ESRCH)
	},
	"priority of disks": func(top string) error {
		return call(unix.SYS_IOPRIO_SET, 1, uintptr(bystander(top)), 3<<13)
	},
	"priority of disks, user": func(string) error {
		return reached(call(unix.SYS_IOPRIO_SET, 3, noUser, 3<<13), unix.ESRCH)
	},
	"processors": func(top string) error { return unix.SchedSetaffinity(bystander(top), firstProcessor()) },
	"scheduler": func(top string) error {
		var zero int32
		return call(unix.SYS_SCHED_SETSCHEDULER, uintptr(bystander(top)), 3, /* SCHED_BATCH */
			uintptr(unsafe.Pointer(&zero)))
	},
	"scheduler's parameters": func(top string) error {
		var zero int32
		return call(unix.SYS_SCHED_SETPARAM, uintptr(bystander(top)), uintptr(unsafe.Pointer(&zero)))
	},
	"scheduler's attributes": func(top string) error {
		return unix.SchedSetAttr(bystander(top), &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: 3}, 0)
	},
	"pages to another node": func(top string) error {
		return call(unix.SYS_MIGRATE_PAGES, uintptr(bystander(top)), 0, 0, 0)
	},
	"pages, one by one": func(top string) error {
		return call(unix.SYS_MOVE_PAGES, uintptr(bystander(top)), 0, 0, 0, 0, 0)
	},
	"advice on its memory": func(top string) error {
		fd, err := unix.PidfdOpen(bystander(top), 0)
		if err != nil {
			return err
		}
		return call(unix.SYS_PROCESS_MADVISE, uintptr(fd), 0, 0, unix.MADV_COLD, 0)
	},
	"compare": func(top string) error {
		return call(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(bystander(top)), 1 /* KCMP_VM */)
	},
	"read its memory": func(top string) error {
		var b [1]byte
		_, err := unix.ProcessVMReadv(bystander(top), []unix.Iovec{{Base: &b[0], Len: 1}},
			[]unix.RemoteIovec{{Base: mapped(top), Len: 1}}, 0)
		return err
	},
	"write its memory": func(top string) error {
		var b [1]byte
		_, err := unix.ProcessVMWritev(bystander(top), []unix.Iovec{{Base: &b[0], Len: 1}},
			[]unix.RemoteIovec{{Base: mapped(top), Len: 1}}, 0)
		return reached(err, unix.EFAULT) // that page cannot be written
	},
	"take a descriptor": func(top string) error {
		fd, err := unix.PidfdOpen(bystander(top), 0)
		if err != nil {
			return err
		}
		_, err = unix.PidfdGetfd(fd, 0, 0)
		return err
	},
	"trace": func(top string) error { return unix.PtraceSeize(bystander(top)) },
	"count its events": func(top string) error {
		_, err := unix.PerfEventOpen(&unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE,
			Config: unix.PERF_COUNT_SW_CPU_CLOCK, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
			Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}, bystander(top), -1, -1, 0)
		return err
	},
	"remove shared memory": func(top string) error { return call(unix.SYS_SHMCTL, object(top, 0), 0, 0) },
	"change shared memory": func(top string) error {
		var d unix.SysvShmDesc
		if _, err := unix.SysvShmCtl(int(object(top, 0)), unix.IPC_STAT, &d); err != nil {
			return err
		}
		_, err := unix.SysvShmCtl(int(object(top, 0)), unix.IPC_SET, &d)
		return err
	},
	"remove semaphores": func(top string) error { return call(unix.SYS_SEMCTL, object(top, 1), 0, 0) },
	"set a semaphore":   func(top string) error { return call(unix.SYS_SEMCTL, object(top, 1), 0, 16, 5) },
	"remove a queue":    func(top string) error { return call(unix.SYS_MSGCTL, object(top, 2), 0, 0) },
	"remove a POSIX queue": func(top string) error {
		return call(unix.SYS_MQ_UNLINK, name("markmill-"+strconv.Itoa(bystander(top))))
	},
	"clear the user's keys": func(string) error {
		_, err := unix.KeyctlInt(unix.KEYCTL_CLEAR, unix.KEY_SPEC_USER_KEYRING, 0, 0, 0)
		return err
	},
	"add to the user's keys": func(string) error {
		_, err := unix.AddKey("user", "markmill-test", []byte("x"), unix.KEY_SPEC_USER_KEYRING)
		return err
	},
	"ask for a key": func(string) error {
		_, err := unix.RequestKey("keyring", "_uid."+strconv.Itoa(os.Getuid()), "", 0)
		return reached(err, unix.ENOKEY)
	},
	"type into the terminal": func(string) error {
		b := byte('\n')
		master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		err = call(unix.SYS_IOCTL, master.Fd(), uintptr(unix.TIOCSTI), uintptr(unsafe.Pointer(&b)))
		return reached(err, unix.EIO) // kernel.legacy_tiocsti is 0
	},
}

// uncertain lists attempts that a system may refuse by itself: by a setting (perf_event_paranoid, yama), to users other
// than root, or because it lacks the feature.
var uncertain = []string{"count its events", "compare", "advice on its memory", "pages to another node",
	"pages, one by one", "trace", "read its memory", "write its memory",
	"take a descriptor", "remove a POSIX queue", "ask for a key", "type into the terminal", "clear the user's keys",
	"add to the user's keys"}

// ownProcess lists what must work under the filter: on the process itself, its children, what everyone may read, and
// its own objects.
var ownProcess = map[string]func(top string) error{
	"limits": func(string) error { return unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 50, Max: 50}, nil) },
	"read limits": func(top string) error {
		var l unix.Rlimit
		return unix.Prlimit(bystander(top), unix.RLIMIT_NOFILE, nil, &l)
	},
	"priority":         func(string) error { return unix.Setpriority(unix.PRIO_PROCESS, 0, 10) },
	"priority of disk": func(string) error { return call(unix.SYS_IOPRIO_SET, 1, 0, 3<<13) },
	"processors":       func(string) error { return unix.SchedSetaffinity(0, firstProcessor()) },
	"read processors": func(top string) error {
		var set unix.CPUSet
		return unix.SchedGetaffinity(bystander(top), &set)
	},
	"trace a child": func(string) error {
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
		runtime.LockOSThread()
		return first(cmd.Start(),
			func() error { return first(cmd.Process.Kill(), func() error { cmd.Wait(); return nil }) })
	},
	ofNamespace: func(string) error {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
		if err != nil {
			return err
		}
		_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		return err
	},
	"semaphores of POSIX": func(string) error {
		name := fmt.Sprintf("/dev/shm/sem.markmill-%d", os.Getpid())
		return first(create(name), func() error { return os.Remove(name) })
	},
	"terminal": func(string) error {
		master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	},
}

// ofNamespace needs an IPC namespace: without one, created objects cannot be removed.
const ofNamespace = "shared memory of System V"

func call(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

// noUser has no processes, so an operation on all of them affects none.
const noUser = 987654

// reached maps the given errors to nil: the call was not refused but found nothing to do.
func reached(err, nothing error) error {
	if errors.Is(err, nothing) {
		return nil
	}
	return err
}

func name(s string) uintptr {
	p, _ := unix.BytePtrFromString(s)
	return uintptr(unsafe.Pointer(p))
}

func firstProcessor() *unix.CPUSet {
	var set unix.CPUSet
	set.Set(0)
	return &set
}

func bystander(top string) int {
	text, _ := os.ReadFile(top + "/bystander")
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		return -1
	}
	return pid
}

// mapped returns an address mapped by the bystander.
func mapped(top string) uintptr {
	text, _ := os.ReadFile(top + "/mapped")
	at, _ := strconv.ParseUint(string(text), 16, 64)
	return uintptr(at)
}

func object(top string, i int) uintptr {
	text, _ := os.ReadFile(top + "/work/objects")
	id, err := strconv.Atoi(strings.Fields(string(text) + " -1 -1 -1")[i])
	if err != nil {
		return ^uintptr(0)
	}
	return uintptr(id)
}

// setting creates and removes the user's objects.
var setting = map[string]func(top string) error{
	"make objects": func(top string) error {
		shm, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
		if err != nil {
			return err
		}
		sem, _, e1 := unix.Syscall(unix.SYS_SEMGET, 0, 1, unix.IPC_CREAT|0o600)
		msg, _, e2 := unix.Syscall(unix.SYS_MSGGET, 0, unix.IPC_CREAT|0o600, 0)
		if e1 != 0 || e2 != 0 {
			return fmt.Errorf("%w, %w", e1, e2)
		}
		fd, _, e3 := unix.Syscall6(unix.SYS_MQ_OPEN, name("markmill-"+strconv.Itoa(bystander(top))),
			unix.O_CREAT|unix.O_RDWR, 0o600, 0, 0, 0)
		if e3 == 0 {
			unix.Close(int(fd))
		}
		return os.WriteFile("objects", fmt.Appendf(nil, "%d %d %d", shm, sem, msg), 0o600)
	},
	"remove objects": func(top string) error {
		for _, err := range []error{foreign["remove a POSIX queue"](top), foreign["remove semaphores"](top),
			foreign["remove a queue"](top), foreign["remove shared memory"](top)} {
			if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EIDRM) &&
				!errors.Is(err, unix.ENOENT) {
				return err
			}
		}
		return nil
	},
}

// neighbour starts a process of the cell's user that no attempt may reach.
func (c cell) neighbour() {
	c.t.Helper()
	cmd := exec.Command("/bin/sleep", "300")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if c.uid != os.Getuid() {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(c.uid), Gid: uint32(c.uid)}
	}
	must(c.t, cmd.Start())
	c.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	c.write("bystander", strconv.Itoa(cmd.Process.Pid))
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", cmd.Process.Pid))
	must(c.t, err)
	at, _, _ := strings.Cut(string(maps), "-")
	c.write("mapped", at)
}

// modes maps sandbox modes to Specs, as far as the cell's user can have them.
func (c cell) modes() map[string]Spec {
	c.t.Helper()
	modes := map[string]Spec{"no Landlock": {Filter: filtered(), Network: NetworkOpen}}
	if Probe(c.t.Context(), "", Need{}).Landlock == 0 {
		return modes
	}
	on := c.landlocked()
	modes["on"] = on
	strict := on
	strict.Read = append(Except("/", []string{c.mkdir("hidden")}), strict.Write...)
	modes["strict"] = strict
	offline := on
	offline.Network, offline.IPC = NetworkNamespace, true
	if _, code := c.run(offline, "/bin/true"); code == 0 {
		modes["network off"] = offline
	}
	if c.uid == 0 && separable() {
		on.IPC = true
		modes["on, IPC namespace"] = on
	}
	return modes
}

// thorough asks for every attempt in every mode. CI sets it.
var thorough = os.Getenv("MARKMILL_ALL") != ""

// some returns the modes in which attempt number at is tried: one mode in turn, or all.
func some(modes map[string]Spec, at int) []string {
	names := slices.Sorted(maps.Keys(modes))
	if thorough || len(names) == 0 {
		return names
	}
	return names[at%len(names):][:1]
}

// TestForeign: no mode but off lets a step change an outside process, an IPC object, a key or the terminal's input.
// Without the sandbox each attempt works. Root and nobody try a quarter each, or all with MARKMILL_ALL set.
func TestForeign(t *testing.T) {
	if !filtered() {
		t.Skip("this kernel has no seccomp filters: nothing was tested")
	}
	users(t, func(t *testing.T, c cell) {
		off := Spec{Network: NetworkOpen}
		for at, name := range slices.Sorted(maps.Keys(foreign)) {
			if !thorough && (at%4 > 1 || os.Getuid() == 0 && (c.uid == 0) != (at%2 == 0)) {
				continue // the other user tries it, or MARKMILL_ALL
			}
			c := newCell(t, c.uid)
			c.mkdir("work")
			c.neighbour()
			if words, failed := c.attempt(off, "make objects"); failed {
				t.Fatal(words)
			}
			modes := c.modes()
			for _, mode := range some(modes, at) {
				if words, held := c.attempt(modes[mode], name); !held {
					t.Errorf("%s: %s: it got out: %s", mode, name, words)
				}
			}
			if words, held := c.attempt(off, name); held && !slices.Contains(uncertain, name) {
				t.Errorf("%s: it does not work without the sandbox either: %s", name, words)
			} else if held {
				t.Logf("%s: this system refuses it without the sandbox, too: %s", name, words)
			}
			if words, failed := c.attempt(off, "remove objects"); failed {
				t.Error(words)
			}
		}
		c.mkdir("work")
		c.neighbour()
		for mode, spec := range c.modes() {
			for _, name := range slices.Sorted(maps.Keys(ownProcess)) {
				if name == ofNamespace && !spec.IPC {
					continue
				}
				if words, held := c.attempt(spec, "own "+name); held {
					t.Errorf("%s: own %s: %s", mode, name, words)
				}
			}
		}
	})
}

// TestSessionKeyring: a step's session keyring is not its starter's.
func TestSessionKeyring(t *testing.T) {
	outside, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true)
	if err != nil || !filtered() {
		t.Skipf("this system has no keyrings, or no filters: %v", err)
	}
	inside := make(chan int)
	go func() {
		runtime.LockOSThread() // the thread ends with the rights it gave up
		if err := (Spec{Filter: true}).apart(); err != nil {
			t.Error(err)
		}
		id, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
		if err != nil {
			t.Error(err)
		}
		inside <- id
	}()
	if id := <-inside; id == outside {
		t.Errorf("it is the same: %d", id)
	}
}

// TestFilter: the filter's answers on every interface of every processor, including those that the tests do not run on.
func TestFilter(t *testing.T) {
	intel := machine{native: unix.AUDIT_ARCH_X86_64, other: unix.AUDIT_ARCH_I386,
		number: func(r rule) uint32 { return r.i386 }, x32: true}
	arm := machine{native: unix.AUDIT_ARCH_AARCH64, other: unix.AUDIT_ARCH_ARM,
		number: func(r rule) uint32 { return r.arm }}
	const allow, refuse, missing = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM),
		unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	whole, separate := Spec{Filter: true, Landlock: 7}, Spec{Filter: true, Landlock: 7, IPC: true}
	high := uint64(1) << 32
	for _, tc := range []struct {
		spec   Spec
		m      machine
		on     uint32
		number uint32
		args   []uint64
		want   uint32
	}{
		{whole, intel, unix.AUDIT_ARCH_X86_64, 0, nil, allow},
		{whole, intel, unix.AUDIT_ARCH_X86_64, unix.SYS_PRLIMIT64, []uint64{0, 7, 0x7fff00000000}, allow},
		// the kernel looks at the lower half
		{whole, intel, unix.AUDIT_ARCH_X86_64, unix.SYS_PRLIMIT64, []uint64{high, 7, 1}, allow},
		{whole, intel, unix.AUDIT_ARCH_X86_64, unix.SYS_PRLIMIT64, []uint64{9, 7, 0x7fff00000000}, refuse},
		{whole, intel, unix.AUDIT_ARCH_X86_64, unix.SYS_PRLIMIT64, []uint64{9, 7, 0, 0x7fff00000000}, allow},
		{whole, intel, unix.AUDIT_ARCH_X86_64, unix.SYS_SETPRIORITY, []uint64{0, 0, 5}, allow},
		{whole, intel, unix.AUDIT_ARCH_X86_64, unix.SYS_SETPRIORITY, []uint64{2, 0, 5}, refuse},
		// does nothing
		{whole, intel, unix.AUDIT_ARCH_X86_64, unix.SYS_SCHED_SETSCHEDULER, []uint64{9, 0, 1}, unix.SECCOMP_RET_ERRNO},
		{whole, intel, unix.AUDIT_ARCH_X86_64, unix.SYS_SCHED_SETSCHEDULER, []uint64{9, 3, 1}, refuse},
		{whole, intel, unix.AUDIT_ARCH_X86_64, unix.SYS_SCHED_SETSCHEDULER, []uint64{0, 3, 1}, allow},
		{whole, intel, unix.AUDIT_ARCH_X86_64, unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI}, refuse},
		{whole, intel, unix.AUDIT_ARCH_X86_64, unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI | high}, refuse},
		{whole, intel, unix.AUDIT_ARCH_X86_64, unix.SYS_IOCTL, []uint64{0, unix.TIOCGWINSZ}, allow},
		{whole, intel, unix.AUDIT_ARCH_X86_64, unix.SYS_SHMCTL, []uint64{5, 0}, refuse},
		{whole, intel, unix.AUDIT_ARCH_X86_64, unix.SYS_SHMCTL, []uint64{5, 2}, allow},
		{separate, intel, unix.AUDIT_ARCH_X86_64, unix.SYS_SHMCTL, []uint64{5, 0}, allow},
		// Landlock holds it
		{whole, intel, unix.AUDIT_ARCH_X86_64, unix.SYS_PTRACE, []uint64{unix.PTRACE_SEIZE, 9}, allow},
		{Spec{Filter: true}, intel, unix.AUDIT_ARCH_X86_64, unix.SYS_PTRACE, []uint64{unix.PTRACE_SEIZE, 9}, refuse},
		{Spec{Filter: true}, intel, unix.AUDIT_ARCH_X86_64, unix.SYS_PTRACE, []uint64{unix.PTRACE_TRACEME}, allow},
		{whole, intel, unix.AUDIT_ARCH_X86_64, x32Calls + unix.SYS_PRLIMIT64, []uint64{9, 7, 1}, missing},
		{whole, intel, unix.AUDIT_ARCH_I386, 340, []uint64{9, 7, 1}, refuse},
		{whole, intel, unix.AUDIT_ARCH_I386, 340, []uint64{0, 7, 1}, allow},
		{whole, intel, unix.AUDIT_ARCH_I386, 288, nil, refuse},
		{whole, intel, unix.AUDIT_ARCH_I386, 117, []uint64{24, 5, 0x100}, refuse},
		{whole, intel, unix.AUDIT_ARCH_I386, 117, []uint64{24 | 1<<16, 5, 0}, refuse},
		{whole, intel, unix.AUDIT_ARCH_I386, 117, []uint64{24, 5, 0x102}, allow},
		{whole, intel, unix.AUDIT_ARCH_I386, 117, []uint64{14, 5, 0}, refuse},
		{whole, intel, unix.AUDIT_ARCH_I386, 117, []uint64{3, 5, 0, 16}, refuse},
		{whole, intel, unix.AUDIT_ARCH_I386, 117, []uint64{3, 5, 0, 12}, allow},
		{whole, intel, unix.AUDIT_ARCH_I386, 117, []uint64{23, 5, 0}, allow},
		{whole, intel, unix.AUDIT_ARCH_I386, 3, nil, allow},
		{whole, intel, unix.AUDIT_ARCH_ARM, 3, nil, missing},
		{whole, arm, unix.AUDIT_ARCH_ARM, 369, []uint64{9, 7, 1}, refuse},
		{whole, arm, unix.AUDIT_ARCH_ARM, 340, []uint64{9, 7, 1}, allow},
		{whole, arm, unix.AUDIT_ARCH_I386, 3, nil, missing},
	} {
		vm, err := bpf.NewVM(filter(tc.m, tc.spec.filterRules()))
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, 64) // the simulation is big-endian
		put := func(at uint32, v uint32) {
			data[at], data[at+1], data[at+2], data[at+3] = byte(v>>24), byte(v>>16), byte(v>>8), byte(v)
		}
		put(offsetCall, tc.number)
		put(offsetMachine, tc.on)
		for i, a := range tc.args {
			put(word{argument: i}.offset(), uint32(a))
			put(word{argument: i, upper: true}.offset(), uint32(a>>32))
		}
		if got, err := vm.Run(data); err != nil || uint32(got) != tc.want {
			t.Errorf("%#x: call %d %v: %#x, want %#x (%v)", tc.on, tc.number, tc.args, got, tc.want, err)
		}
	}
}
