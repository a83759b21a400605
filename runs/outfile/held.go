package outfile

import (
	"fmt"
	"os"
	"path/filepath"
)

// Held are folders of outputs that a command found before its first step, by the absolute path that outputs give them.
// Later outputs below them go there, through no link that was made since.
type Held map[string]heldFolder

type heldFolder struct {
	real string   // without links, with what is missing
	root *os.Root // the part that exists
}

// Hold finds a folder, which need not exist. It stays open until the program ends.
func (h Held) Hold(folder string) error {
	folder, err := filepath.Abs(folder)
	if err != nil || h[folder].root != nil {
		return err
	}
	dir, rest := existing(folder)
	root, err := os.OpenRoot(dir)
	if err == nil {
		h[folder] = heldFolder{filepath.Join(dir, filepath.Join(rest...)), root}
	}
	return err
}

// check returns an error if a folder, which is real without links, is not below the one that is held.
func (h Held) check(path, folder, real string) error {
	for at := folder; ; at = filepath.Dir(at) {
		held, is := h[at]
		if !is && at != filepath.Dir(at) {
			continue
		}
		if !is {
			return nil
		}
		rel, err := filepath.Rel(at, folder)
		if err != nil {
			return err
		}
		was, err := held.root.Stat(".")
		if err != nil {
			return err
		}
		now, err := os.Stat(held.root.Name())
		if err != nil || !os.SameFile(was, now) || real != filepath.Join(held.real, rel) {
			return fmt.Errorf("%s is not written: the folder %s was replaced since this command began; if you "+
				"replaced it, start the command again", path, folder)
		}
		return nil
	}
}
