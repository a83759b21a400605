package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"markmill/engine/testhome"
)

// TestMain lets the test binary be the commands glue and scrap under their names, as the
// markmill binary is.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "glue":
		os.Exit(GlueMain(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
	case "scrap":
		os.Exit(ScrapMain(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
	}
	if os.Getenv("KERNEL_TEST_HELPER") != "" {
		startAndWait()
	}
	remove, err := testhome.Set()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		remove()
		os.Exit(code)
	}))
}

func asError[E error](err error, as *E) bool { return errors.As(err, as) }
