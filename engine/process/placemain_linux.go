package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"markmill/notebooks/lazyregexp"
)

// PlaceMain is the main function of a place's first process, whose standard input is one end of a socket. options reads
// the order of a request to start a program: what Options.Confine and Options.Attributes are there.
func PlaceMain(args []string, options func(order string) (Options, error)) int {
	if len(args) != 3 || args[0] != placeFlag || markOfWord(args[2]) == 0 {
		return 2
	}
	mark, look := markOfWord(args[2]), openProcesses()
	dropInherited()
	const line = 0
	unix.CloseOnExec(line)
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if reply(line, "", "making its mounts private", err) != nil || err != nil {
		return 1
	}
	var children []int // a descriptor of each process
	left := false
	for !left {
		words, fds, err := receive(line)
		if err != nil {
			break
		}
		children = slices.DeleteFunc(children, func(fd int) bool {
			over := unix.PidfdSendSignal(fd, 0, nil, 0) != nil
			if over {
				unix.Close(fd)
			}
			return over
		})
		switch words[0] {
		case "mount":
			var at, refused string
			for _, m := range mountsOf(words[1:]) {
				at, err = "mounting "+m.To, m.mount()
				if err != nil && m.Optional {
					refused += fmt.Sprintf("%q: %v\n", m.To, err)
					err = nil
				}
				if err != nil {
					break
				}
			}
			err = reply(line, refused, at, err)
		case "start":
			pid, child, failed := fork(words[1:], fds, options)
			if failed == nil {
				children = append(children, child)
			}
			err = reply(line, strconv.Itoa(pid), "", failed)
		case "leave":
			left = true
		}
		for _, fd := range fds {
			unix.Close(fd)
		}
		if err != nil {
			break
		}
	}
	for _, fd := range children {
		unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
	if !left { // Markmill is gone
		mark.endAll(look, time.Minute)
	}
	return 0
}

func reply(line int, answer, about string, err error) error {
	number, words := "0", ""
	switch errno, bare := err.(syscall.Errno); {
	case bare:
		number, words = strconv.Itoa(int(errno)), about
	case err != nil:
		words = strings.TrimPrefix(about+": "+err.Error(), ": ")
	}
	return send(line, []string{number, words, answer}, nil)
}

// fork starts a program as a child of this process's parent, and returns its number and a descriptor of it.
func fork(words []string, files []int, options func(order string) (Options, error)) (pid, child int, err error) {
	program, dir, order := words[0], words[1], words[2]
	n, err := strconv.Atoi(words[3])
	if err != nil || n > len(words)-4 {
		return 0, 0, syscall.EINVAL
	}
	argv, env := words[4:4+n], words[4+n:]
	o, err := options(order)
	if err != nil {
		return 0, 0, err
	}
	fds := make([]uintptr, len(files))
	for i, fd := range files {
		fds[i] = uintptr(fd)
	}
	done := make(chan struct{})
	go onThread(func() {
		defer close(done)
		// What made the mounts is none of the program's rights.
		if err = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
			return
		}
		if o.Confine != nil {
			if err = o.Confine(); err != nil {
				return
			}
		}
		sys := &syscall.SysProcAttr{Setpgid: true}
		if o.Attributes != nil {
			o.Attributes(sys)
		}
		sys.Cloneflags |= syscall.CLONE_PARENT
		sys.PidFD = &child
		pid, err = syscall.ForkExec(program, argv, &syscall.ProcAttr{Dir: dir, Env: env, Files: fds, Sys: sys})
	}, false)
	<-done
	return pid, child, err
}

func (m Mount) mount() error {
	if m.Upper != "" {
		return m.overlay()
	}
	if err := unix.Mount(m.From, m.To, "", unix.MS_BIND|unix.MS_REC, ""); err != nil || !m.ReadOnly {
		return err
	}
	return unix.MountSetattr(unix.AT_FDCWD, m.To, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// overlay mounts From with what is written kept in Upper, or in memory if the file system of Upper cannot carry that.
func (m Mount) overlay() error {
	err := m.overlayOnce()
	if err != nil && !m.Kept && unix.Mount("tmpfs", m.Upper, "tmpfs", 0, "mode=700") == nil {
		err = m.overlayOnce()
	}
	return err
}

// everyone is the map of users outside of user namespaces, in which an overlay may use the attributes of root.
var everyone = lazyregexp.New(`^\s*0\s+0\s+4294967295\s*$`)

func (m Mount) overlayOnce() error {
	var options []string
	for _, layer := range [][2]string{{"lowerdir", m.From}, {"over", m.Over},
		{"upperdir", filepath.Join(m.Upper, "files")}, {"workdir", filepath.Join(m.Upper, "work")}} {
		if layer[1] == "" {
			continue
		}
		if layer[1] != m.From && layer[1] != m.Over {
			if err := os.Mkdir(layer[1], 0o755); err != nil && !errors.Is(err, os.ErrExist) {
				return err
			}
		}
		fd, err := unix.Open(layer[1], unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		// By number: a path may hold characters that mean something here.
		at := fmt.Sprintf("/proc/self/fd/%d", fd)
		if layer[0] == "over" {
			options[0] = "lowerdir=" + at + ":" + strings.TrimPrefix(options[0], "lowerdir=")
			continue
		}
		options = append(options, layer[0]+"="+at)
	}
	attribute := "trusted.markmill"
	if uids, err := os.ReadFile("/proc/self/uid_map"); err == nil && !everyone.Match(uids) {
		options, attribute = append(options, "userxattr"), "user.markmill"
	} else if m.Kept { // the files are read without the overlay afterwards: each must be whole
		options = append(options, "redirect_dir=off", "metacopy=off")
	}
	// Linux mounts an upper layer without attributes, too, and then no folder of the lower layer can be removed.
	files := filepath.Join(m.Upper, "files")
	if err := unix.Setxattr(files, attribute, nil, 0); err != nil {
		return fmt.Errorf("the file system of %s carries no overlay: %w", m.Upper, err)
	}
	if err := unix.Removexattr(files, attribute); err != nil {
		return err
	}
	// Without volatile, the end of the mount waits until all that was written is on the disk. Linux has it since 5.10.
	err := unix.Mount("overlay", m.To, "overlay", 0, strings.Join(append(options, "volatile"), ","))
	if err == unix.EINVAL {
		err = unix.Mount("overlay", m.To, "overlay", 0, strings.Join(options, ","))
	}
	return err
}
