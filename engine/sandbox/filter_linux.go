package sandbox

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// What the seccomp filter refuses (seccomp(2)). Landlock restricts files, signals and tracing, but not limits,
// priorities, placement, System V IPC and keys, which the kernel lets a process change for every other process of its
// user. A filter sees only numbers, not their owners: so a step may change its own process as 0, but no process by its
// number, not even its own. The error is EPERM, which programs know from containers.

// word is half of a system call's argument: the lower half, which is all that the kernel uses of a pid_t, a command or
// a request, or the upper half.
type word struct {
	argument int
	upper    bool
	mask     uint32 // 0 takes all of it
}

// test passes when the word is one of the values, or none of them.
type test struct {
	word
	none   bool
	values []uint32
	noop   bool // no test: the call does nothing and succeeds
}

// rule is a system call that is refused unless all tests of one of its alternatives pass.
type rule struct {
	native, i386, arm uint32 // its numbers; 0 if the system has no such call
	allowed           [][]test
}

func is(argument int, values ...uint32) test {
	return test{word: word{argument: argument}, values: values}
}

// own allows a call whose argument is 0: the calling process or thread.
func own(argument int) [][]test { return [][]test{{is(argument, 0)}} }

// command compares the command of a System V call, ignoring IPC_64, a bit that old C libraries set.
func command(argument int, values ...uint32) test {
	return test{word: word{argument: argument, mask: ^uint32(0x100)}, values: values}
}

// Commands that only report on a System V object (shmctl(2), semctl(2), msgctl(2)).
var (
	tellsOfMemory     = []uint32{2, 3, 13, 14, 15}
	tellsOfSemaphores = []uint32{2, 3, 11, 12, 13, 14, 15, 18, 19, 20}
	tellsOfQueues     = []uint32{2, 3, 11, 12, 13}
)

// filterRules returns the rules for a Spec.
func (s Spec) filterRules() []rule {
	const process = 0 // PRIO_PROCESS of setpriority(2); the others reach groups and users
	rules := []rule{
		{unix.SYS_PRLIMIT64, 340, 369, // reading is allowed
			[][]test{{is(0, 0)}, {is(2, 0), {word: word{argument: 2, upper: true}, values: []uint32{0}}}}},
		{unix.SYS_SETPRIORITY, 97, 97, [][]test{{is(0, process), is(1, 0)}}},
		{unix.SYS_IOPRIO_SET, 289, 314, [][]test{{is(0, 1), is(1, 0)}}}, // IOPRIO_WHO_PROCESS
		{unix.SYS_SCHED_SETPARAM, 154, 154, own(0)},
		// Libraries such as ZeroMQ set the default policy on threads that already have it and abort on an error.
		{unix.SYS_SCHED_SETSCHEDULER, 156, 156, [][]test{{is(0, 0)}, {is(1, unix.SCHED_NORMAL), {noop: true}}}},
		{unix.SYS_SCHED_SETAFFINITY, 241, 241, own(0)},
		{unix.SYS_SCHED_SETATTR, 351, 380, own(0)},
		{unix.SYS_MIGRATE_PAGES, 294, 400, own(0)},
		{unix.SYS_MOVE_PAGES, 317, 344, own(0)},
		{unix.SYS_PROCESS_MADVISE, 440, 440, nil},
		// Keys are found by number in every keyring of the user, whatever the session keyring is.
		{unix.SYS_ADD_KEY, 286, 309, nil},
		{unix.SYS_REQUEST_KEY, 287, 310, nil},
		{unix.SYS_KEYCTL, 288, 311, nil},
		// The user's shell would run what a step types into their shared terminal.
		{unix.SYS_IOCTL, 54, 54,
			[][]test{{{word: word{argument: 1}, none: true, values: []uint32{unix.TIOCSTI, unix.TIOCLINUX}}}}},
	}
	if !s.IPC {
		rules = append(rules,
			rule{unix.SYS_SHMCTL, 396, 308, [][]test{{command(1, tellsOfMemory...)}}},
			rule{unix.SYS_SEMCTL, 394, 300, [][]test{{command(2, tellsOfSemaphores...)}}},
			rule{unix.SYS_MSGCTL, 402, 304, [][]test{{command(1, tellsOfQueues...)}}},
			rule{unix.SYS_MQ_UNLINK, 278, 275, nil}, // Landlock does not see it
			rule{ipcCall(), 117, 0, [][]test{
				{{word: word{mask: 0xffff}, none: true, values: []uint32{3, 14, 24}}},
				{{word: word{mask: 0xffff}, values: []uint32{24}}, command(2, tellsOfMemory...)},
				{{word: word{mask: 0xffff}, values: []uint32{3}}, command(3, tellsOfSemaphores...)},
				{{word: word{mask: 0xffff}, values: []uint32{14}}, command(2, tellsOfQueues...)},
			}})
	}
	if s.Landlock == 0 { // with Landlock, a step can do these only to its own processes
		rules = append(rules,
			rule{unix.SYS_PTRACE, 26, 26,
				[][]test{{{word: word{argument: 0}, none: true,
					values: []uint32{unix.PTRACE_ATTACH, unix.PTRACE_SEIZE}}}}},
			rule{unix.SYS_PROCESS_VM_READV, 347, 376, nil},
			rule{unix.SYS_PROCESS_VM_WRITEV, 348, 377, nil},
			rule{unix.SYS_PIDFD_GETFD, 438, 438, nil},
			rule{unix.SYS_KCMP, 349, 378, nil},
			rule{unix.SYS_PERF_EVENT_OPEN, 336, 364, own(1)})
	}
	return rules
}

// ipcCall is the number of ipc(2), which stands for all calls of System V IPC on some processors.
func ipcCall() uint32 {
	switch runtime.GOARCH {
	case "386", "s390x", "ppc64", "ppc64le":
		return 117
	case "mips", "mipsle":
		return 4117
	}
	return 0
}

// machine is a processor as the kernel names it to filters, and the other interfaces its kernel may run.
type machine struct {
	native uint32
	other  uint32 // 0 is none: its calls do not exist
	number func(rule) uint32
	x32    bool // calls from this number on belong to another interface, which a filter must cover
}

const x32Calls = 0x40000000

func thisMachine() (machine, bool) {
	i386 := func(r rule) uint32 { return r.i386 }
	arm := func(r rule) uint32 { return r.arm }
	m, ok := map[string]machine{
		"amd64":    {native: unix.AUDIT_ARCH_X86_64, other: unix.AUDIT_ARCH_I386, number: i386, x32: true},
		"386":      {native: unix.AUDIT_ARCH_I386},
		"arm64":    {native: unix.AUDIT_ARCH_AARCH64, other: unix.AUDIT_ARCH_ARM, number: arm},
		"arm":      {native: unix.AUDIT_ARCH_ARM},
		"riscv64":  {native: unix.AUDIT_ARCH_RISCV64},
		"loong64":  {native: unix.AUDIT_ARCH_LOONGARCH64},
		"ppc64":    {native: unix.AUDIT_ARCH_PPC64},
		"ppc64le":  {native: unix.AUDIT_ARCH_PPC64LE},
		"s390x":    {native: unix.AUDIT_ARCH_S390X},
		"mips":     {native: unix.AUDIT_ARCH_MIPS},
		"mipsle":   {native: unix.AUDIT_ARCH_MIPSEL},
		"mips64":   {native: unix.AUDIT_ARCH_MIPS64},
		"mips64le": {native: unix.AUDIT_ARCH_MIPSEL64},
	}[runtime.GOARCH]
	return m, ok
}

var (
	returnAllow   = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	returnNothing = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO} // the error 0 is success
	returnRefuse  = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	returnMissing = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}
)

// Offsets in struct seccomp_data.
const (
	offsetCall      = 0
	offsetMachine   = 4
	offsetArguments = 16
)

// filter returns the program: it checks the machine, then one call after another. Calls that are not in it cost
// nothing: since Linux 5.11 the kernel caches that they are allowed.
func filter(m machine, rules []rule) []bpf.Instruction {
	calls := section(rules, func(r rule) uint32 { return r.native }, m.x32)
	other := []bpf.Instruction{returnMissing}
	if m.other != 0 {
		other = append([]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpEqual, Val: m.other, SkipTrue: 1}, returnMissing},
			section(rules, m.number, false)...)
	}
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetMachine, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: m.native, SkipTrue: 1},
		bpf.Jump{Skip: uint32(len(calls))},
	}
	return append(append(program, calls...), other...)
}

func section(rules []rule, number func(rule) uint32, x32 bool) []bpf.Instruction {
	out := []bpf.Instruction{bpf.LoadAbsolute{Off: offsetCall, Size: 4}}
	if x32 {
		out = append(out, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: x32Calls, SkipFalse: 1}, returnMissing)
	}
	for _, r := range rules {
		if number(r) == 0 {
			continue
		}
		body := r.body()
		out = append(out, bpf.JumpIf{Cond: bpf.JumpEqual, Val: number(r), SkipFalse: uint8(len(body))})
		out = append(out, body...)
	}
	return append(out, returnAllow)
}

// body returns the instructions that decide a call. They always return.
func (r rule) body() []bpf.Instruction {
	out := []bpf.Instruction{returnRefuse}
	for i := range r.allowed { // last to first, because jumps go forward
		alternative := []bpf.Instruction{returnAllow}
		tests := r.allowed[len(r.allowed)-1-i]
		if last := len(tests) - 1; tests[last].noop {
			alternative, tests = []bpf.Instruction{returnNothing}, tests[:last]
		}
		for j := range tests {
			alternative = tests[len(tests)-1-j].before(alternative)
		}
		out = append(alternative, out...)
	}
	return out
}

// before puts a test in front of instructions that are skipped unless it passes.
func (t test) before(next []bpf.Instruction) []bpf.Instruction {
	out := []bpf.Instruction{bpf.LoadAbsolute{Off: t.offset(), Size: 4}}
	if t.mask != 0 {
		out = append(out, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: t.mask})
	}
	for i, v := range t.values {
		left := uint8(len(t.values) - 1 - i)
		jump := bpf.JumpIf{Cond: bpf.JumpEqual, Val: v}
		switch {
		case t.none:
			jump.SkipTrue = left + uint8(len(next))
		case left > 0:
			jump.SkipTrue = left
		default:
			jump.SkipFalse = uint8(len(next))
		}
		out = append(out, jump)
	}
	return append(out, next...)
}

func (w word) offset() uint32 {
	at := offsetArguments + 8*uint32(w.argument)
	little := binary.NativeEndian.Uint16([]byte{1, 0}) == 1
	if little == w.upper {
		at += 4
	}
	return at
}

// filtered reports whether this kernel supports filters and this processor is known.
func filtered() bool {
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	_, known := thisMachine()
	return errno == 0 && known
}

// refuse installs the filter on the calling thread and everything that it starts.
func (s Spec) refuse() error {
	if !s.Filter {
		return nil
	}
	m, ok := thisMachine()
	if !ok {
		return fmt.Errorf("seccomp: the processor %s is not known", runtime.GOARCH)
	}
	raw, err := bpf.Assemble(filter(m, s.filterRules()))
	if err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	code := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		code[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	// Without the flag, kernels before 5.16 slow every filtered process down against Spectre.
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(code)
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return nil
}

// apart gives the calling thread and everything it starts separate IPC objects and a separate session keyring. A
// process that is started with namespaces already has the former (Attributes).
func (s Spec) apart() error {
	if !s.Filter {
		return nil
	}
	// A failure (the user has too many keys) does no harm: the filter refuses all of keyctl(2).
	_, _ = unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0)
	if !s.IPC || s.Namespaces() {
		return nil
	}
	if err := unix.Unshare(unix.CLONE_NEWIPC); err != nil {
		return fmt.Errorf("the IPC namespace: %w", err)
	}
	return nil
}

// separable reports whether a thread can get an IPC namespace without a user namespace. In a user namespace other
// users' files seem to belong to nobody, and ssh refuses its settings.
func separable() bool {
	if unix.Geteuid() != 0 {
		return false
	}
	made := make(chan bool, 1)
	try := func(placed chan<- struct{}) { // its thread stays locked and ends with the goroutine
		runtime.LockOSThread()
		close(placed)
		made <- unix.Unshare(unix.CLONE_NEWIPC) == nil
	}
	go func() {
		runtime.LockOSThread()
		placed := make(chan struct{})
		if unix.Gettid() != unix.Getpid() {
			try(placed)
			return
		}
		go try(placed) // the main thread cannot end: hold it here until that goroutine has another
		<-placed
		runtime.UnlockOSThread()
	}()
	return <-made
}
