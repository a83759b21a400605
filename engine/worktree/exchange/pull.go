package exchange

import (
	"bufio"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v6/plumbing"
	"github.com/go-git/go-git/v6/plumbing/filemode"
	"github.com/go-git/go-git/v6/plumbing/format/packfile"
	"github.com/go-git/go-git/v6/plumbing/object"
	"github.com/go-git/go-git/v6/storage/filesystem"

	"markmill/notebooks"
	"markmill/runs"
)

// Bounds of a record that is pulled. A record of a notebook with 1,000 steps has some 5,000 files, five folders deep.
const (
	maxFiles = 100_000
	maxDepth = 64
)

// Fetch brings records from the remote here, to be unpacked. Each must be among those of List.
func (r *Remote) Fetch(ctx context.Context, ids []runs.RunID) error {
	if len(ids) == 0 {
		return nil
	}
	return r.fetch(ctx, ids)
}

// Unpack writes the files of a fetched record into a folder. What is no plain record is an error: a link, a
// submodule, a name that leads out of the folder, more files or bytes than the bounds.
func (r *Remote) Unpack(ctx context.Context, id runs.RunID, to string) error {
	ref, err := r.repo.Storer.Reference(refOf(id))
	if err != nil {
		return r.hostile(id, err)
	}
	files, err := r.files(ref.Hash())
	if err != nil {
		return r.hostile(id, err)
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	left := r.max
	for name, hash := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		blob, err := object.GetBlob(r.repo.Storer, hash)
		if err != nil {
			return r.hostile(id, fmt.Errorf("%q: %w", name, err))
		}
		if left -= blob.Size; left < 0 {
			return r.hostile(id, fmt.Errorf("%w: unpacked, it is more than %d MB", errTooLarge, r.max>>20))
		}
		if err := unpackFile(root, name, blob); err != nil {
			return r.hostile(id, fmt.Errorf("%q: %w", name, err))
		}
	}
	return nil
}

func unpackFile(root *os.Root, name string, blob *object.Blob) error {
	in, err := blob.Reader()
	if err != nil {
		return err
	}
	defer in.Close()
	local := filepath.FromSlash(name)
	if err := root.MkdirAll(filepath.Dir(local), 0o755); err != nil {
		return err
	}
	out, err := root.OpenFile(local, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// files returns the blobs of a commit by name.
func (r *Remote) files(at plumbing.Hash) (map[string]plumbing.Hash, error) {
	commit, err := object.GetCommit(r.repo.Storer, at)
	if err != nil {
		return nil, err
	}
	tree, err := commit.Tree()
	if err != nil {
		return nil, err
	}
	return listTree(tree)
}

// listTree lists the files of a tree, within the bounds. It is not object.Tree.Files, which follows a tree that names
// one folder many times without end.
func listTree(top *object.Tree) (map[string]plumbing.Hash, error) {
	files := map[string]plumbing.Hash{}
	entries := 0
	var walk func(tree *object.Tree, prefix string, depth int) error
	walk = func(tree *object.Tree, prefix string, depth int) error {
		if depth > maxDepth {
			return fmt.Errorf("its folders are more than %d deep", maxDepth)
		}
		for _, e := range tree.Entries {
			name := path.Join(prefix, e.Name)
			if entries++; entries > maxFiles {
				return fmt.Errorf("it has more than %d files", maxFiles)
			}
			if !plainName(e.Name) {
				return fmt.Errorf("the name %q in it is none of a file in a record", prefix+"/"+e.Name)
			}
			if _, twice := files[name]; twice {
				return fmt.Errorf("%q is in it twice", name)
			}
			switch e.Mode {
			case filemode.Regular:
				files[name] = e.Hash
			case filemode.Dir:
				below, err := tree.Tree(e.Name)
				if err != nil {
					return fmt.Errorf("%q: %w", name, err)
				}
				if err := walk(below, name, depth+1); err != nil {
					return err
				}
			default:
				return fmt.Errorf("%q in it is no plain file (mode %s)", name, e.Mode)
			}
		}
		return nil
	}
	return files, walk(top, "", 1)
}

// plainName reports whether an entry of a tree is one name, inside its folder, on every system, and none that a record
// has beside its files.
func plainName(name string) bool {
	return filepath.IsLocal(name) && name != "." && !strings.ContainsAny(name, "/\\\x00") &&
		name != runs.LockFile && !strings.HasPrefix(name, runs.TempPrefix)
}

func (r *Remote) hostile(id runs.RunID, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &notebooks.Error{Kind: notebooks.KindRecord, File: r.Name, Err: err,
		Msg: fmt.Sprintf("its record of run %s is refused: %s", id, err)}
}

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
