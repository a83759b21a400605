package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"markmill/runs"
)

// probe, in place of the Spec's file, only tries out mounts and network in the namespaces, on a folder.
const probe = "--probe"

// Main is the helper: it gives up rights and becomes the program. It returns only on failure, and then has started
// nothing.
func Main(args []string, stderr io.Writer) int {
	runtime.LockOSThread() // capabilities are per thread, and this one becomes the program
	code, err := become(args)
	if err != nil {
		fmt.Fprintln(stderr, HelperName+": "+err.Error())
	}
	return code
}

func become(args []string) (int, error) {
	if len(args) >= 2 && args[0] == probe {
		if args[1] == "network" {
			return 0, loopback()
		}
		return 0, readOnly(Spec{ReadOnly: []string{args[1]}})
	}
	if len(args) < 2 {
		return exitRefused, errors.New("usage: " + HelperName +
			" SPEC PROGRAM [ARGUMENT...]; it is started by markmill")
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return exitRefused, err
	}
	s, err := SpecOf(string(text))
	if err != nil {
		return exitRefused, err
	}
	if err := s.apply(); err != nil {
		return exitRefused, err
	}
	err = syscall.Exec(args[1], args[1:], os.Environ())
	if errors.Is(err, fs.ErrNotExist) {
		return exitMissing, fmt.Errorf("%s: %w", args[1], err)
	}
	return exitRefused, fmt.Errorf("%s: %w", args[1], err)
}

func (s Spec) apply() error {
	if s.Network == NetworkNamespace {
		if err := loopback(); err != nil {
			return fmt.Errorf("the loopback of the network namespace: %w", err)
		}
	}
	if err := readOnly(s); err != nil {
		return err
	}
	if err := s.Confine(); err != nil {
		return err
	}
	return limit(s.Resources) // last: the helper itself needs memory
}

// loopback brings up the loopback interface of a new network namespace, because tests start servers.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// readOnly bind-mounts read-only paths over themselves, in the mount namespace that the helper was started in. Landlock
// then forbids mounting, so no step can undo it.
func readOnly(s Spec) error {
	if len(s.ReadOnly) == 0 {
		return nil
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("the mount namespace: %w", err)
	}
	mount := func(path string, attr unix.MountAttr) error {
		if err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("mounting %s: %w", path, err)
		}
		if err := unix.MountSetattr(unix.AT_FDCWD, path, unix.AT_RECURSIVE, &attr); err != nil {
			return fmt.Errorf("mounting %s: %w", path, err)
		}
		return nil
	}
	for _, path := range s.ReadOnly {
		if err := mount(path, unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return err
		}
	}
	for _, path := range s.Write {
		if !Within(path, s.ReadOnly) {
			continue
		}
		if err := mount(path, unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return err
		}
	}
	// The working directory is still the one that the new mounts hide.
	wd, err := os.Getwd()
	if err != nil {
		return err
	}
	return os.Chdir(wd)
}

// limit sets the resource limits. It raises none above the caller's hard limit.
func limit(r runs.ResourcesData) error {
	for _, l := range []struct {
		name     string
		resource int
		value    uint64
	}{
		// The memory limit counts writable memory (setrlimit(2)), not address space that is only reserved: Node and
		// Java reserve gigabytes.
		{"memory", unix.RLIMIT_DATA, uint64(r.Memory)},
		{"processes", unix.RLIMIT_NPROC, uint64(r.Processes)},
		{"file-size", unix.RLIMIT_FSIZE, uint64(r.FileSize)},
		{"open-files", unix.RLIMIT_NOFILE, uint64(r.OpenFiles)},
	} {
		if l.value == 0 {
			continue
		}
		if l.resource == unix.RLIMIT_NPROC {
			l.value += tasks(os.Getuid())
		}
		var now syscall.Rlimit
		if err := syscall.Getrlimit(l.resource, &now); err != nil {
			return fmt.Errorf("the limit of %s: %w", l.name, err)
		}
		value := min(l.value, now.Max)
		if err := syscall.Setrlimit(l.resource, &syscall.Rlimit{Cur: value, Max: value}); err != nil {
			return fmt.Errorf("the limit of %s: %w", l.name, err)
		}
	}
	return nil
}

// tasks counts the user's current threads: the system's limit is per user, not per session.
func tasks(uid int) (n uint64) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		var st unix.Stat_t
		if unix.Stat("/proc/"+e.Name(), &st) != nil || int(st.Uid) != uid {
			continue
		}
		if unix.Stat("/proc/"+e.Name()+"/task", &st) == nil {
			n += uint64(st.Nlink) - 2
		}
	}
	return n
}

// dropped lists the capabilities of root that bypass every file rule: modules, raw devices, mounts, other processes'
// memory, the clock, the next boot.
var dropped = []uintptr{unix.CAP_SYS_MODULE, unix.CAP_SYS_RAWIO, unix.CAP_SYS_ADMIN, unix.CAP_SYS_PTRACE,
	unix.CAP_SYS_BOOT, unix.CAP_SYS_TIME, unix.CAP_MKNOD, unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_MAC_ADMIN,
	unix.CAP_MAC_OVERRIDE, unix.CAP_LINUX_IMMUTABLE, unix.CAP_AUDIT_CONTROL, unix.CAP_DAC_READ_SEARCH, unix.CAP_SYSLOG}

// dropCapabilities drops, from this thread and the program it becomes, the capabilities that namespaces gave it
// temporarily and, in a sandbox, those of root that no step needs. A caller that may not drop them has less than root
// already.
func dropCapabilities(sandboxed bool) error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	if !sandboxed {
		return nil
	}
	for _, c := range dropped {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if err != nil && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EINVAL) { // EINVAL: an older Linux
			return err
		}
	}
	return nil
}

// Probe finds out what the system offers. helper is a program that calls Main when started as HelperName; it is started
// only if needed.
func Probe(ctx context.Context, helper string, need Need) Offer {
	o := Offer{System: runtime.GOOS, Limits: true, Root: os.Getuid() == 0, NoFilter: !filtered(),
		IPC: need.IPC && separable()}
	if abi, err := ll.LandlockGetABIVersion(); err == nil && abi > 0 {
		o.Landlock = abi
	}
	try := func(s Spec, what string) bool {
		cmd := exec.CommandContext(ctx, helper)
		cmd.Args = []string{HelperName, probe, what}
		cmd.SysProcAttr = &syscall.SysProcAttr{}
		s.Attributes(cmd.SysProcAttr)
		return cmd.Run() == nil
	}
	o.Network = need.Network && try(Spec{Network: NetworkNamespace}, "network")
	o.Mounts = need.Mounts && try(Spec{ReadOnly: []string{"/"}}, filepath.Dir(helper))
	return o
}

// Attributes returns how to start the helper for its Spec: namespaces are created with a process. They always include a
// user namespace: other users than root need it to create the rest, and in it root has no right to re-enter the old
// ones.
func (s Spec) Attributes(a *syscall.SysProcAttr) {
	if !s.Namespaces() {
		return
	}
	a.Cloneflags |= syscall.CLONE_NEWUSER
	if s.Network == NetworkNamespace {
		a.Cloneflags |= syscall.CLONE_NEWNET
	}
	if len(s.ReadOnly) > 0 {
		a.Cloneflags |= syscall.CLONE_NEWNS
	}
	if s.IPC {
		a.Cloneflags |= syscall.CLONE_NEWIPC
	}
	if os.Geteuid() != 0 {
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		a.AmbientCaps = append(a.AmbientCaps, unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN)
		return
	}
	a.UidMappings, a.GidMappings = identity("/proc/self/uid_map"), identity("/proc/self/gid_map")
	a.GidMappingsEnableSetgroups = true
}

// identity maps every id of this user namespace to itself.
func identity(file string) []syscall.SysProcIDMap {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var out []syscall.SysProcIDMap
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		first, err1 := strconv.Atoi(f[0])
		size, err2 := strconv.Atoi(f[2])
		if err1 == nil && err2 == nil {
			out = append(out, syscall.SysProcIDMap{ContainerID: first, HostID: first, Size: size})
		}
	}
	return out
}

// Writable reports whether the caller, who is in no sandbox, may write a file or in a folder.
func Writable(path string) bool { return unix.Access(path, unix.W_OK) == nil }
