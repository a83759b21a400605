package index

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"zombiezen.com/go/sqlite"

	"markmill/runs"
)

// errReadOnly is the error of a file system that is mounted for reading only.
const errReadOnly = syscall.EROFS

// refresh brings the index up to date with the run directories: runs that came or went, and those that were not
// completed when they were read. If nothing changed, it only reads.
func refresh(ctx context.Context, conn *sqlite.Conn, store runs.Store, o Options) error {
	changed, err := store.Changed()
	if err != nil {
		return err
	}
	now := time.Now()
	var known int64
	var sure bool
	err = exec(conn, "SELECT changed, settled FROM meta", nil, func(s *sqlite.Stmt) error {
		known, sure = s.ColumnInt64(0), s.ColumnBool(1)
		return nil
	})
	if err != nil {
		return err
	}
	again, err := moved(conn, store)
	if err != nil {
		return err
	}
	same := sure && known == changed.UnixNano()
	gone, came := again, again
	if !same {
		if gone, came, err = compare(conn, store, again); err != nil {
			return err
		}
	}
	nowSure := now.Sub(changed) > settled
	if len(gone) == 0 && len(came) == 0 && (same || !nowSure) {
		return nil
	}
	return inTransaction(conn, func() error {
		for _, id := range gone {
			if err := remove(conn, id); err != nil {
				return err
			}
		}
		if _, err := addAll(ctx, conn, store, came, o); err != nil {
			return err
		}
		return exec(conn, "UPDATE meta SET changed=?, settled=?", []any{changed.UnixNano(), nowSure}, nil)
	})
}

// moved returns the runs that were not completed when they were read and say more by now. Those of interrupted runs say
// the same until somebody reconciles them: a question need not write them again.
func moved(conn *sqlite.Conn, store runs.Store) ([]runs.RunID, error) {
	open, err := ids(conn, "SELECT run_id FROM run WHERE NOT final")
	if err != nil {
		return nil, err
	}
	var again []runs.RunID
	for _, id := range open {
		entry, run := store.Claim(id)
		events := 0
		if run != nil {
			events = run.Events
		}
		same := false
		err := exec(conn, "SELECT 1 FROM run WHERE run_id=? AND status=? AND reason IS ? AND events=?",
			[]any{string(id), string(entry.Status), entry.Reason, events},
			func(*sqlite.Stmt) error { same = true; return nil })
		if err != nil {
			return nil, err
		}
		if !same {
			again = append(again, id)
		}
	}
	return again, nil
}

// compare returns the runs to be removed from the index and those to be added; again are both.
func compare(conn *sqlite.Conn, store runs.Store, again []runs.RunID) (gone, came []runs.RunID, err error) {
	there, err := store.IDs()
	if err != nil {
		return nil, nil, err
	}
	known, err := ids(conn, "SELECT run_id FROM run ORDER BY run_id")
	if err != nil {
		return nil, nil, err
	}
	gone, came = slices.Clone(again), nil
	for _, id := range known {
		if _, found := slices.BinarySearch(there, id); !found && !slices.Contains(again, id) {
			gone = append(gone, id)
		}
	}
	for _, id := range there {
		if _, found := slices.BinarySearch(known, id); !found || slices.Contains(again, id) {
			came = append(came, id)
		}
	}
	return gone, came, nil
}

func ids(conn *sqlite.Conn, query string) (all []runs.RunID, err error) {
	err = exec(conn, query, nil, func(s *sqlite.Stmt) error {
		all = append(all, runs.RunID(s.ColumnText(0)))
		return nil
	})
	return all, err
}

// remove removes a run from the index.
func remove(conn *sqlite.Conn, id runs.RunID) error {
	for _, table := range children {
		query := "DELETE FROM " + table + " WHERE n=(SELECT n FROM run WHERE run_id=?)"
		if err := exec(conn, query, []any{string(id)}, nil); err != nil {
			return err
		}
	}
	return exec(conn, "DELETE FROM run WHERE run_id=?", []any{string(id)}, nil)
}

// Update tells an index that there is of runs that ended, were completed or were removed. It makes no index: the first
// question does. It does not wait for another writer, and its error needs no attention: Open finds what Update missed.
func Update(ctx context.Context, store runs.Store, changed ...runs.RunID) (err error) {
	if _, err := os.Lstat(store.IndexFile()); err != nil || len(changed) == 0 {
		return nil
	}
	release, err := store.LockIndex(0)
	if err != nil {
		return err
	}
	defer release()
	conn, err := openConn(store.IndexFile(), sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	conn.SetBusyTimeout(busy / 10) // a run waits for it
	interruptible(ctx, conn)
	if err := checkVersion(conn); err != nil {
		return err
	}
	return inTransaction(conn, func() error {
		var there []runs.RunID
		for _, id := range changed {
			if err := remove(conn, id); err != nil {
				return err
			}
			if _, err := os.Stat(store.Path(id)); !errors.Is(err, fs.ErrNotExist) {
				there = append(there, id)
			}
		}
		_, err := addAll(ctx, conn, store, there, Options{})
		return err
	})
}
