package runs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// StageOutput writes a file outside the record (OUTPUT or one of its pictures) to a temporary file beside its path;
// CommitOutput renames it into place when the record is complete. So the file never says more than the record does. The
// temporary file's name has the run's id, by which it is found after a crash. Staging again replaces the file.
func StageOutput(path string, id RunID, data []byte) error {
	staged := stagedName(path, id)
	file, err := os.OpenFile(staged, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return cannotWrite(path, err)
	}
	err = fill(file, path, func(w io.Writer) error { _, err := w.Write(data); return err })
	if err != nil {
		return cannotWrite(path, errors.Join(err, os.Remove(staged)))
	}
	return nil
}

// CommitOutput renames the staged file to path. Nothing staged is no error: the file is in place already, or staging
// has failed.
func CommitOutput(path string, id RunID) error {
	staged := stagedName(path, id)
	if _, err := os.Lstat(staged); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.Rename(staged, path); err != nil {
		return cannotWrite(path, err)
	}
	return nil
}

// stagedName follows from the run and the path alone.
func stagedName(path string, id RunID) string {
	const digits = 12 // enough for the files of one run in one folder
	digest := DigestOf([]byte(filepath.Base(path))).Hex()[:digits]
	return filepath.Join(filepath.Dir(path), TempPrefix+string(id)+"-"+digest)
}

// StagedBy is the run that staged a file of this name, "" if none did.
func StagedBy(name string) RunID {
	rest, ok := strings.CutPrefix(name, TempPrefix)
	end := strings.LastIndexByte(rest, '-')
	if id := RunID(rest[:max(end, 0)]); ok && id.Valid() {
		return id
	}
	return ""
}

// DiscardOutput removes the files that a run staged in a folder and did not commit.
func DiscardOutput(folder string, id RunID) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), TempPrefix+string(id)+"-") {
			continue
		}
		path := filepath.Join(folder, entry.Name())
		if gone := os.Remove(path); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, cannotWrite(path, gone))
		}
	}
	return err
}
