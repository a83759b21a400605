package index

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// Filter chooses runs. The zero value chooses all, the newest first.
type Filter struct {
	Statuses     []runs.Status // any of them; empty: all
	Notebook     string        // its path, the end of one, or a pattern with * ? [
	Given        bool          // the given parameters of each run are read
	Within       bool          // none of a notebook that lies outside of the repository
	Since, Until time.Time     // of the start: Since counts, Until does not
	Params       []Condition   // all of them
	Scraps       []Condition   // all of them
	Base         string        // the beginning of the base commit
	Sort         []Key         // then the newest first
	Limit        int           // 0: all
	Skip         int           // so many before the first
}

// Condition compares the value of a parameter or a scrap: loss<0.2. A run without the value does not meet it.
type Condition struct{ Name, Op, Value string }

// ParseCondition reads a condition: a name, one of = != < <= > >= and a value.
func ParseCondition(text string) (Condition, error) {
	at := strings.IndexAny(text, "=!<>")
	if at > 0 {
		c := Condition{Name: strings.TrimSpace(text[:at])}
		for _, op := range []string{"<=", ">=", "!=", "==", "=", "<", ">"} {
			if value, found := strings.CutPrefix(text[at:], op); found {
				c.Op, c.Value = op, strings.TrimSpace(value)
				if op == "==" {
					c.Op = "="
				}
				return c, nil
			}
		}
	}
	return Condition{}, &notebooks.Error{Kind: notebooks.KindOption, Msg: fmt.Sprintf("%q is no condition", text),
		Hint: "write a name, one of = != < <= > >=, and a value: 'loss<0.2'"}
}

// where is the condition on the columns value, number and json of a table. Numbers, and texts that are numbers, are
// compared as numbers, other values as text; < and > hold between two numbers, or between two texts.
func (c Condition) where() (string, []any) {
	number, isNumber := numberOf(codec.Raw(c.Value)).(float64)
	equality := c.Op == "=" || c.Op == "!="
	is, args := "typeof(value)='text' AND value"+c.Op+"?", []any{whole(c.Value)}
	switch {
	case !equality && isNumber:
		return "number" + c.Op + "?", []any{number}
	case !equality:
		return is, args
	case c.Value == "true", c.Value == "false", c.Value == "null":
		is, args = "json=? OR value=?", []any{c.Value, c.Value}
	case isNumber:
		is, args = "number=? OR value=?", []any{number, c.Value}
		if n, err := strconv.ParseInt(c.Value, 10, 64); err == nil { // a double may not tell it from its neighbors
			is, args = "number=? AND (typeof(value)<>'integer' OR value=?)", []any{number, n}
		}
	default:
		is = "typeof(value)='text' AND value=?"
	}
	if c.Op == "!=" {
		is = "json IS NOT NULL AND NOT coalesce(" + is + ",0)"
	}
	return is, args
}

// Holds reports whether a value meets the condition, as List decides it.
func (c Condition) Holds(value codec.Raw) bool {
	text, number := Text(value), numberOf(value)
	wanted, isNumber := numberOf(codec.Raw(c.Value)).(float64)
	isText := len(value) > 0 && strings.IndexByte(`"[{`, byte(value.Kind())) >= 0 // lists and objects are their JSON
	order := 2                                                                    // nothing to compare
	switch equality := c.Op == "=" || c.Op == "!="; {
	case len(value) == 0:
		return false
	case isNumber && number != nil:
		order = cmp.Compare(number.(float64), wanted)
		n, err := strconv.ParseInt(c.Value, 10, 64)
		if m, notWhole := strconv.ParseInt(string(value), 10, 64); err == nil && notWhole == nil && equality {
			order = cmp.Compare(m, n)
		}
	case !equality && isNumber:
	case isText, equality && (c.Value == "true" || c.Value == "false" || c.Value == "null"):
		order = strings.Compare(text, c.Value)
	}
	switch c.Op {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order == -1
	case "<=":
		return order == -1 || order == 0
	case ">":
		return order == 1
	}
	return order == 1 || order == 0
}

// Key is what a list is sorted by.
type Key struct {
	Column     string // of sortColumns, or "param" or "scrap" with Name
	Name       string
	Descending bool
}

var sortColumns = map[string]string{"started": "started_ns", "finished": "finished_ns", "seconds": "seconds",
	"notebook": "notebook", "status": "status", "run": "run_id"}

// ParseKey reads a key: a column, param:NAME or scrap:NAME, after - for the largest first.
func ParseKey(text string) (Key, error) {
	var k Key
	k.Column, k.Descending = strings.CutPrefix(text, "-")
	if kind, name, found := strings.Cut(k.Column, ":"); found && name != "" && (kind == "param" || kind == "scrap") {
		k.Column, k.Name = kind, name
		return k, nil
	}
	if sortColumns[k.Column] == "" {
		return k, &notebooks.Error{Kind: notebooks.KindOption, Msg: fmt.Sprintf("%q is nothing to sort by", text),
			Hint: "started, finished, seconds, notebook, status, run, param:NAME or scrap:NAME; --sort=-seconds has " +
				"the longest first"}
	}
	return k, nil
}

// Item is one run of a list, with the values that its Filter names.
type Item struct {
	runs.Entry
	Given  map[string]codec.Raw `json:"-"`                    // all parameters that were given, if the filter asks
	Params map[string]codec.Raw `json:"parameters,omitempty"` // those that --param or --sort names
	Scraps map[string]codec.Raw `json:"scraps,omitempty"`     // those that --scrap or --sort names
}

// tableOf are the tables of the values that a filter can name.
var tableOf = map[string]string{"param": "parameter", "scrap": "scrap"}

// List returns the runs that a filter chooses, as runs.Store.List would say them.
func (x *Index) List(f Filter) ([]Item, error) {
	query, args, err := x.query(f)
	if err != nil {
		return nil, err
	}
	var items []Item
	err = exec(x.conn, query, args, func(s *sqlite.Stmt) error {
		id := runs.RunID(s.ColumnText(1))
		e := runs.Entry{ID: id, Dir: x.store.Path(id), Status: runs.Status(s.ColumnText(2)), Notebook: s.ColumnText(3),
			Reason: s.ColumnText(4), Parent: runs.RunID(s.ColumnText(7)), ResumedFrom: runs.RunID(s.ColumnText(8)),
			ForkedFrom: runs.RunID(s.ColumnText(9)), Sweep: runs.SweepID(s.ColumnText(10)),
			StartedAt: timeOf(s, 5), FinishedAt: timeOf(s, 6), Decision: s.ColumnText(11), DecidedBy: s.ColumnText(12),
			RerunOf: runs.RunID(s.ColumnText(13))}
		if !s.ColumnIsNull(14) {
			agrees := s.ColumnBool(14)
			e.Agrees = &agrees
		}
		item := Item{Entry: e}
		n := s.ColumnInt64(0)
		var err error
		if f.Given {
			item.Given, err = x.given(n)
		}
		if err == nil {
			item.ResumedBy, err = x.resumedBy(id)
		}
		if err == nil {
			item.Params, err = x.values("parameter", n, f.names("param"))
		}
		if err == nil {
			item.Scraps, err = x.values("scrap", n, f.names("scrap"))
		}
		items = append(items, item)
		return err
	})
	return items, err
}

// Count returns how many runs a filter chooses. Sort, Limit and Skip are not looked at.
func (x *Index) Count(f Filter) (count int, err error) {
	f.Sort, f.Limit = nil, 0
	where, args, err := x.chosen(f)
	if err != nil {
		return 0, err
	}
	err = exec(x.conn, "SELECT count(*) FROM run WHERE "+where, args,
		func(s *sqlite.Stmt) error { count = s.ColumnInt(0); return nil })
	return count, err
}

// chosen is the condition of a filter on the table run; "1" chooses all.
func (x *Index) chosen(f Filter) (condition string, args []any, err error) {
	where := []string{"1"}
	and := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if len(f.Statuses) > 0 {
		values := make([]any, len(f.Statuses))
		for i, s := range f.Statuses {
			values[i] = string(s)
		}
		and("status IN (?"+strings.Repeat(",?", len(values)-1)+")", values...)
	}
	switch {
	case f.Notebook == "":
	case strings.ContainsAny(f.Notebook, "*?["):
		and(ofNotebooks("name GLOB ?"), f.Notebook)
	default:
		end := "/" + path.Clean(f.Notebook)
		and(ofNotebooks("name=? OR substr(name,-length(?))=?"), f.Notebook, end, end)
	}
	if f.Within {
		and(within)
	}
	if !f.Since.IsZero() {
		and("started_ns>=?", f.Since.UnixNano())
	}
	if !f.Until.IsZero() {
		and("started_ns<?", f.Until.UnixNano())
	}
	if f.Base != "" {
		and("substr(base_commit,1,length(?))=?", f.Base, f.Base)
	}
	values := f.values()
	selective := slices.DeleteFunc(slices.Clone(values), func(v valueCondition) bool { return v.Op == "!=" })
	if len(selective) > 0 {
		numbers, err := x.meeting(selective)
		if err != nil {
			return "", nil, err
		}
		most := 20_000 // more are found sooner by a look at the values of each run
		if f.Limit > 0 && len(f.Sort) == 0 {
			most = 40 * f.Limit // and the newest come first
		}
		if len(numbers) <= most {
			list, err := codec.Marshal(numbers)
			if err != nil {
				return "", nil, err
			}
			and("n IN (SELECT value FROM json_each(?))", whole(list))
			values = slices.DeleteFunc(values, func(v valueCondition) bool { return v.Op != "!=" })
		}
	}
	for _, v := range values {
		is, args := v.where()
		and("EXISTS (SELECT 1 FROM "+v.table+" v WHERE v.n=run.n AND name=? AND ("+is+"))", append([]any{v.Name},
			args...)...)
	}
	return strings.Join(where, " AND "), args, nil
}

// ofNotebooks is the condition that a run is of a notebook whose name meets another. There are fewer notebooks than
// runs, so their names are looked at.
func ofNotebooks(condition string) string {
	return "notebook IN (SELECT name FROM (" + names + ") WHERE " + condition + ")"
}

// valueCondition is a condition on a row of a table of values.
type valueCondition struct {
	table string
	Condition
}

func (f Filter) values() (all []valueCondition) {
	for _, c := range f.Params {
		all = append(all, valueCondition{tableOf["param"], c})
	}
	for _, c := range f.Scraps {
		all = append(all, valueCondition{tableOf["scrap"], c})
	}
	return all
}

// meeting returns the numbers of the runs that meet all conditions. SQLite would make a temporary table for each
// condition, which takes four times as long.
func (x *Index) meeting(conditions []valueCondition) (numbers []int64, err error) {
	met := map[int64]int{}
	for i, c := range conditions {
		is, args := c.where()
		err := exec(x.conn, "SELECT n FROM "+c.table+" WHERE name=? AND ("+is+")", append([]any{c.Name}, args...),
			func(s *sqlite.Stmt) error {
				if n := s.ColumnInt64(0); met[n] == i {
					met[n]++
				}
				return nil
			})
		if err != nil {
			return nil, err
		}
	}
	for n, times := range met {
		if times == len(conditions) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

func (x *Index) query(f Filter) (query string, args []any, err error) {
	where, args, err := x.chosen(f)
	query = "SELECT n, run_id, status, notebook, reason, started_ns, finished_ns, parent, resumed_from, " +
		"forked_from, sweep, decision, decided_by, rerun_of, agrees FROM run WHERE " + where + " ORDER BY "
	for _, k := range f.Sort {
		column := sortColumns[k.Column]
		if table := tableOf[k.Column]; table != "" {
			column = "(SELECT coalesce(number,value) FROM " + table + " v WHERE v.n=run.n AND name=?)"
			args = append(args, k.Name)
		}
		if k.Descending {
			column += " DESC"
		}
		query += column + " NULLS LAST, "
	}
	query += "started_ns DESC, run_id DESC"
	if f.Limit > 0 {
		query += " LIMIT " + strconv.Itoa(f.Limit) + " OFFSET " + strconv.Itoa(f.Skip)
	}
	return query, args, err
}

// names returns the parameters or the scraps that a filter names, each once.
func (f Filter) names(kind string) (names []string) {
	conditions := f.Params
	if kind == "scrap" {
		conditions = f.Scraps
	}
	for _, c := range conditions {
		names = append(names, c.Name)
	}
	for _, k := range f.Sort {
		if k.Column == kind {
			names = append(names, k.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Columns returns the names of the values that a list of the filter has: parameters and scraps, sorted.
func (f Filter) Columns() (params, scraps []string) { return f.names("param"), f.names("scrap") }

func timeOf(s *sqlite.Stmt, column int) time.Time {
	if s.ColumnIsNull(column) {
		return time.Time{}
	}
	return time.Unix(0, s.ColumnInt64(column)).UTC()
}

func (x *Index) resumedBy(id runs.RunID) (by []runs.RunID, err error) {
	err = exec(x.conn, "SELECT run_id FROM run WHERE resumed_from=? ORDER BY started_ns, run_id", []any{string(id)},
		func(s *sqlite.Stmt) error { by = append(by, runs.RunID(s.ColumnText(0))); return nil })
	return by, err
}

// given are the parameters that a run was given.
func (x *Index) given(n int64) (values map[string]codec.Raw, err error) {
	err = exec(x.conn, "SELECT name, json FROM parameter WHERE n=? AND given AND json IS NOT NULL", []any{n},
		func(s *sqlite.Stmt) error {
			if values == nil {
				values = map[string]codec.Raw{}
			}
			values[s.ColumnText(0)] = codec.Raw(s.ColumnText(1))
			return nil
		})
	return values, err
}

func (x *Index) values(table string, n int64, names []string) (map[string]codec.Raw, error) {
	var values map[string]codec.Raw
	for _, name := range names {
		err := exec(x.conn, "SELECT json FROM "+table+" WHERE n=? AND name=? AND json IS NOT NULL", []any{n, name},
			func(s *sqlite.Stmt) error {
				if values == nil {
					values = map[string]codec.Raw{}
				}
				values[name] = codec.Raw(s.ColumnText(0))
				return nil
			})
		if err != nil {
			return nil, err
		}
	}
	return values, nil
}

// Text is a value of a list as people read it: text without quotes, other values as JSON.
func Text(value codec.Raw) string {
	var text string
	if len(value) > 0 && value.Kind() == '"' && codec.Unmarshal(value, &text) == nil {
		return text
	}
	return cmp.Or(string(value), "")
}

// within is the condition that a notebook is not one that lies outside of the repository of its run.
const within = "(coalesce(source_path,'')<>'' OR coalesce(repository,'')='')"

// Latest is the newest run of one notebook.
type Latest struct {
	Notebook string // its path in the repository; of a notebook elsewhere, as it was given
	Run      runs.Entry
}

// names selects the notebooks of the runs, each once, and reads no more of the index than that.
const names = "WITH RECURSIVE names(name) AS (SELECT min(notebook) FROM run UNION ALL SELECT (SELECT min(notebook) " +
	"FROM run WHERE notebook > name) FROM names WHERE name IS NOT NULL) SELECT name FROM names WHERE name IS NOT NULL"

// Latest returns the newest run of every notebook, and of it what says how it went. It reads the index of notebooks,
// and one run of each.
func (x *Index) Latest() (list []Latest, err error) {
	err = exec(x.conn, names, nil,
		func(s *sqlite.Stmt) error { list = append(list, Latest{Notebook: s.ColumnText(0)}); return nil })
	for i := range list {
		if err != nil {
			break
		}
		e := &list[i].Run
		err = exec(x.conn, "SELECT run_id, status, notebook, reason, started_ns, finished_ns, decision, decided_by "+
			"FROM run WHERE notebook=? ORDER BY started_ns DESC, run_id DESC LIMIT 1", []any{list[i].Notebook},
			func(s *sqlite.Stmt) error {
				id := runs.RunID(s.ColumnText(0))
				*e = runs.Entry{ID: id, Dir: x.store.Path(id), Status: runs.Status(s.ColumnText(1)),
					Notebook: s.ColumnText(2), Reason: s.ColumnText(3), StartedAt: timeOf(s, 4),
					FinishedAt: timeOf(s, 5), Decision: s.ColumnText(6), DecidedBy: s.ColumnText(7)}
				return nil
			})
	}
	return list, err
}

// Statuses returns those of the newest runs of a notebook, named as Latest names it, the newest first.
func (x *Index) Statuses(notebook string, most int) (list []runs.Status, err error) {
	err = exec(x.conn, "SELECT status FROM run WHERE notebook=? ORDER BY started_ns DESC, run_id DESC LIMIT ?",
		[]any{notebook, most},
		func(s *sqlite.Stmt) error { list = append(list, runs.Status(s.ColumnText(0))); return nil })
	return list, err
}
