package schedules

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"markmill/engine/schedule"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// Keeper keeps the state of one scheduled notebook in a store.
type Keeper struct {
	store runs.Store
	dir   string
}

const (
	runningFolder = "running" // locked while the notebook's run goes on
	heartbeatFile = "heartbeat.json"
	lockPatience  = 30 * time.Second
)

func folder(store runs.Store) string { return filepath.Join(store.Dir, schedule.Folder) }

// Keep returns the keeper of a notebook.
func Keep(store runs.Store, rel string) *Keeper {
	return &Keeper{store, filepath.Join(folder(store), Key("", rel))}
}

// lock locks a folder of the notebook, which it makes.
func (k *Keeper) lock(folder string) (release func(), err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	if _, err := k.store.Unfinished(); err != nil { // which makes Git ignore the store
		return nil, err
	}
	return runs.Lock(folder)
}

// Load reads the state; the zero one if there is none yet.
func (k *Keeper) Load() (s schedule.State, err error) {
	data, err := os.ReadFile(filepath.Join(k.dir, schedule.StateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = codec.Unmarshal(data, &s)
	}
	if err != nil {
		err = &notebooks.Error{Kind: notebooks.KindInput, File: filepath.Join(k.dir, schedule.StateFile), Err: err,
			Msg: "cannot be read: " + err.Error(), Hint: "remove it, and the schedule begins anew"}
	}
	return s, err
}

// Update changes the state. Nothing is written when change returns an error or changes nothing.
func (k *Keeper) Update(change func(*schedule.State) error) error {
	release, err := k.lock(k.dir)
	for deadline := time.Now().Add(lockPatience); errors.Is(err, runs.ErrLive) && time.Now().Before(deadline); {
		time.Sleep(2 * time.Millisecond)
		release, err = k.lock(k.dir)
	}
	if err != nil {
		return err
	}
	defer release()
	s, err := k.Load()
	if err != nil {
		return err
	}
	was, err := codec.Marshal(s)
	if err != nil {
		return err
	}
	if err := change(&s); err != nil {
		return err
	}
	data, err := codec.Marshal(s)
	if err != nil || bytes.Equal(data, was) {
		return err
	}
	_, err = k.store.Writer.WriteFile(filepath.Join(k.dir, schedule.StateFile), data)
	return err
}

// Note changes what is known of the newest run.
func (k *Keeper) Note(change func(*schedule.Run)) error {
	return k.Update(func(s *schedule.State) error {
		if s.Run != nil {
			change(s.Run)
		}
		return nil
	})
}

// Begin takes the notebook for this process until release is called, or the process ends. It returns runs.ErrLive
// while another process has it.
func (k *Keeper) Begin() (release func(), err error) {
	return k.lock(filepath.Join(k.dir, runningFolder))
}

// Alive reports whether a process has the notebook.
func (k *Keeper) Alive() bool { return runs.Alive(filepath.Join(k.dir, runningFolder)) }

// Heartbeat says that somebody looked what is due.
type Heartbeat struct {
	Time time.Time `json:"time"`
	By   string    `json:"by"`
}

// Beat writes the heartbeat of a store.
func Beat(store runs.Store, by string, now time.Time) error {
	if err := os.MkdirAll(folder(store), 0o755); err != nil {
		return err
	}
	if _, err := store.Unfinished(); err != nil { // as in lock
		return err
	}
	data, err := codec.Marshal(Heartbeat{now.UTC(), by})
	if err != nil {
		return err
	}
	_, err = store.Writer.WriteFile(filepath.Join(folder(store), heartbeatFile), data)
	return err
}

// LastBeat reads the heartbeat; the zero one if nobody looked yet, or it cannot be read.
func LastBeat(store runs.Store) (h Heartbeat) {
	if data, err := os.ReadFile(filepath.Join(folder(store), heartbeatFile)); err != nil ||
		codec.Unmarshal(data, &h) != nil {
		return Heartbeat{}
	}
	return h
}
