package jetstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"markmill/engine/queue"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// partSize is the size of the parts of a file. Larger messages have failed over TCP.
const partSize = 512 << 10

// Put keeps a file: one of more than a part in the store of larger files, if there is one. Parts that are there already
// are not sent again.
func (q *Queue) Put(ctx context.Context, name string, from io.Reader) (queue.File, error) {
	return q.keep(ctx, name, from, q.store)
}

func (q *Queue) keep(ctx context.Context, name string, from io.Reader, store FileStore) (queue.File, error) {
	file, whole, buffer := queue.File{Path: name, Parts: []string{}}, runs.NewHasher(), make([]byte, partSize)
	for {
		n, err := io.ReadFull(from, buffer)
		if err == nil && store != nil && len(buffer) == partSize { // there may be more
			larger, more := make([]byte, storePart), 0
			copy(larger, buffer)
			more, err = io.ReadFull(from, larger[n:])
			if file.Apart = more > 0; file.Apart {
				n, buffer = n+more, larger
			}
		}
		if n > 0 {
			part, err := q.putPart(ctx, buffer[:n], file.Apart)
			if err != nil {
				return file, err
			}
			_, _ = whole.Write(buffer[:n]) // a hash takes all
			file.Parts, file.Bytes = append(file.Parts, part), file.Bytes+int64(n)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			file.Digest = whole.Digest()
			return file, nil
		}
		if err != nil {
			return file, err
		}
	}
}

// putBytes keeps an entry, in the queue wherever files are.
func (q *Queue) putBytes(ctx context.Context, data []byte) (queue.File, error) {
	return q.keep(ctx, "", bytes.NewReader(data), nil)
}

func (q *Queue) putPart(ctx context.Context, data []byte, apart bool) (string, error) {
	sum := sha256.Sum256(data)
	part := hex.EncodeToString(sum[:])
	if apart {
		if err := q.store.Put(ctx, part, data); err != nil {
			return "", &FileStoreError{err}
		}
		return part, nil
	}
	return part, q.putOnce(ctx, "mm.cas."+part, data)
}

// freshFor is how long what is stored may be counted on without an entry that names it. What is older is stored again,
// since it may be removed at any moment if nothing names it: see Prune, which spares what is younger than twice that.
const freshFor = 12 * time.Hour

// isFresh reports whether a message was stored lately.
func isFresh(msg *jetstream.RawStreamMsg) bool { return time.Since(msg.Time) < freshFor }

// putOnce stores a message whose subject has none yet, or one that may be removed.
func (q *Queue) putOnce(ctx context.Context, subject string, data []byte) error {
	_, err := q.publish(ctx, q.files, &nats.Msg{Subject: subject, Data: data}, 0, isFresh)
	if errors.Is(err, ErrFenced) {
		err = q.retry(ctx, func() error {
			_, err := q.js.Publish(ctx, subject, data, jetstream.WithRetryAttempts(0))
			return err
		})
	}
	return err
}

// Get writes a file that was kept, and checks its digests.
func (q *Queue) Get(ctx context.Context, file queue.File, to io.Writer) error {
	whole := runs.NewHasher()
	for _, part := range file.Parts {
		var data []byte
		var err error
		if file.Apart {
			data, err = q.inStore(ctx, file, part)
		} else {
			data, err = q.stored(ctx, "mm.cas."+part)
		}
		if err != nil {
			return fmt.Errorf("%s: a part of it, %s: %w", file.Path, part, err)
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != part {
			return damaged(file, "the part "+part+" has other bytes")
		}
		_, _ = whole.Write(data)
		if _, err := to.Write(data); err != nil {
			return err
		}
	}
	if whole.Digest() != file.Digest {
		return damaged(file, "its bytes have another digest than was said")
	}
	return nil
}

func damaged(file queue.File, why string) error {
	return &notebooks.Error{Kind: notebooks.KindRecord, File: file.Path,
		Msg: "the file that the queue keeps is damaged: " + why}
}

func (q *Queue) getBytes(ctx context.Context, file queue.File) ([]byte, error) {
	var b bytes.Buffer
	err := q.Get(ctx, file, &b)
	return b.Bytes(), err
}

func (q *Queue) stored(ctx context.Context, subject string) (data []byte, err error) {
	err = q.retry(ctx, func() error {
		msg, err := q.files.GetLastMsgForSubject(ctx, subject)
		if err == nil {
			data = msg.Data
		}
		return err
	})
	return data, err
}

// PutBase keeps a commit, as the pack that write writes, unless it is there.
func (q *Queue) PutBase(ctx context.Context, commit string, write func(io.Writer) error) error {
	subject := "mm.base." + commit
	switch msg, err := q.latest(ctx, q.files, subject); {
	case err == nil && isFresh(msg):
		return nil
	case err != nil && !errors.Is(err, jetstream.ErrMsgNotFound):
		return err
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(write(w)) }()
	file, err := q.Put(ctx, commit, r)
	_ = r.CloseWithError(err)
	if err != nil {
		return err
	}
	body, err := codec.Marshal(file)
	if err != nil {
		return err
	}
	return q.putOnce(ctx, subject, body)
}

// GetBase writes the pack of a commit. It returns false if none is kept.
func (q *Queue) GetBase(ctx context.Context, commit string, to io.Writer) (bool, error) {
	body, err := q.stored(ctx, "mm.base."+commit)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	var file queue.File
	if err == nil {
		err = codec.Unmarshal(body, &file)
	}
	if err == nil {
		err = q.Get(ctx, file, to)
	}
	return err == nil, err
}

// storePart is the size of the parts of files in a FileStore.
const storePart = 8 << 20

// FileStore keeps parts of larger files outside of the queue, each by its SHA-256 in hexadecimal. Writers name a part
// in an entry only after Put has returned, and readers check its bytes.
type FileStore interface {
	// Put stores a part, in place of one of that name with other bytes. A part is never visible half-written.
	Put(ctx context.Context, part string, data []byte) error
	// Get reads a part, of no more than most bytes.
	Get(ctx context.Context, part string, most int64) ([]byte, error)
	// Sweep removes parts that were stored before a time and that nothing names. It returns their number and size.
	Sweep(ctx context.Context, named func(part string) bool, before time.Time) (n int, bytes int64, err error)
}

// FileStoreError is the error of a FileStore that cannot store or return a part.
type FileStoreError struct{ Err error }

func (e *FileStoreError) Error() string {
	return fmt.Sprintf("larger files cannot be kept or read: %s", e.Err)
}

func (e *FileStoreError) Unwrap() error { return e.Err }

// inStore reads a part of a file from the store.
func (q *Queue) inStore(ctx context.Context, file queue.File, part string) ([]byte, error) {
	if q.store == nil {
		return nil, &FileStoreError{&notebooks.Error{Kind: notebooks.KindOption, File: file.Path,
			Msg:  "the queue has only its digest, and its bytes are where larger files are kept",
			Hint: "name that place with --files or MARKMILL_FILES, as whoever wrote the file does"}}
	}
	if len(part) != 64 || strings.Trim(part, "0123456789abcdef") != "" {
		return nil, damaged(file, fmt.Sprintf("%q names no part", part))
	}
	data, err := q.store.Get(ctx, part, storePart)
	if err != nil {
		return nil, &FileStoreError{err}
	}
	return data, nil
}
