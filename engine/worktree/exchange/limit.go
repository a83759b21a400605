package exchange

import (
	"bufio"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-git/go-git/v6/plumbing/format/packfile"
	"github.com/go-git/go-git/v6/storage/filesystem"
)

var errTooLarge = errors.New("it is too large")

// limitedStore is a store whose packs are bounded: go-git would inflate whatever a pack says.
type limitedStore struct {
	*filesystem.Storage
	scratch string
	sha256  bool
	max     int64
}

// PackfileWriter returns a writer that keeps the pack aside, and adds it when it is whole and within the bounds.
func (s *limitedStore) PackfileWriter() (io.WriteCloser, error) {
	file, err := os.CreateTemp(s.scratch, "incoming-*")
	if err != nil {
		return nil, err
	}
	return &incoming{store: s, file: file}, nil
}

type incoming struct {
	store *limitedStore
	file  *os.File
	size  int64
	err   error
}

func (in *incoming) Write(p []byte) (int, error) {
	if in.size += int64(len(p)); in.size > in.store.max {
		in.err = fmt.Errorf("%w: more than %d MB", errTooLarge, in.store.max>>20)
	}
	if in.err != nil {
		return 0, in.err
	}
	n, err := in.file.Write(p)
	in.err = err
	return n, err
}

// Close checks the pack and hands it to the store.
func (in *incoming) Close() error {
	err := in.err
	if err == nil && in.size > 0 {
		if err = in.check(); err == nil {
			err = in.add()
		}
	}
	return errors.Join(err, in.file.Close(), os.Remove(in.file.Name()))
}

func (in *incoming) add() error {
	if _, err := in.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	w, err := in.store.Storage.PackfileWriter()
	if err != nil {
		return err
	}
	_, err = io.Copy(w, in.file)
	return errors.Join(err, w.Close())
}

// check adds up what the objects of the pack are when they are inflated.
func (in *incoming) check() error {
	if _, err := in.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	var options []packfile.ScannerOption
	if in.store.sha256 {
		options = append(options, packfile.WithSHA256())
	}
	scanner := packfile.NewScanner(in.file, options...)
	var total int64
	for scanner.Scan() {
		if scanner.Data().Section != packfile.ObjectSection {
			continue
		}
		head := scanner.Data().Value().(packfile.ObjectHeader)
		size := head.Size
		if head.Type.IsDelta() {
			made, err := deltaResult(io.NewSectionReader(in.file, head.ContentOffset, in.size-head.ContentOffset))
			if err != nil {
				return err
			}
			if made > uint64(in.store.max) {
				return fmt.Errorf("%w: an object of %d bytes", errTooLarge, made)
			}
			size += int64(made)
		}
		if total += size; size < 0 || total > in.store.max {
			return fmt.Errorf("%w: inflated, it is more than %d MB", errTooLarge, in.store.max>>20)
		}
	}
	return scanner.Error()
}

// deltaResult is the size of the object that a delta makes: the second number of the delta.
func deltaResult(r io.Reader) (uint64, error) {
	inflated, err := zlib.NewReader(r)
	if err != nil {
		return 0, err
	}
	defer inflated.Close()
	in := bufio.NewReaderSize(inflated, 32)
	if _, err := binary.ReadUvarint(in); err != nil {
		return 0, err
	}
	return binary.ReadUvarint(in)
}
