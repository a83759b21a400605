package runs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Stage writes a file that a run leaves outside its record (OUTPUT), whole, beside its place; Place moves it
// there when the record is complete. So the file never says more than the record does, and what a crash
// leaves of it is known by the run's name. Staging again replaces what was staged.
func Stage(path string, id RunID, data []byte) error {
	staged := stagedName(path, id)
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	file, err := os.OpenFile(staged, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return cannotWrite(path, err)
	}
	_, err = file.Write(data)
	if changed := file.Chmod(mode); err == nil {
		err = changed
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return cannotWrite(path, errors.Join(err, os.Remove(staged)))
	}
	return nil
}

// Place moves what was staged for path to it. Nothing staged is no error: it is there already, or it was told
// that it cannot be.
func Place(path string, id RunID) error {
	staged := stagedName(path, id)
	if _, err := os.Lstat(staged); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.Rename(staged, path); err != nil {
		return cannotWrite(path, err)
	}
	return nil
}

// stagedName is the same for whoever knows the run and the path.
func stagedName(path string, id RunID) string {
	const digits = 12 // tells the files of one run and one folder apart
	return filepath.Join(filepath.Dir(path), TempPrefix+string(id)+"-"+DigestOf([]byte(filepath.Base(path))).Hex()[:digits])
}

// Unstage takes away everything that a run staged in a folder and did not place.
func Unstage(folder string, id RunID) error {
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
