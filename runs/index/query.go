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
