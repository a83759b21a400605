// Package index keeps a fold of the journals of a store in SQLite, so that thousands of runs can be searched.
//
// It owns index.db: its schema, its views (docs/runs.md), and the queries over them.
//
// What always holds: the index is never the truth. Open brings it up to date with the run directories before anything
// is read. One that is damaged, or of another version, is made again; where it cannot be written, the same tables are
// made in memory. So a run never fails because of it, and an answer is always that of the records. The journal of a run
// that is completed is read once: whoever changes one afterwards, which markmill verify finds, has to reindex.
//
// The database has a rollback journal and no write-ahead log: a WAL needs a second and a third file beside the first,
// which a reader of a read-only folder cannot make, and shared memory, which network file systems lack. Only one
// process writes, under Store.LockIndex, and a new database is written under another name and renamed. Readers wait for
// a commit, some milliseconds.
//
// It imports runs and notebooks, and neither engine nor render. No other package imports a driver of SQLite.
package index
