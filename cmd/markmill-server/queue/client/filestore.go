package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"markmill/cmd/internal/remote"
	"markmill/engine/queue/jetstream"
	"markmill/notebooks"
	"markmill/runs"
)

// fileStore opens the store of larger files; nil without one. Commands that write there fail at once if they cannot.
func fileStore(ctx context.Context, at string, writes bool) (jetstream.FileStore, error) {
	bad := func(why, hint string) error {
		shown := at
		if strings.Contains(at, "://") { // which may have a credential
			shown, _, _ = strings.Cut(remote.Name(at), "?")
		}
		return &notebooks.Error{Kind: notebooks.KindOption, Msg: "larger files cannot be kept at " + shown + ": " + why,
			Hint: hint}
	}
	switch scheme, rest, isAddress := strings.Cut(at, "://"); {
	case at == "":
		return nil, nil
	case isAddress:
		if (scheme != "s3" && scheme != "gs" && scheme != "az" && scheme != "abs") || strings.ContainsAny(rest, "?#@") {
			return nil, bad("it is no address of an object store", "write s3://BUCKET/PREFIX, gs://… or az://…, "+
				"without a credential, or the path of a folder that all machines share")
		}
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, err
		}
		b := bucket{strings.TrimSuffix(at, "/"), remote.Client{Getenv: os.LookupEnv, Home: home, Raw: true}}
		if writes {
			err = b.client.Check(ctx, b.at+"/x")
		}
		return b, err
	}
	if !writes {
		return folder(at), nil
	}
	info, err := os.Stat(at)
	switch {
	case err != nil:
		return nil, bad(errors.Unwrap(err).Error(), "make the folder, or mount it, on each machine")
	case !info.IsDir():
		return nil, bad("it is no folder", "name a folder that all machines share")
	}
	return folder(at), nil
}

// bucket keeps parts in an object store, where an object is visible only when it is complete.
type bucket struct {
	at     string
	client remote.Client
}

func (b bucket) Put(ctx context.Context, part string, data []byte) error {
	return b.client.Write(ctx, b.at+"/"+part, data)
}

func (b bucket) Get(ctx context.Context, part string, most int64) ([]byte, error) {
	return b.client.Read(ctx, b.at+"/"+part, most)
}

// Sweep removes nothing: a lifecycle rule of the bucket does.
func (b bucket) Sweep(context.Context, func(string) bool, time.Time) (int, int64, error) {
	return 0, 0, nil
}

// folder keeps parts in a shared folder, in subfolders by their first two digits.
type folder string

func (f folder) path(part string) string { return filepath.Join(string(f), part[:2], part) }

// Put renames a part to its name when it is complete on the disk. It sets the time of an existing part to now, so that
// a sweep keeps it.
func (f folder) Put(ctx context.Context, part string, data []byte) error {
	path, now := f.path(part), time.Now()
	if os.Chtimes(path, now, now) == nil {
		if was, err := f.Get(ctx, part, int64(len(data))); err == nil && bytes.Equal(was, data) {
			return nil
		}
	}
	if err := os.Mkdir(filepath.Dir(path), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return runs.WriteStream(path, func(w io.Writer) error {
		_, err := w.Write(data)
		if file, ok := w.(*os.File); ok {
			err = errors.Join(err, file.Sync())
		}
		return err
	})
}

func (f folder) Get(_ context.Context, part string, most int64) ([]byte, error) {
	file, err := os.Open(f.path(part))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, most+1)) // the digest of a longer one differs
}

// Sweep also removes temporary files of killed writers.
func (f folder) Sweep(_ context.Context, named func(string) bool, before time.Time) (n int, size int64, err error) {
	files, err := filepath.Glob(filepath.Join(string(f), "[0-9a-f][0-9a-f]", "*"))
	for _, path := range files {
		name := filepath.Base(path)
		if err != nil || named(name) || len(name) != 64 && !strings.HasPrefix(name, runs.TempPrefix) {
			continue
		}
		info, statErr := os.Lstat(path)
		if statErr != nil || !info.Mode().IsRegular() || !info.ModTime().Before(before) {
			continue // another process was as quick
		}
		if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
			err = nil
		} else if err == nil {
			n, size = n+1, size+info.Size()
		}
	}
	return n, size, err
}
