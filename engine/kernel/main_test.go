package kernel

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"markmill/runs/testhome"
)

// TestMain lets the test binary be the commands glue and scrap under their names, as the
// markmill binary is.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "glue":
		os.Exit(GlueMain(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
	case "scrap":
		os.Exit(ScrapMain(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
	case "check":
		os.Exit(CheckMain(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
	}
	if os.Getenv("KERNEL_TEST_HELPER") != "" {
		startAndWait()
	}
	testhome.Main(m, testhome.Python)
}

func asError[E error](err error, as *E) bool { return errors.As(err, as) }
