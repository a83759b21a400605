//go:build !linux

package kernel

import "errors"

// Warden is only there on Linux: elsewhere nothing finds the processes of a run.
type Warden struct{}

// StartWarden says that there is none.
func StartWarden(string, string, Mark) (*Warden, error) {
	return nil, errors.New("a run has a warden on Linux only")
}

// Stand has nothing to do.
func (*Warden) Stand() error { return nil }

// Close has nothing to end.
func (*Warden) Close() {}

// WardenMain is no warden.
func WardenMain([]string) int { return 2 }
