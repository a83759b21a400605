package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"markmill/runs"
)

// Confine takes the rights in the Spec from the calling thread, and so from every program that it starts. The thread
// must be locked to its goroutine and end with it: lost rights do not come back. Compared to the helper, this saves a
// session the start of one program.
//
// Landlock and capabilities are per thread (landlock(7), capabilities(7)); namespaces and limits are per process. If
// OnThread is false, the helper is needed.
func (s Spec) Confine() error {
	if err := dropCapabilities(s.Files); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	if err := s.apart(); err != nil {
		return err
	}
	if err := s.restrict(); err != nil {
		return err
	}
	return s.refuse()
}

// OnThread reports whether Confine can enforce the whole Spec.
func (s Spec) OnThread() bool {
	return !s.Namespaces() && s.Resources == runs.ResourcesData{}
}

// Landlock rights, by the ABI version that added them.
const (
	writing uint64 = ll.AccessFSWriteFile | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile |
		ll.AccessFSMakeChar | ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSock |
		ll.AccessFSMakeFifo | ll.AccessFSMakeBlock | ll.AccessFSMakeSym
	noDevices uint64 = ll.AccessFSMakeChar | ll.AccessFSMakeBlock // a device file bypasses every folder
	ofFiles   uint64 = ll.AccessFSExecute | ll.AccessFSWriteFile | ll.AccessFSReadFile |
		ll.AccessFSTruncate | ll.AccessFSIoctlDev
	reading uint64 = ll.AccessFSReadFile | ll.AccessFSExecute
)

// handled returns the rights that are removed, except where a rule grants them.
func (s Spec) handled() (a ll.RulesetAttr) {
	if s.Network == NetworkTCP {
		a.HandledAccessNet = ll.AccessNetBindTCP | ll.AccessNetConnectTCP
	}
	if !s.Files {
		return a
	}
	a.HandledAccessFS = writing
	for _, r := range []struct {
		abi   int
		right uint64
	}{{2, ll.AccessFSRefer}, {3, ll.AccessFSTruncate}, {5, ll.AccessFSIoctlDev}} {
		if s.Landlock >= r.abi {
			a.HandledAccessFS |= r.right
		}
	}
	if len(s.Read) > 0 {
		a.HandledAccessFS |= reading
	}
	if s.Landlock >= 6 {
		a.Scoped = ll.ScopeSignal | ll.ScopeAbstractUnixSocket
	}
	return a
}

// restrict applies the Landlock rules to the calling thread.
func (s Spec) restrict() error {
	if s.Landlock == 0 {
		return nil
	}
	attr := s.handled()
	set, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return fmt.Errorf("landlock_create_ruleset: %w", err)
	}
	defer unix.Close(set)
	if s.Files {
		for path, rights := range s.rules(attr.HandledAccessFS) {
			if err := allow(set, path, rights); err != nil {
				return fmt.Errorf("landlock_add_rule: %s: %w", path, err)
			}
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if err := ll.LandlockRestrictSelf(set, 0); err != nil {
		return fmt.Errorf("landlock_restrict_self: %w", err)
	}
	return nil
}

// rules returns the rights to grant at each path and everything below it.
func (s Spec) rules(handled uint64) map[string]uint64 {
	rules := map[string]uint64{}
	for _, path := range append(slices.Clone(s.Write), shared) {
		rules[path] |= handled &^ noDevices
	}
	for _, path := range devices {
		rules[path] |= handled & (ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev |
			ll.AccessFSReadFile)
	}
	for _, path := range s.Read {
		rules[path] |= handled & reading
	}
	return rules
}

// allow adds one rule. A missing path grants nothing.
func allow(set int, path string, rights uint64) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return nil // unreachable, so unusable as well
	}
	if !info.IsDir() {
		rights &= ofFiles
	}
	if rights == 0 {
		return nil
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	return ll.LandlockAddPathBeneathRule(set, &ll.PathBeneathAttr{ParentFd: fd, AllowedAccess: rights}, 0)
}
