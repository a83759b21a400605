//go:build !linux

package process

import "errors"

// Warden exists on Linux only: elsewhere nothing finds the processes of a run.
type Warden struct{}

// NewWarden returns a warden that cannot start.
func NewWarden(string, string) *Warden { return &Warden{} }

// Guard returns an error.
func (*Warden) Guard(Mark) error { return errors.New("wardens are supported on Linux only") }

// Release does nothing.
func (*Warden) Release(Mark) error { return nil }

// Stand does nothing.
func (*Warden) Stand() error { return nil }

// Close does nothing.
func (*Warden) Close() {}

// WardenMain fails.
func WardenMain([]string) int { return 2 }
