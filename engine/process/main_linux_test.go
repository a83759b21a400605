package process

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets the test binary be a warden, as the markmill binary is.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == WardenName {
		os.Exit(WardenMain(os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}
