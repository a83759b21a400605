package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"markmill/runs"
)

// Index answers questions about the runs of a store. It is one connection: use it from one goroutine at a time.
type Index struct {
	store runs.Store
	conn  *sqlite.Conn
}

// Options configure Open. The zero value says nothing and shows nothing.
type Options struct {
	Note     func(words string)    // gets why the index was made again, or is not used
	Progress func(done, total int) // called from time to time while many records are read
	Wait     time.Duration         // for another process that writes the index; 0 is five seconds
}

func (o Options) wait() time.Duration { return cmp.Or(o.Wait, 5*time.Second) }

func (o Options) note(format string, args ...any) {
	if o.Note != nil {
		o.Note(fmt.Sprintf(format, args...))
	}
}

// settled is how much older than now the folder of the runs must be for its time to prove that no run came since: file
// systems count in steps of up to two seconds.
const settled = 3 * time.Second

var errVersion = errors.New("it is of another version of Markmill")

// Open opens the index of a store and brings it up to date. A missing, damaged or foreign index is made again. If it
// cannot be written, the records are read into memory instead, and a note says why. An error is one of the records
// themselves, or the end of ctx.
func Open(ctx context.Context, store runs.Store, o Options) (*Index, error) {
	if _, err := os.Stat(store.Dir); errors.Is(err, fs.ErrNotExist) {
		return inMemory(ctx, store, o) // of no runs: a question makes no store
	}
	x, err := openFile(ctx, store, o)
	if err == nil || ctx.Err() != nil {
		return x, errors.Join(err, ctx.Err())
	}
	if errors.Is(err, runs.ErrLive) {
		err = errors.New("another process is writing it")
	}
	o.note("the index is not used, the records are read instead: %v", err)
	return inMemory(ctx, store, o)
}

// Rebuild makes the index of a store again, from the records alone, and returns how many runs it has.
func Rebuild(ctx context.Context, store runs.Store, o Options) (int, error) {
	if _, err := os.Stat(store.Dir); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	release, err := store.LockIndex(o.wait())
	if errors.Is(err, runs.ErrLive) {
		err = fmt.Errorf("%s: another process is writing it; try again", store.IndexFile())
	}
	if err != nil {
		return 0, err
	}
	defer release()
	return rebuild(ctx, store, o)
}

// Close closes the connection.
func (x *Index) Close() error { return x.conn.Close() }

func openFile(ctx context.Context, store runs.Store, o Options) (*Index, error) {
	flags := sqlite.OpenReadWrite
	release, err := store.LockIndex(o.wait())
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errReadOnly) {
		flags, release, err = sqlite.OpenReadOnly, func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	defer release()
	x, err := current(ctx, store, flags, o)
	if err == nil || ctx.Err() != nil || flags == sqlite.OpenReadOnly || !remade(err) {
		return x, err
	}
	_, statErr := os.Lstat(store.IndexFile())
	if _, err := rebuild(ctx, store, o); err != nil {
		return nil, err
	}
	if statErr == nil {
		o.note("the index is made again: %v", err)
	}
	return current(ctx, store, flags, o)
}

// remade reports whether an index that cannot be used is to be made again.
func remade(err error) bool {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultReadOnly, sqlite.ResultPerm, sqlite.ResultFull,
		sqlite.ResultIOErr, sqlite.ResultNoMem, sqlite.ResultInterrupt:
		return false
	}
	return true
}

// current opens the file and brings it up to date. The connection is inside a read transaction, so what follows reads
// that state.
func current(ctx context.Context, store runs.Store, flags sqlite.OpenFlags, o Options) (x *Index, err error) {
	conn, err := openConn(store.IndexFile(), flags)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, conn.Close())
		}
	}()
	interruptible(ctx, conn)
	if err := checkVersion(conn); err != nil {
		return nil, err
	}
	if err := refresh(ctx, conn, store, o); err != nil {
		return nil, err
	}
	if err := script(conn, "BEGIN; SELECT version FROM meta"); err != nil {
		return nil, err
	}
	return &Index{store, conn}, nil
}

func checkVersion(conn *sqlite.Conn) error {
	found := 0
	err := exec(conn, "SELECT version FROM meta", nil,
		func(s *sqlite.Stmt) error { found = s.ColumnInt(0); return nil })
	if err == nil && found != version {
		err = errVersion
	}
	return err
}

// inMemory reads every record.
func inMemory(ctx context.Context, store runs.Store, o Options) (*Index, error) {
	conn, err := openConn(":memory:", sqlite.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	interruptible(ctx, conn)
	if _, err := fill(ctx, conn, store, o); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &Index{store, conn}, nil
}

// rebuild writes a new database beside the old one and renames it. The index is locked.
func rebuild(ctx context.Context, store runs.Store, o Options) (count int, err error) {
	path := store.IndexFile()
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), runs.TempPrefix+"index-*"))
	for _, file := range left {
		_ = os.Remove(file) // of a process that was killed here; the next one tries again
	}
	file, err := os.CreateTemp(store.Dir, runs.TempPrefix+"index-*")
	if err != nil {
		return 0, err
	}
	temp := file.Name()
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp))
		}
	}()
	if err := errors.Join(file.Chmod(0o644), file.Close()); err != nil {
		return 0, err
	}
	conn, err := openConn(temp, sqlite.OpenReadWrite)
	if err != nil {
		return 0, err
	}
	interruptible(ctx, conn)
	// Without a journal: a database that is not finished is never read.
	if err = script(conn, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF"); err == nil {
		count, err = fill(ctx, conn, store, o)
	}
	if err = errors.Join(err, conn.Close()); err != nil {
		return 0, err
	}
	if err := syncFile(temp); err != nil {
		return 0, err
	}
	// A journal that a killed writer left is of the old database, and would be rolled back into the new one.
	if err := os.Remove(path + "-journal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	return count, os.Rename(temp, path)
}

func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// fill makes the tables of an empty database, and adds all runs.
func fill(ctx context.Context, conn *sqlite.Conn, store runs.Store, o Options) (count int, err error) {
	changed, err := store.Changed()
	if err != nil {
		return 0, err
	}
	now := time.Now()
	ids, err := store.IDs()
	if err != nil {
		return 0, err
	}
	err = inTransaction(conn, func() error {
		if err := script(conn, tables); err != nil {
			return err
		}
		if err := insert(conn, "meta", version, changed.UnixNano(), now.Sub(changed) > settled); err != nil {
			return err
		}
		if count, err = addAll(ctx, conn, store, ids, o); err != nil {
			return err
		}
		return script(conn, views)
	})
	return count, err
}

// addAll reads the records of some runs, several at a time, and adds them. A run that was removed meanwhile is left
// out.
func addAll(ctx context.Context, conn *sqlite.Conn, store runs.Store, ids []runs.RunID, o Options) (count int,
	err error) {
	ctx, stop := context.WithCancel(ctx)
	todo, done := make(chan runs.RunID), make(chan claimed, 64)
	var readers sync.WaitGroup
	defer func() {
		stop()
		for range done { // let the readers end
		}
	}()
	for range min(runtime.GOMAXPROCS(0), max(1, len(ids))) {
		readers.Go(func() {
			for id := range todo {
				entry, run := store.Claim(id)
				done <- claimed{entry, run}
			}
		})
	}
	go func() {
		defer close(done)
		defer readers.Wait()
		defer close(todo)
		for _, id := range ids {
			select {
			case todo <- id:
			case <-ctx.Done():
				return
			}
		}
	}()
	for one := range done {
		if one.entry.Status == runs.Damaged {
			if _, err := os.Stat(one.entry.Dir); errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		if err := add(conn, one); err != nil {
			return count, fmt.Errorf("run %s: %w", one.entry.ID, err)
		}
		if count++; o.Progress != nil && count%512 == 0 {
			o.Progress(count, len(ids))
		}
	}
	return count, ctx.Err()
}
