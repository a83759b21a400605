package process

import (
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// SealDescriptors keeps the programs that Markmill starts from inheriting its descriptors above the standard three: no
// sandbox revokes what is already open.
func SealDescriptors() {
	if unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	for _, fd := range descriptors() { // before Linux 5.11
		unix.CloseOnExec(fd)
	}
}

// descriptors lists the open descriptors above the standard three.
func descriptors() []int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil
	}
	var fds []int
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			fds = append(fds, fd)
		}
	}
	return fds
}
