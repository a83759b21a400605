//go:build !linux

package process

import "errors"

// Place exists on Linux only: no other system has namespaces of mounts.
type Place struct{}

// NewPlace returns an error.
func NewPlace(string, string, Mark) (*Place, error) {
	return nil, errors.New("mount namespaces exist on Linux only")
}

// Mount does nothing.
func (*Place) Mount([]Mount) (map[string]string, error) { return nil, nil }

// Outside returns the path.
func (*Place) Outside(path string) string { return path }

// Stand returns nil.
func (*Place) Stand() error { return nil }

// Guarded returns nil.
func (*Place) Guarded() error { return nil }

// Leave does nothing.
func (*Place) Leave() {}

// Close does nothing.
func (*Place) Close() {}

// PlaceMain fails.
func PlaceMain([]string, func(string) (Options, error)) int { return 2 }
