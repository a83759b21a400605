package jetstream

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"markmill/runs"
)

// TestServerEnds: a process whose greeting is cut off, because the one that has the server ends it, takes its place.
func TestServerEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	release, err := runs.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	ending, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, addressFile), []byte(ending.Addr().String()), 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		for range 3 {
			c, err := ending.Accept()
			if err != nil {
				break
			}
			_ = c.Close() // nobody reads from it
		}
		_ = ending.Close()
		release()
	}()
	open(t, dir)
}
