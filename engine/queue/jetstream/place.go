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

// Place keeps parts of larger files outside of the queue, each by its SHA-256 in hexadecimal. Writers name a part in an
// entry only after Put has returned, and readers check its bytes.
type Place interface {
	// Put stores a part, in place of one of that name with other bytes. A part is never visible half-written.
	Put(ctx context.Context, part string, data []byte) error
	// Get reads a part, of no more than most bytes.
	Get(ctx context.Context, part string, most int64) ([]byte, error)
	// Sweep removes parts that were stored before a time and that nothing names. It returns their number and size.
	Sweep(ctx context.Context, named func(part string) bool, before time.Time) (n int, bytes int64, err error)
}

// PlaceError is the error of a Place that cannot store or return a part.
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
