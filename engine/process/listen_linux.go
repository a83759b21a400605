package process

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Listeners are the servers on TCP ports of this machine whose working directory lies in a folder, as "name on port N".
// Those that started this process are left out, and those of other users, which nobody can look at.
func Listeners(folder string) (list []string) {
	ports := listening() // of sockets, by inode
	if len(ports) == 0 {
		return nil
	}
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	own := map[int]bool{} // this process and those that started it
	for pid := os.Getpid(); pid > 0 && !own[pid]; {
		own[pid] = true
		info, _ := statOf(pid)
		pid = info.parent
	}
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil || own[pid] {
			continue
		}
		at := "/proc/" + d.Name()
		cwd, err := os.Readlink(at + "/cwd")
		if err != nil || !withinFolder(cwd, folder) {
			continue
		}
		// In the namespace of a run the path is that of its worktree.
		there, err := os.Stat(at + "/cwd")
		here, hereErr := os.Stat(cwd)
		if err != nil || hereErr != nil || !os.SameFile(there, here) {
			continue
		}
		files, _ := filepath.Glob(at + "/fd/*")
		for _, file := range files {
			target, _ := os.Readlink(file)
			inode, _ := strings.CutPrefix(target, "socket:[")
			if port := ports[strings.TrimSuffix(inode, "]")]; port != "" {
				info, _ := statOf(pid)
				if words := fmt.Sprintf("%s on port %s", info.name, port); !slices.Contains(list, words) {
					list = append(list, words)
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

func withinFolder(dir, folder string) bool {
	rel, err := filepath.Rel(folder, dir)
	return err == nil && filepath.IsLocal(rel)
}

// listening are the ports of the sockets that take connections, by the inodes of these.
func listening() map[string]string {
	ports := map[string]string{}
	if askListening(ports, unix.AF_INET) == nil {
		_ = askListening(ports, unix.AF_INET6) // the system may be without IPv6
	} else {
		readListening(ports)
	}
	return ports
}

// readListening is for systems whose kernel does not answer askListening.
func readListening(ports map[string]string) {
	const listen = "0A"
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(name) // without IPv6 there is no such file
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != listen {
				continue
			}
			_, hex, _ := strings.Cut(f[1], ":")
			if port, err := strconv.ParseUint(hex, 16, 16); err == nil {
				ports[f[9]] = strconv.FormatUint(port, 10)
			}
		}
	}
}

// askListening asks the kernel for the sockets of a family, as sock_diag(7) describes it. The kernel then looks at
// those that take connections alone, while it goes through all that could be connected for a reader of /proc/net/tcp.
func askListening(ports map[string]string, family uint8) error {
	const (
		request, state = 56, 10 // struct inet_diag_req_v2, TCP_LISTEN
		portAt, inode  = 4, 68  // in struct inet_diag_msg
	)
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	order := binary.NativeEndian
	ask := order.AppendUint32(nil, unix.SizeofNlMsghdr+request)
	ask = order.AppendUint16(ask, unix.SOCK_DIAG_BY_FAMILY)
	ask = order.AppendUint16(ask, unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	ask = append(ask, make([]byte, 8)...) // its number, and ours
	ask = append(ask, family, unix.IPPROTO_TCP, 0, 0)
	ask = order.AppendUint32(ask, 1<<state)
	ask = append(ask, make([]byte, unix.SizeofNlMsghdr+request-len(ask))...) // of any address
	if err := unix.Sendto(fd, ask, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	for buf := make([]byte, 32<<10); ; {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if err != nil {
			return err
		}
		messages, err := syscall.ParseNetlinkMessage(buf[:n])
		if err != nil {
			return err
		}
		for _, m := range messages {
			switch {
			case m.Header.Type == unix.NLMSG_DONE:
				return nil
			case m.Header.Type != unix.SOCK_DIAG_BY_FAMILY || len(m.Data) < inode+4:
				return unix.ENOTSUP
			}
			port := binary.BigEndian.Uint16(m.Data[portAt:])
			ports[strconv.FormatUint(uint64(order.Uint32(m.Data[inode:])), 10)] = strconv.Itoa(int(port))
		}
	}
}
