package kernel

import (
	"context"
	"os"
	"syscall"
	"testing"
)

// A session that cannot be confined does not start.
func TestConfineFails(t *testing.T) {
	sh, _ := Lookup("sh")
	_, err := sh.Start(context.Background(), Options{Dir: t.TempDir(), Private: t.TempDir(), Env: os.Environ(),
		Confine: func() error { return syscall.EPERM }})
	if err == nil {
		t.Fatal("it was started all the same")
	}
}
