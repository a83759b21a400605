package runs

import (
	"os"
	"path/filepath"
	"runtime"
)

// reserveSize is enough for the last events and the views of a run whose disk is full: usually some tens of KiB.
const reserveSize = 512 << 10

// Reserve is disk space that a run keeps for its end. When the disk is full it is freed, so that the verdict can be
// written.
type Reserve struct{ file *os.File }

// NewReserve allocates the space on the disk of a run directory: in a file that is unlinked at once, so that no crash
// leaves it. A full disk is an error.
func NewReserve(dir string) (*Reserve, error) {
	path := filepath.Join(dir, TempPrefix+"reserve") // no part of the record
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, cannotWrite(path, err)
	}
	if runtime.GOOS != "windows" { // which removes no open file
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

// Release frees the space. It returns false if there was none: after the first time, or of a nil Reserve.
func (r *Reserve) Release() bool {
	if r == nil || r.file == nil {
		return false
	}
	_ = r.file.Close() // its content does not matter
	if runtime.GOOS == "windows" {
		_ = os.Remove(r.file.Name())
	}
	r.file = nil
	return true
}

// writeZeros allocates space on systems that have no call for it.
func writeZeros(file *os.File, size int64) error {
	zeros := make([]byte, 64<<10)
	for ; size > 0; size -= int64(len(zeros)) {
		if _, err := file.Write(zeros); err != nil {
			return err
		}
	}
	return nil
}
