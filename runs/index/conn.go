package index

import (
	"context"
	"fmt"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"markmill/runs"
)

// busy is how long a statement waits for another process's commit.
const busy = 5 * time.Second

func openConn(path string, flags sqlite.OpenFlags) (*sqlite.Conn, error) {
	c, err := sqlite.OpenConn(path, flags)
	if err != nil {
		return nil, err
	}
	c.SetBusyTimeout(busy)
	c.Limit(sqlite.LimitAttached, 0)
	return c, script(c, "PRAGMA temp_store=MEMORY; PRAGMA cache_size=-65536; PRAGMA trusted_schema=OFF; PRAGMA "+
		"synchronous=NORMAL")
}

// script runs statements that give no rows which anybody wants.
func script(c *sqlite.Conn, text string) error {
	for strings.TrimSpace(text) != "" {
		stmt, trailing, err := c.PrepareTransient(text)
		if err != nil {
			return err
		}
		for more := true; more && err == nil; {
			more, err = stmt.Step()
		}
		if finalErr := stmt.Finalize(); err == nil {
			err = finalErr
		}
		if err != nil {
			return err
		}
		text = text[len(text)-trailing:]
	}
	return nil
}

// exec runs one statement, which stays prepared, and calls row, which may be nil, for each row.
func exec(c *sqlite.Conn, query string, args []any, row func(*sqlite.Stmt) error) error {
	stmt, err := c.Prepare(query)
	if err != nil {
		return err
	}
	for i, arg := range args {
		bind(stmt, i+1, arg)
	}
	for {
		more, err := stmt.Step()
		if err == nil && more && row != nil {
			err = row(stmt)
		}
		if err != nil {
			_ = stmt.Reset() // it repeats the error
			return err
		}
		if !more {
			return stmt.ClearBindings()
		}
	}
}

// bind binds a value; the empty text is NULL, so that COUNT and IS NULL mean what they say.
func bind(stmt *sqlite.Stmt, i int, value any) {
	switch v := value.(type) {
	case nil:
		stmt.BindNull(i)
	case string:
		if v == "" {
			stmt.BindNull(i)
			return
		}
		stmt.BindText(i, v)
	case whole:
		stmt.BindText(i, string(v))
	case int:
		stmt.BindInt64(i, int64(v))
	case int64:
		stmt.BindInt64(i, v)
	case float64:
		stmt.BindFloat(i, v)
	case bool:
		stmt.BindBool(i, v)
	default:
		panic(fmt.Sprintf("index: no column holds a %T", value))
	}
}

// whole is text that may be empty.
type whole string

// inTransaction runs do, and keeps what it did or nothing of it.
func inTransaction(c *sqlite.Conn, do func() error) error {
	if err := script(c, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := do()
	if err == nil {
		if err = script(c, "COMMIT"); err == nil {
			return nil
		}
	}
	c.SetInterrupt(nil) // an interrupted connection does not even roll back
	_ = script(c, "ROLLBACK")
	return err
}

// interruptible makes a connection end its work when ctx does.
func interruptible(ctx context.Context, c *sqlite.Conn) { c.SetInterrupt(ctx.Done()) }

// stamp is a time as views have it: UTC, to the millisecond; nil for the zero time.
func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

func nanoseconds(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixNano()
}

func seconds(from, to time.Time) any {
	if from.IsZero() || to.IsZero() {
		return nil
	}
	return to.Sub(from).Seconds()
}

// claimed is what the index gets of one run.
type claimed struct {
	entry runs.Entry
	run   *runs.Run // nil: its journal cannot be read
}
