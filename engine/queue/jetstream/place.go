package jetstream

import (
	"context"
	"fmt"
	"strings"
	"time"

	"markmill/engine/queue"
	"markmill/notebooks"
)

// placePart is the size of the parts of files in a Place.
const placePart = 8 << 20

// Place keeps parts of larger files outside of the queue, each by its SHA-256 as hexadecimal digits. Its writers name a
// part in an entry only when Put has returned; and whoever reads one checks its bytes.
type Place interface {
	// Put keeps a part. One of that name is replaced if it has other bytes; a part is never seen half-written.
	Put(ctx context.Context, part string, data []byte) error
	// Get reads a part, of no more than most bytes.
	Get(ctx context.Context, part string, most int64) ([]byte, error)
	// Sweep removes the parts kept before a time that nothing names. It returns how many they were, and their bytes.
	Sweep(ctx context.Context, named func(part string) bool, before time.Time) (n int, bytes int64, err error)
}

// PlaceError is that of a Place that does not keep or give a part.
type PlaceError struct{ Err error }

func (e *PlaceError) Error() string {
	return fmt.Sprintf("larger files cannot be kept or read: %s", e.Err)
}

func (e *PlaceError) Unwrap() error { return e.Err }

// inPlace reads a part of a file from the place.
func (q *Queue) inPlace(ctx context.Context, file queue.File, part string) ([]byte, error) {
	if q.place == nil {
		return nil, &PlaceError{&notebooks.Error{Kind: notebooks.KindOption, File: file.Path,
			Msg:  "the queue has only its digest, and its bytes are where larger files are kept",
			Hint: "name that place with --files or MARKMILL_FILES, as whoever wrote the file does"}}
	}
	if len(part) != 64 || strings.Trim(part, "0123456789abcdef") != "" {
		return nil, damaged(file, fmt.Sprintf("%q names no part", part))
	}
	data, err := q.place.Get(ctx, part, placePart)
	if err != nil {
		return nil, &PlaceError{err}
	}
	return data, nil
}
