package runs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func (s Store) broughtFile(id RunID) string { return filepath.Join(s.Dir, "brought", string(id)) }

// MarkBrought notes, before the record of a run is put into the store, that it comes from elsewhere.
func (s Store) MarkBrought(id RunID, from string) error {
	name := s.broughtFile(id)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return cannotWrite(name, err)
	}
	_, err := s.Writer.WriteFile(name, []byte(from+"\n"))
	return err
}

// Brought returns where the record of a run came from, "" if it was made in this store. What it says was not seen here:
// it is shown and verified, counts as a proof only with a signature of an allowed signer, and none of its steps is
// carried (docs/evidence.md, "Records that travel").
func (s Store) Brought(id RunID) string {
	text, err := os.ReadFile(s.broughtFile(id))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if from := strings.TrimSpace(string(text)); err == nil && from != "" {
		return from
	}
	return "elsewhere"
}
