package html

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"testing"
)

// TestMain takes a sample of the random pages, unless MARKMILL_ALL or the flag -rapid.checks asks for more. Garbage is
// collected rarely: the pages are large and soon dropped.
func TestMain(m *testing.M) {
	if os.Getenv("MARKMILL_ALL") == "" {
		if err := flag.Set("rapid.checks", "30"); err != nil { // the command line is read later, and counts
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// plainPage is the page of a notebook of which no run is known.
func plainPage(name string, src []byte, files fs.FS) ([]byte, error) {
	made, err := Notebook(name, src, files, nil)
	if err != nil {
		return nil, err
	}
	return made.Page, nil
}
