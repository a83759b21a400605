package runs

import (
	"os"
	"path/filepath"
	"runtime"
)

// reserveSize holds the events and the views of a run whose disk is full: of a common run they have
// some tens of KiB.
const reserveSize = 512 << 10

// Reserve is room on the disk that a run keeps for its end. On a full disk it is given back, and the
// verdict that says so can be written.
type Reserve struct{ file *os.File }

// NewReserve takes the room on the disk of a run directory: in a file that has no name any more, so that no crash
// leaves it. A disk that has no room is an error.
func NewReserve(dir string) (*Reserve, error) {
	path := filepath.Join(dir, TempPrefix+"reserve") // no part of the record
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, cannotWrite(path, err)
	}
	if runtime.GOOS != "windows" { // which removes no file that is open
		err = os.Remove(path)
	}
	if err == nil {
		err = allocate(file, reserveSize)
	}
	r := &Reserve{file}
	if err != nil {
		r.Release()
		return nil, cannotWrite(path, err)
	}
	return r, nil
}

// Release gives the room back. It says whether there was any: after the first time there is none.
func (r *Reserve) Release() bool {
	if r == nil || r.file == nil {
		return false
	}
	_ = r.file.Close() // nothing in it is wanted
	if runtime.GOOS == "windows" {
		_ = os.Remove(r.file.Name())
	}
	r.file = nil
	return true
}

// writeZeros takes room where the system has no call for it.
func writeZeros(file *os.File, size int64) error {
	zeros := make([]byte, 64<<10)
	for ; size > 0; size -= int64(len(zeros)) {
		if _, err := file.Write(zeros); err != nil {
			return err
		}
	}
	return nil
}
