package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/lazyregexp"
)

// Bounds of a query.
const (
	rowsMax  = 1_000_000
	valueTop = 16 << 20 // bytes of one value, also of one that a function makes
	sqlTop   = 1 << 20  // bytes of the query
)

// Table is the answer to a query. A cell is a JSON number, a string or null.
type Table struct {
	Columns []string
	Rows    [][]codec.Raw
}

// Query runs one SELECT over the views. It can neither write nor attach, set or load anything: SQLite asks before each
// statement is compiled, and only reading of the views and calls of functions are allowed. The end of ctx ends it. An
// error in the query is a *notebooks.Error; for an unknown name, it lists those that there are.
func (x *Index) Query(ctx context.Context, query string) (*Table, error) {
	if len(query) > sqlTop {
		return nil, queryError("the query is longer than 1 MiB", "")
	}
	interruptible(ctx, x.conn)
	defer x.conn.SetInterrupt(nil)
	if err := x.conn.SetAuthorizer(sqlite.AuthorizeFunc(readsViews)); err != nil {
		return nil, err
	}
	defer func() { _ = x.conn.SetAuthorizer(nil) }()
	before := x.conn.Limit(sqlite.LimitLength, valueTop)
	defer x.conn.Limit(sqlite.LimitLength, before)
	stmt, trailing, err := x.conn.PrepareTransient(query)
	if err != nil {
		return nil, x.explain(query, err)
	}
	if stmt.ColumnCount() == 0 { // nothing but spaces and comments
		return nil, errors.Join(stmt.Finalize(), queryError("there is no query",
			"write a SELECT: markmill list --query 'SELECT * FROM runs LIMIT 5'"))
	}
	table, err := collect(stmt, query[len(query)-trailing:])
	if finalErr := stmt.Finalize(); err == nil {
		err = finalErr
	}
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, x.explain(query, err)
	}
	return table, nil
}

func collect(stmt *sqlite.Stmt, trailing string) (*Table, error) {
	if strings.Trim(trailing, "; \t\r\n") != "" {
		return nil, queryError("there is text after the first statement: "+strings.TrimSpace(trailing),
			"ask one question at a time")
	}
	if n := stmt.BindParamCount(); n > 0 {
		return nil, queryError("the query has a parameter, "+cmp.Or(stmt.BindParamName(1), "?")+", where a value "+
			"must stand", "write the value")
	}
	t := &Table{}
	for i := range stmt.ColumnCount() {
		t.Columns = append(t.Columns, unique(t.Columns, stmt.ColumnName(i)))
	}
	for {
		more, err := stmt.Step()
		if err != nil || !more {
			return t, err
		}
		if len(t.Rows) == rowsMax {
			return nil, queryError(fmt.Sprintf("the answer has more than %d rows", rowsMax), "add a LIMIT, or "+
				"aggregate")
		}
		row := make([]codec.Raw, len(t.Columns))
		for i := range row {
			if row[i], err = cell(stmt, i); err != nil {
				return nil, err
			}
		}
		t.Rows = append(t.Rows, row)
	}
}

// unique returns a name that no earlier column has: a JSON object has each name once.
func unique(before []string, name string) string {
	unused := name
	for n := 2; slices.Contains(before, unused); n++ {
		unused = name + "_" + strconv.Itoa(n)
	}
	return unused
}

func cell(stmt *sqlite.Stmt, i int) (codec.Raw, error) {
	switch stmt.ColumnType(i) {
	case sqlite.TypeInteger:
		return codec.Raw(strconv.FormatInt(stmt.ColumnInt64(i), 10)), nil
	case sqlite.TypeFloat:
		f := stmt.ColumnFloat(i)
		if math.IsInf(f, 0) || math.IsNaN(f) {
			return codec.Marshal(strconv.FormatFloat(f, 'g', -1, 64))
		}
		return codec.Marshal(f)
	case sqlite.TypeNull:
		return codec.Raw("null"), nil
	}
	return codec.Marshal(strings.ToValidUTF8(stmt.ColumnText(i), "�"))
}

// readsViews allows what a SELECT over the views needs.
func readsViews(action sqlite.Action) sqlite.AuthResult {
	switch action.Type() {
	case sqlite.OpSelect, sqlite.OpRecursive:
		return sqlite.AuthResultOK
	case sqlite.OpFunction:
		return sqlite.AuthResultOK // SQLite is built without functions that open files
	case sqlite.OpRead:
		// Without a column it is a row that is counted, in a view perhaps.
		name := action.Table()
		table := name == "run" || name == "meta" || slices.Contains(children, name)
		if table && action.Column() != "" && action.Accessor() == "" {
			return sqlite.AuthResultDeny
		}
		return sqlite.AuthResultOK
	}
	return sqlite.AuthResultDeny
}

func queryError(msg, hint string) error {
	return &notebooks.Error{Kind: notebooks.KindOption, Msg: "query: " + msg, Hint: hint}
}

var unknownName = lazyregexp.New(`no such (column|table): ("?[^\s"]+"?)`)

// explain makes the error of SQLite one that says what there is.
func (x *Index) explain(query string, err error) error {
	if _, ours := errors.AsType[*notebooks.Error](err); ours {
		return err
	}
	_ = x.conn.SetAuthorizer(nil) // for the names below
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultAuth:
		return queryError("only SELECT over the views is allowed", "the views are "+strings.Join(Views, ", "))
	case sqlite.ResultTooBig:
		return queryError("a value is longer than 16 MiB", "")
	case sqlite.ResultCorrupt, sqlite.ResultNotADB, sqlite.ResultIOErr:
		return fmt.Errorf("%s: %w; markmill runs maintain reindex makes it again", x.store.IndexFile(), err)
	}
	found := unknownName.FindStringSubmatch(err.Error())
	if found == nil {
		return queryError(message(err), "")
	}
	if found[1] == "table" {
		return queryError("there is no table "+found[2], "there are "+strings.Join(Views, ", "))
	}
	_, column, dotted := strings.Cut(strings.Trim(found[2], `"`), ".")
	if !dotted {
		column = strings.Trim(found[2], `"`)
	}
	var lists, all []string
	for _, view := range Views {
		if !regexp.MustCompile(`(?i)\b` + view + `\b`).MatchString(query) {
			continue
		}
		names := x.columns(view)
		all = append(all, names...)
		lists = append(lists, view+" has "+strings.Join(names, ", "))
	}
	hint := strings.TrimSpace(notebooks.DidYouMean(column, all) + " " + strings.Join(lists, "; "))
	return queryError("there is no column "+found[2], hint)
}

// message is what SQLite says, without the words of its driver.
func message(err error) string {
	words := err.Error()
	if _, after, found := strings.Cut(words, ": SQL logic error"); found {
		words = strings.TrimPrefix(after, ": ")
	}
	return strings.TrimPrefix(words, "sqlite: ")
}

func (x *Index) columns(view string) (names []string) {
	err := exec(x.conn, "SELECT name FROM pragma_table_info(?)", []any{view},
		func(s *sqlite.Stmt) error { names = append(names, s.ColumnText(0)); return nil })
	if err != nil {
		return nil
	}
	return names
}

// version is that of the tables below. An index of another version is made again.
const version = 8

// valueMax is the longest value, in bytes, that the index keeps of a scrap. The record has longer ones.
const valueMax = 64 << 10

// tables hold the runs; n is the number of a run within this index.
const tables = `
CREATE TABLE meta(version INTEGER NOT NULL, changed INTEGER NOT NULL, settled INTEGER NOT NULL);
CREATE TABLE run(
	n INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, final INTEGER NOT NULL,
	status TEXT NOT NULL, notebook TEXT, source_path TEXT, source_digest TEXT, inputs TEXT,
	started_ns INTEGER, finished_ns INTEGER, started_at TEXT, finished_at TEXT, seconds REAL,
	base_commit TEXT, result_commit TEXT, repository TEXT, parent TEXT, resumed_from TEXT, forked_from TEXT, sweep TEXT, attempt INTEGER,
	reason TEXT, reason_code TEXT, reason_step TEXT,
	files INTEGER, added INTEGER, deleted INTEGER,
	mode TEXT, risk TEXT, approval TEXT, markmill TEXT, host TEXT, events INTEGER,
	decision TEXT, decided_by TEXT, rerun_of TEXT, agrees INTEGER);
CREATE TABLE step(
	n INTEGER NOT NULL, position INTEGER NOT NULL, step TEXT NOT NULL, lang TEXT, kernel TEXT, tags TEXT,
	status TEXT, reason TEXT, exit INTEGER, attempts INTEGER, seconds REAL, started_at TEXT, finished_at TEXT,
	stdout_bytes INTEGER, stderr_bytes INTEGER, error TEXT, terminated_by TEXT, carried INTEGER,
	PRIMARY KEY(n, position)) WITHOUT ROWID;
CREATE TABLE agent(
	n INTEGER NOT NULL, position INTEGER NOT NULL, step TEXT, backend TEXT, model TEXT, version TEXT, code TEXT, carried INTEGER,
	input_tokens INTEGER, cached_tokens INTEGER, output_tokens INTEGER, cost_usd REAL, PRIMARY KEY(n, position)) WITHOUT ROWID;
CREATE TABLE parameter(
	n INTEGER NOT NULL, name TEXT NOT NULL, type TEXT, value, number REAL, json TEXT, given INTEGER, origin TEXT,
	PRIMARY KEY(n, name)) WITHOUT ROWID;
CREATE TABLE scrap(
	n INTEGER NOT NULL, name TEXT NOT NULL, step TEXT, type TEXT, value, number REAL, json TEXT, mime TEXT, file TEXT, digest TEXT,
	PRIMARY KEY(n, name)) WITHOUT ROWID;
CREATE TABLE health(
	n INTEGER NOT NULL, name TEXT NOT NULL, position INTEGER, step TEXT, state TEXT, value REAL, unit TEXT, message TEXT,
	PRIMARY KEY(n, name)) WITHOUT ROWID;
CREATE TABLE test(
	n INTEGER NOT NULL, position INTEGER NOT NULL, step TEXT, runner TEXT,
	passed INTEGER, failed INTEGER, skipped INTEGER, PRIMARY KEY(n, position)) WITHOUT ROWID;
CREATE TABLE blocker(
	n INTEGER NOT NULL, position INTEGER NOT NULL, code TEXT, step TEXT, rule TEXT, message TEXT, hint TEXT, paths TEXT,
	consequence INTEGER, PRIMARY KEY(n, position)) WITHOUT ROWID;
CREATE TABLE change(
	n INTEGER NOT NULL, position INTEGER NOT NULL, path TEXT, old_path TEXT, status TEXT,
	added INTEGER, deleted INTEGER, binary INTEGER, bytes INTEGER, PRIMARY KEY(n, position)) WITHOUT ROWID;
`

// views are what docs/runs.md documents, and all that markmill list --query reads. The indexes come after the rows of
// a new database: one sort is quicker than a hundred thousand insertions.
const views = `
CREATE INDEX run_started ON run(started_ns, run_id);
CREATE INDEX run_status ON run(status, started_ns);
CREATE INDEX run_notebook ON run(notebook, started_ns, run_id, status);
CREATE INDEX run_open ON run(n) WHERE NOT final;
CREATE INDEX run_resumed ON run(resumed_from) WHERE resumed_from IS NOT NULL;
CREATE INDEX run_rerun ON run(rerun_of) WHERE rerun_of IS NOT NULL;
CREATE INDEX parameter_value ON parameter(name, value);
CREATE INDEX parameter_number ON parameter(name, number, value) WHERE number IS NOT NULL;
CREATE INDEX scrap_value ON scrap(name, value);
CREATE INDEX scrap_number ON scrap(name, number, value) WHERE number IS NOT NULL;
CREATE VIEW runs AS SELECT run_id, status, notebook, source_path, source_digest, inputs, started_at, finished_at, seconds,
	base_commit, result_commit, repository, parent, resumed_from, forked_from, sweep, attempt, reason, reason_code, reason_step,
	files, added, deleted, mode, risk, approval, markmill, host, decision, decided_by, rerun_of, agrees FROM run;
CREATE VIEW steps AS SELECT run_id, position, step, lang, kernel, tags, s.status, s.reason, exit, attempts, s.seconds,
	s.started_at, s.finished_at, stdout_bytes, stderr_bytes, error, terminated_by, carried FROM step s JOIN run USING(n);
CREATE VIEW agents AS SELECT run_id, position, step, backend, model, version, code, carried, input_tokens, cached_tokens,
	output_tokens, cost_usd FROM agent JOIN run USING(n);
CREATE VIEW parameters AS SELECT run_id, name, type, value, number, json, given, origin FROM parameter JOIN run USING(n);
CREATE VIEW scraps AS SELECT run_id, name, step, type, value, number, json, mime, file, digest FROM scrap JOIN run USING(n);
CREATE INDEX health_name ON health(name, n);
CREATE VIEW checks AS WITH seen AS (
	SELECT run_id, notebook, started_at, started_ns, h.*,
		lag(state) OVER (PARTITION BY notebook, name ORDER BY started_ns, run_id) AS before FROM health h JOIN run USING(n)),
	counted AS (SELECT *, sum(before IS NOT state) OVER (PARTITION BY notebook, name ORDER BY started_ns, run_id) AS spell
		FROM seen)
	SELECT run_id, notebook, started_at, position, step, name, state, value, unit, message, before,
		min(started_at) OVER (PARTITION BY notebook, name, spell) AS since FROM counted;
CREATE VIEW tests AS SELECT run_id, position, step, runner, passed, failed, skipped FROM test JOIN run USING(n);
CREATE VIEW blockers AS SELECT run_id, position, code, step, rule, message, hint, paths, consequence
	FROM blocker JOIN run USING(n);
CREATE VIEW changes AS SELECT run_id, position, path, old_path, c.status, c.added, c.deleted, binary, bytes
	FROM change c JOIN run USING(n);
`

// children are the tables that have rows of a run.
var children = []string{"step", "agent", "parameter", "scrap", "health", "test", "blocker", "change"}

// Views are the names that a query can read.
var Views = []string{"runs", "steps", "agents", "parameters", "scraps", "checks", "tests", "blockers", "changes"}
