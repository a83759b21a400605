package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
	const listen = "0A"
	ports := map[string]string{}
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
	return ports
}
