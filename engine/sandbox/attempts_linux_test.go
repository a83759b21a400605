package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// attempts lists ways out of the folder work. top is the folder that holds it and out/victim, which must not change. An
// attempt that succeeds returns nil.
var attempts = map[string]func(top string) error{
	"create by absolute path": func(top string) error { return create(top + "/out/new") },
	"overwrite":               func(top string) error { return overwrite(top + "/out/victim") },
	"append":                  func(top string) error { return open(top+"/out/victim", os.O_APPEND|os.O_WRONLY) },
	"truncate while opening":  func(top string) error { return open(top+"/out/victim", os.O_TRUNC|os.O_RDONLY) },
	"dot dot":                 func(string) error { return overwrite("../out/victim") },
	"through a link": func(top string) error {
		return first(os.Symlink(top+"/out/victim", "link"), func() error { return overwrite("link") })
	},
	"through a linked folder": func(top string) error {
		return first(os.Symlink(top+"/out", "folder"), func() error { return create("folder/new") })
	},
	"hard link in": func(top string) error {
		return first(os.Link(top+"/out/victim", "hard"), func() error { return overwrite("hard") })
	},
	"hard link out": func(top string) error {
		return first(create("mine"), func() error { return os.Link("mine", top+"/out/new") })
	},
	"move in": func(top string) error { return os.Rename(top+"/out/victim", "taken") },
	"move out": func(top string) error {
		return first(create("mine2"), func() error { return os.Rename("mine2", top+"/out/victim") })
	},
	"exchange": func(top string) error {
		return first(create("mine3"), func() error {
			return unix.Renameat2(unix.AT_FDCWD, "mine3", unix.AT_FDCWD, top+"/out/victim", unix.RENAME_EXCHANGE)
		})
	},
	"remove":             func(top string) error { return syscall.Unlink(top + "/out/victim") },
	"remove a folder":    func(top string) error { return syscall.Rmdir(top + "/out/empty") },
	"make a folder":      func(top string) error { return os.Mkdir(top+"/out/new", 0o755) },
	"make a link":        func(top string) error { return os.Symlink("x", top+"/out/new") },
	"make a pipe":        func(top string) error { return unix.Mkfifo(top+"/out/new", 0o644) },
	"make a socket":      func(top string) error { return listen(top + "/out/new") },
	"nameless file":      func(top string) error { return open(top+"/out", unix.O_TMPFILE|os.O_WRONLY) },
	"by /proc/self/root": func(top string) error { return overwrite("/proc/self/root" + top + "/out/victim") },
	"by /proc/self/cwd":  func(string) error { return overwrite("/proc/self/cwd/../out/victim") },
	"by the parent's root": func(top string) error {
		return overwrite(fmt.Sprintf("/proc/%d/root%s/out/victim", os.Getppid(), top))
	},
	"by the first process's root": func(top string) error { return overwrite("/proc/1/root" + top + "/out/victim") },
	"by a folder's descriptor": func(top string) error {
		dir, err := unix.Open(top+"/out", unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		_, err = unix.Openat(dir, "victim", unix.O_WRONLY, 0)
		return err
	},
	"reopen a descriptor": func(top string) error {
		fd, err := unix.Open(top+"/out/victim", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return overwrite("/proc/self/fd/" + strconv.Itoa(fd))
	},
	"by a file handle": func(top string) error {
		handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, top+"/out/victim", 0)
		if err != nil {
			return err
		}
		mount, err := unix.Open(top, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		_, err = unix.OpenByHandleAt(mount, handle, unix.O_WRONLY)
		return err
	},
	"other root folder": func(top string) error {
		return first(syscall.Chroot(top+"/out"), func() error { return create("/new") })
	},
	"mount over": func(top string) error { return unix.Mount(top+"/out", top+"/work", "", unix.MS_BIND, "") },
	"mount in namespaces of its own": func(top string) error {
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}}
		return first(cmd.Run(), func() error { return unix.Mount(top+"/out", top+"/work", "", unix.MS_BIND, "") })
	},
	"raw disk": func(string) error {
		var st unix.Stat_t
		if err := unix.Stat("/", &st); err != nil {
			return err
		}
		return first(unix.Mknod("disk", unix.S_IFBLK|0o600, int(st.Dev)),
			func() error { return open("disk", os.O_RDWR) })
	},
	"character device": func(string) error {
		return unix.Mknod("mem", unix.S_IFCHR|0o600, int(unix.Mkdev(1, 1)))
	},
	"device that needs no right": func(string) error { return unix.Mknod("w", unix.S_IFCHR|0o600, 0) },
	"settings of the kernel":     func(string) error { return open("/proc/sys/kernel/core_pattern", os.O_WRONLY) },
	"memory of the parent": func(string) error {
		return open(fmt.Sprintf("/proc/%d/mem", os.Getppid()), os.O_RDWR)
	},
	"trace the parent":        func(string) error { return unix.PtraceAttach(os.Getppid()) },
	"network of process 1":    func(string) error { return setns("net") },
	"mounts of process 1":     func(string) error { return setns("mnt") },
	"loosen its own orders":   func(top string) error { return overwrite(top + "/orders/spec.json") },
	"replace the helper":      func(top string) error { return os.Rename("x", top+"/bin/"+HelperName) },
	"after it left its group": func(top string) error { return detached(top) },
	"truncate by path":        func(top string) error { return unix.Truncate(top+"/out/victim", 0) },
	"object of the source":    func(top string) error { return overwrite(top + "/source/.git/objects/aa/object") },
	"new object":              func(top string) error { return create(top + "/source/.git/objects/aa/new") },
	"config of the source":    func(top string) error { return overwrite(top + "/source/.git/config") },
	"hook of the source":      func(top string) error { return create(top + "/source/.git/hooks/pre-commit") },
	"ref of the source":       func(top string) error { return create(top + "/source/.git/refs/heads/new") },
	"file of another user":    func(top string) error { return overwrite(top + "/foreign") },
	"another run":             func(top string) error { return create(top + "/cache/markmill/work/other/tree/new") },
	"record of a run": func(top string) error {
		return overwrite(top + "/source/.markmill/runs/other/events.jsonl")
	},
}

// later lists attempts that are blocked from a Landlock version on.
var later = map[string]int{"truncate by path": 3, "signal the parent": 6, "abstract socket": 6, "device": 5}

// reaching lists attempts on other processes and devices.
var reaching = map[string]func(top string) error{
	"signal the parent": func(string) error { return syscall.Kill(os.Getppid(), 0) },
	"abstract socket": func(top string) error {
		c, err := net.Dial("unix", "@"+top)
		if err == nil {
			c.Close()
		}
		return err
	},
	"device": func(string) error {
		fd, err := unix.Open(console, unix.O_RDONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		_, err = unix.IoctlGetInt(fd, unix.RNDGETENTCNT)
		if errors.Is(err, unix.ENOTTY) {
			return nil // the driver was asked
		}
		return err
	},
}

// console is a device file that is not in the table.
const console = "/dev/console"

// unheld lists what Landlock does not restrict according to docs/security.md, which must not understate the sandbox.
var unheld = map[string]func(top string) error{
	"mode": func(top string) error { return os.Chmod(top+"/out/victim", 0o640) },
	"times": func(top string) error {
		return unix.Utime(top+"/out/victim",
			&unix.Utimbuf{Actime: 1, Modtime: 1})
	},
	"read":           func(top string) error { return open(top+"/out/victim", os.O_RDONLY) },
	"look":           func(top string) error { _, err := os.Stat(top + "/out/victim"); return err },
	"list processes": func(string) error { return open("/proc/1/stat", os.O_RDONLY) },
}

// rightful lists what must work in the sandbox.
var rightful = map[string]func(top string) error{
	"files": func(string) error {
		return first(create("a"), func() error {
			return first(os.Rename("a", "b"),
				func() error { return first(os.Truncate("b", 1), func() error { return os.Remove("b") }) })
		})
	},
	"move between folders": func(string) error {
		return first(os.MkdirAll("d/e", 0o755), func() error {
			return first(create("d/f"),
				func() error {
					return first(os.Rename("d/f", "d/e/f"),
						func() error { return os.Link("d/e/f", "d/g") })
				})
		})
	},
	"links":    func(string) error { return os.Symlink("nowhere", "l") },
	"own mode": func(string) error { return first(create("m"), func() error { return os.Chmod("m", 0o600) }) },
	"pipe":     func(string) error { return unix.Mkfifo("p", 0o600) },
	"socket":   func(string) error { return listen("s") },
	"null":     func(string) error { return open("/dev/null", os.O_WRONLY|os.O_TRUNC) },
	"shared memory": func(string) error {
		return first(create(fmt.Sprintf("/dev/shm/markmill-%d", os.Getpid())),
			func() error { return os.Remove(fmt.Sprintf("/dev/shm/markmill-%d", os.Getpid())) })
	},
	"terminal": func(string) error { return open("/dev/ptmx", os.O_RDWR) },
	"stdout":   func(string) error { return open("/dev/stdout", os.O_WRONLY) },
	"child":    func(string) error { return exec.Command("/bin/sh", "-c", "echo x >child && kill -0 $$").Run() },
	"signal a child": func(string) error {
		cmd := exec.Command("/bin/sleep", "60")
		return first(cmd.Start(),
			func() error { return first(cmd.Process.Kill(), func() error { cmd.Wait(); return nil }) })
	},
}

func attemptMain(name, top string) int {
	if f := ownProcess[strings.TrimPrefix(name, "own ")]; f != nil && strings.HasPrefix(name, "own ") {
		return outcome(f(top))
	}
	for _, table := range []map[string]func(string) error{attempts, reaching, unheld, rightful, foreign, setting} {
		if f, ok := table[name]; ok {
			return outcome(f(top))
		}
	}
	return 97
}

func outcome(err error) int {
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func open(path string, flags int) error {
	f, err := os.OpenFile(path, flags, 0)
	if err == nil {
		f.Close()
	}
	return err
}

func create(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	f.WriteString("text")
	return f.Close()
}

func overwrite(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	f.WriteString("pwned")
	return f.Close()
}

func listen(path string) error {
	l, err := net.Listen("unix", path)
	if err == nil {
		l.Close()
	}
	return err
}

func setns(kind string) error {
	fd, err := unix.Open("/proc/1/ns/"+kind, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return unix.Setns(fd, 0)
}

// detached makes the attempt from its own session, after its parent has exited.
func detached(top string) error {
	self := filepath.Join(top, "bin", attemptName)
	cmd := exec.Command("/bin/sh", "-c", `trap "" HUP; ("$0" "overwrite" "$1"; echo $? >done) & wait`, self, top)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Run(); err != nil {
		return err
	}
	text, err := os.ReadFile("done")
	if err != nil {
		return err
	}
	if string(text) != "0\n" {
		return errors.New("it was held there too")
	}
	return nil
}

// first calls then if err is nil.
func first(err error, then func() error) error {
	if err != nil {
		return err
	}
	return then()
}
