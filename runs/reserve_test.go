package runs

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestReserve(t *testing.T) {
	dir := t.TempDir()
	r, err := NewReserve(dir)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := r.file.Stat(); err != nil || info.Size() != reserveSize {
		t.Errorf("it is %v (%v), not of %d bytes", info, err, reserveSize)
	}
	if found, err := os.ReadDir(dir); err != nil || len(found) > 0 && runtime.GOOS != "windows" {
		t.Errorf("a crash would leave %v (%v)", found, err)
	}
	// It is no part of the record.
	if err := At(dir).walk(func(path string) error { t.Errorf("%s is of the record", path); return nil },
		nil); err != nil {
		t.Error(err)
	}
	if !r.Release() || r.Release() || (*Reserve)(nil).Release() {
		t.Error("the room is given back once")
	}
	if found, err := os.ReadDir(dir); err != nil || len(found) > 0 {
		t.Errorf("left behind: %v %v", found, err)
	}
	if _, err := NewReserve(filepath.Join(dir, "none")); err == nil {
		t.Error("room in a folder that is not there")
	}
}

// BenchmarkReserve is what a run pays for its room.
func BenchmarkReserve(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		r, err := NewReserve(dir)
		if err != nil {
			b.Fatal(err)
		}
		r.Release()
	}
}
