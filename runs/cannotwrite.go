package runs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"markmill/notebooks"
)

func cannotWrite(path string, err error) error {
	return &notebooks.Error{
		Kind: notebooks.KindArtifact, File: path,
		Msg: "cannot be written: " + cause(err).Error(), Hint: Remedy(err), Err: err,
	}
}

// cause leaves out the path that a PathError repeats.
func cause(err error) error {
	var pathErr *os.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// Remedy says what to do about a file that cannot be written; "" if only the system's message is known.
func Remedy(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "make room on the disk, and run again"
	case errors.Is(err, syscall.EDQUOT):
		return "make room in the quota, and run again"
	case errors.Is(err, syscall.EFBIG):
		return "raise the limit of the size of files (ulimit -f), and run again"
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return "let somebody write there, or let MARKMILL_DIR (records) and XDG_CACHE_HOME (worktrees) name other folders"
	case errors.Is(err, syscall.EIO):
		return "the disk fails: see the log of the system"
	}
	return ""
}
