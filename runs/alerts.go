package runs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// The folder "alerts" of a store has an empty file for each run whose alerts are not in the outbox yet. A run makes it
// before its first event, so that one that is killed is not forgotten, and who has put the alerts into the outbox
// removes it. Prune keeps these runs.

func (s Store) alerts(name ...string) string {
	return filepath.Join(append([]string{s.Dir, "alerts"}, name...)...)
}

// AwaitAlerts marks a run whose alerts are to be sent. The mark survives a power cut.
func (s Store) AwaitAlerts(id RunID) error {
	err := os.MkdirAll(s.alerts(), 0o755)
	if err == nil {
		err = touch(s.alerts(string(id)))
	}
	if err != nil {
		return cannotWrite(s.alerts(string(id)), err)
	}
	if folder, err := os.Open(s.alerts()); err == nil { // not every system can
		_ = folder.Sync()
		_ = folder.Close()
	}
	return nil
}

// AwaitingAlerts returns the runs that are marked, sorted by their names.
func (s Store) AwaitingAlerts() ([]RunID, error) {
	entries, err := os.ReadDir(s.alerts())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	ids := make([]RunID, len(entries))
	for i, entry := range entries {
		ids[i] = RunID(entry.Name())
	}
	return ids, err
}

// AlertsKept removes the mark of a run: its alerts are in the outbox.
func (s Store) AlertsKept(id RunID) error {
	err := os.Remove(s.alerts(string(id)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (s Store) awaits(id RunID) bool { return exists(s.alerts(string(id))) }
