//go:build !linux

package process

import "errors"

// Warden exists on Linux only: elsewhere nothing finds the processes of a run.
type Warden struct{}

// StartWarden returns an error.
func StartWarden(string, string, Mark) (*Warden, error) {
	return nil, errors.New("wardens are supported on Linux only")
}

// Stand does nothing.
func (*Warden) Stand() error { return nil }

// Close does nothing.
func (*Warden) Close() {}

// WardenMain fails.
func WardenMain([]string) int { return 2 }
