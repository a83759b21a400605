package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Add adds the mappings of one process (proc_pid_maps(5)). A process that has ended has none.
func (m *Mappings) Add(pid int) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	closed := false
	for line := range bytes.Lines(maps) {
		f := bytes.Fields(line)
		if len(f) < 6 || len(f[1]) != 4 || f[1][3] != 's' {
			continue
		}
		if f[1][1] != 'w' {
			closed = true
			continue
		}
		m.put(line, f)
	}
	if err == nil && closed { // mprotect(2) may open one again, and no write is told of then
		err = m.addClosed(pid)
	}
	m.Note(err)
}

// Note records that an error hides mappings. A process that has ended hides none.
func (m *Mappings) Note(err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ESRCH) {
		m.Unknown = "what a process maps into its memory could not be read (" + reasonOf(err) +
			"), so writes of its may be missing"
	}
}

// addClosed adds mappings that are not writable now but may become so (proc_pid_smaps(5), the flag "mw").
func (m *Mappings) addClosed(pid int) error {
	smaps, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps", pid))
	var line []byte
	var fields [][]byte
	for l := range bytes.Lines(smaps) {
		f := bytes.Fields(l)
		switch {
		case len(f) > 0 && !bytes.HasSuffix(f[0], []byte(":")):
			line, fields = l, f
		case len(f) > 0 && string(f[0]) == "VmFlags:" && len(fields) >= 6 && fields[1][3] == 's' &&
			bytes.Contains(l, []byte(" mw")):
			m.put(line, fields)
		}
	}
	return err
}

func (m *Mappings) put(line []byte, f [][]byte) {
	if ino, err := strconv.ParseUint(string(f[4]), 10, 64); err == nil && ino != 0 {
		m.inodes[ino] = true
	}
	if at := bytes.IndexByte(line, '/'); at >= 0 {
		m.paths[string(bytes.TrimSuffix(bytes.TrimSuffix(line[at:], []byte("\n")), []byte(" (deleted)")))] = true
	}
}

func reasonOf(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// ReportsMmapWrites reports whether the file system of a folder changes a file's times at the first write to a clean
// page of a mapping. Not all do: on tmpfs a write to a page that was read first goes unnoticed. There, each capture
// reads what is mapped at that moment.
func ReportsMmapWrites(dir string) bool {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return false
	}
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC:
		return true
	}
	return false
}
