//go:build !linux

package reads

import "errors"

// Watcher does nothing on this system.
type Watcher struct{}

// Removed is the name in a folder that says that the folder itself was removed.
const Removed = "\x00removed"

func Watch(string, func(yield func(string) bool)) (*Watcher, error) {
	return nil, errors.New("what steps read is seen on Linux only")
}

func (w *Watcher) Close() error { return nil }

func (w *Watcher) Add(string) error { return nil }

func (w *Watcher) Peek(func(string)) {}

func (w *Watcher) Take() (opened map[string]bool, lost bool) { return nil, true }
