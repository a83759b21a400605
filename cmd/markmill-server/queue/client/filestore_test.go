package client

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestFolder: of many that write the same part at the same time, none shows a half of it; a damaged part is replaced;
// and a sweep takes what is old and named by nothing, with the temporary files of writers that were killed.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	sum := sha256.Sum256(data)
	part := hex.EncodeToString(sum[:])
	at, err := fileStore(t.Context(), dir, true)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		group.Go(func() {
			for {
				if got, err := at.Get(t.Context(), part, int64(len(data))); err == nil && !bytes.Equal(got, data) {
					t.Errorf("%d bytes of a part are seen", len(got))
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	var writers sync.WaitGroup
	path := folder(dir).path(part)
	for range 4 {
		writers.Go(func() {
			for range 10 {
				_ = os.Remove(path) // another writer may have it
				if err := at.Put(t.Context(), part, data); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	group.Wait()
	if err := os.WriteFile(path, data[:1000], 0o644); err != nil { // by somebody else
		t.Fatal(err)
	}
	if err := at.Put(t.Context(), part, data); err != nil {
		t.Fatal(err)
	}
	if got, err := at.Get(t.Context(), part, int64(len(data))); err != nil || !bytes.Equal(got, data) {
		t.Errorf("a damaged part is not replaced: %d bytes, %v", len(got), err)
	}

	old, now := time.Now().Add(-48*time.Hour), time.Now()
	before := now.Add(-24 * time.Hour)
	files := map[string]string{"named": part, "old": strings.Repeat("a", 64), "fresh": strings.Repeat("b", 64),
		"killed": ".tmp-123", "other": "notes.txt"}
	for name, base := range files {
		files[name] = filepath.Join(dir, part[:2], base)
		if name != "named" {
			if err := os.WriteFile(files[name], []byte("12345"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if name != "fresh" {
			if err := os.Chtimes(files[name], old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	n, size, err := at.Sweep(t.Context(), func(p string) bool { return p == part }, before)
	if err != nil || n != 2 || size != 10 {
		t.Errorf("%d, %d bytes, %v", n, size, err)
	}
	for name, path := range files {
		if _, err := os.Stat(path); (err == nil) != (name != "old" && name != "killed") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What is used again is spared, though nothing names it yet.
	if err := at.Put(t.Context(), part, data); err != nil {
		t.Fatal(err)
	}
	if n, _, err := at.Sweep(t.Context(), func(string) bool { return false }, before); n != 0 || err != nil {
		t.Errorf("%d parts that were just used are removed, %v", n, err)
	}
}

func TestWrongPlaces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for at, words := range map[string]string{file: "it is no folder", file + "-2": "no such file",
		"https://example.org/x": "it is no address of an object store", "s3://key:secret@bucket/x": "no address",
		"az://a/b?sig=secret": "no address"} {
		_, err := fileStore(t.Context(), at, true)
		if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", at, err)
		}
	}
	if at, err := fileStore(t.Context(), "", true); at != nil || err != nil {
		t.Error(fmt.Sprint(at), err)
	}
	if at, err := fileStore(t.Context(), "s3://bucket/x/", false); err != nil || at.(bucket).at != "s3://bucket/x" {
		t.Error(fmt.Sprint(at), err)
	}
}
