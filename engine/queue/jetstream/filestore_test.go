package jetstream

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"markmill/engine/queue"
	"markmill/runs"
)

// shelf is a FileStore in memory.
type shelf struct {
	parts map[string][]byte
	full  error
	swept time.Time // before which parts were to go
}

func (s *shelf) Put(_ context.Context, part string, data []byte) error {
	if s.full == nil {
		s.parts[part] = bytes.Clone(data)
	}
	return s.full
}

func (s *shelf) Get(_ context.Context, part string, _ int64) ([]byte, error) {
	data, ok := s.parts[part]
	if !ok {
		return nil, errors.New("no such part")
	}
	return data, nil
}

func (s *shelf) Sweep(_ context.Context, named func(string) bool, before time.Time) (n int, size int64, err error) {
	s.swept = before
	maps.DeleteFunc(s.parts, func(part string, data []byte) bool {
		if named(part) {
			return false
		}
		n, size = n+1, size+int64(len(data))
		return true
	})
	return n, size, nil
}

// TestFileStore: files of more than a part are kept in the store and come back as they were; what is damaged there, or
// missing, or named by a hostile entry, is noticed; entries and smaller files stay in the queue; and what no job names
// goes.
func TestFileStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	q, without := open(t, dir), open(t, dir)
	store := &shelf{parts: map[string][]byte{}}
	q.store = store
	for size, parts := range map[int]int{0: 0, partSize: 0, partSize + 1: 1, storePart: 1, storePart + 1: 2,
		2 * storePart: 2} {
		clear(store.parts)
		data := bytes.Repeat([]byte{byte(size), byte(size >> 8), byte(size >> 20), 1, 2}, size/5+1)[:size]
		file, err := q.Put(t.Context(), "a", bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if len(store.parts) != parts || file.Apart != (parts > 0) {
			t.Errorf("%d bytes: %d parts are in the store, %v", size, len(store.parts), file.Apart)
		}
		if got, err := q.getBytes(t.Context(), file); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes come back as %d: %v", size, len(got), err)
		}
		if _, err := without.getBytes(t.Context(), file); (err != nil) != file.Apart ||
			err != nil && !strings.Contains(err.Error(), "MARKMILL_FILES") {
			t.Errorf("%d bytes without the store: %v", size, err)
		}
	}
	big := bytes.Repeat([]byte("0123456789"), partSize)
	file, err := q.Put(t.Context(), "big", bytes.NewReader(big))
	if err != nil {
		t.Fatal(err)
	}
	part := file.Parts[0]
	for name, damage := range map[string]func(){
		"has other bytes": func() { store.parts[part] = append([]byte("x"), big[1:]...) },
		"half":            func() { store.parts[part] = big[:partSize] },
		"another digest":  func() { file.Digest = runs.DigestOf([]byte("another")) },
		"is kept":         func() {},
		"no such":         func() { delete(store.parts, part) },
		"names no ":       func() { file.Parts = []string{"../../etc/passwd"} },
	} {
		saved := file
		store.parts[part] = big
		damage()
		got, err := q.getBytes(t.Context(), file)
		switch {
		case name == "is kept":
			if err != nil || !bytes.Equal(got, big) {
				t.Errorf("%s: %v", name, err)
			}
		case name == "half":
			name = "has other bytes"
			fallthrough
		default:
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
			if errors.As(err, new(*FileStoreError)) != (name == "no such") {
				t.Errorf("%s: whether the store is at fault is wrong: %v", name, err)
			}
		}
		file = saved
	}
	store.full = errors.New("no space")
	_, err = q.Put(t.Context(), "big", bytes.NewReader(big))
	if !errors.As(err, new(*FileStoreError)) || !strings.Contains(err.Error(), "no space") {
		t.Error(err)
	}
	store.full = nil

	// A journal that is longer than a message stays in the queue: it is the truth.
	store.parts = map[string][]byte{"stray": nil, part: big}
	submit(t, q, "j", queue.Normal)
	l := take(t, consumer(t, q, "a"))
	if err := l.Publish(t.Context(), &queue.Entry{Kind: queue.Recorded, Run: "r", Journal: big,
		Files: []queue.File{file}}); err != nil {
		t.Fatal(err)
	}
	if h, err := without.Job(t.Context(), "j"); err != nil || !bytes.Equal(h.Entries[2].Journal, big) {
		t.Error(err)
	}
	if _, err := q.Prune(t.Context(), time.Now(), 0, "p", time.Now()); err != nil {
		t.Fatal(err)
	}
	if len(store.parts) != 1 || store.parts[part] == nil {
		t.Errorf("%d parts after pruning", len(store.parts))
	}
	if age := time.Since(store.swept); age < 2*freshFor {
		t.Errorf("pruning removes parts of the last %s, which an entry may name soon", age)
	}
}
