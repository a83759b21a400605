package runs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The folder "history" of a store has a file for each notebook whose runs are kept for longer than the retention says,
// since objectives are computed from them. Its name is the notebook's part of a RunID, its text the time. So pruning
// need not open the records.

func (s Store) history() string { return filepath.Join(s.Dir, "history") }

// KeepHistory keeps the runs that have the name of this one for a time at least.
func (s Store) KeepHistory(id RunID, age time.Duration) error {
	name := id.notebook()
	if name == "" || s.keptFor(name) >= age {
		return nil
	}
	if err := os.MkdirAll(s.history(), 0o755); err != nil {
		return cannotWrite(s.history(), err)
	}
	_, err := s.Writer.WriteFile(filepath.Join(s.history(), name), []byte(age.String()+"\n"))
	return err
}

// keptFor is how long the runs of a notebook are kept at least.
func (s Store) keptFor(name string) time.Duration {
	text, err := os.ReadFile(filepath.Join(s.history(), name))
	if err != nil {
		return 0
	}
	age, _ := time.ParseDuration(strings.TrimSpace(string(text))) // else it is written again
	return age
}

// histories are the times of all notebooks.
func (s Store) histories() (map[string]time.Duration, error) {
	entries, err := os.ReadDir(s.history())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	ages := map[string]time.Duration{}
	for _, entry := range entries {
		ages[entry.Name()] = s.keptFor(entry.Name())
	}
	return ages, err
}

// notebook is the part of the id that the path of the notebook gave; "" if the id is none of NewRunID.
func (id RunID) notebook() string {
	short := id.Short()
	if at := strings.LastIndexByte(short, '-'); at > 0 && short != string(id) {
		return short[:at]
	}
	return ""
}
