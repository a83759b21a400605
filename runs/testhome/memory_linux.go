package testhome

import "golang.org/x/sys/unix"

// Memory is where the files of tests are kept in memory, if TMPDIR does not say otherwise; "" when there is no
// room for them, or programs may not be started there. A run waits for a disk longer than it computes: it syncs what it
// writes, and tests make and remove some hundred thousand small files.
func Memory() string {
	const (
		folder = "/dev/shm"
		room   = 2 << 30
	)
	var stat unix.Statfs_t
	if unix.Statfs(folder, &stat) != nil || stat.Type != unix.TMPFS_MAGIC || stat.Flags&unix.ST_NOEXEC != 0 ||
		stat.Bavail*uint64(stat.Bsize) < room || unix.Access(folder, unix.W_OK|unix.X_OK) != nil {
		return ""
	}
	return folder
}
