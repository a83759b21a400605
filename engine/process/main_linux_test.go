package process

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets the test binary be a warden and start a place, as the markmill binary is.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case WardenName:
		os.Exit(WardenMain(os.Args[1:]))
	case PlaceName:
		os.Exit(PlaceMain(os.Args[1:], func(string) (Options, error) { return Options{}, nil }))
	}
	goleak.VerifyTestMain(m)
}
