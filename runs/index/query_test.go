package index_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"markmill/notebooks/codec"
	"markmill/runs"
	"markmill/runs/index"
	"markmill/runs/runstest"
)

// Nothing but reading the views is possible, over a file and in memory.
func TestQueryOnlyReads(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out.db")
	for _, where := range []string{"file", "memory"} {
		store := aStore(t, 3)
		if where == "memory" {
			if err := os.MkdirAll(filepath.Join(store.IndexFile(), "x"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		x, _ := open(t, store)
		for _, query := range []string{
			"DELETE FROM runs", "DELETE FROM run", "INSERT INTO run(run_id) VALUES('x')", "UPDATE meta SET version=7",
			"DROP VIEW runs", "CREATE TABLE t(a)", "CREATE TEMP TABLE t(a)", "ALTER TABLE run RENAME TO r",
			"REINDEX", "ANALYZE",
			"PRAGMA journal_mode=WAL", "PRAGMA user_version", "PRAGMA user_version=3", "ATTACH '" + out + "' AS o",
			"VACUUM INTO '" + out + "'", "VACUUM", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT s", "DETACH main",
			"SELECT load_extension('x')", "SELECT writefile('" + out + "', 'x')", "SELECT readfile('/etc/hosts')",
			"SELECT * FROM run", "SELECT * FROM meta", "SELECT zeroblob(100000000)", "SELECT 1; DELETE FROM run", "",
			"-- none", "SELECT ?",
			"EXPLAIN DELETE FROM run", "WITH a AS (SELECT 1) DELETE FROM run",
		} {
			if table, err := x.Query(t.Context(), query); err == nil {
				t.Errorf("%s: %q gave %v", where, query, table)
			}
		}
		if table, err := x.Query(t.Context(), "SELECT count(*) FROM runs"); err != nil ||
			string(table.Rows[0][0]) != "3" {
			t.Errorf("%s: afterwards: %v, %v", where, table, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// An unknown name is answered with those that there are.
func TestQueryNamesWhatThereIs(t *testing.T) {
	x, _ := open(t, aStore(t, 1))
	for query, want := range map[string]string{
		"SELECT los FROM scraps":                "scraps has run_id, name, step, type, value",
		"SELECT statu FROM runs":                "did you mean status?",
		"SELECT r.ended_at FROM runs r":         "finished_at",
		"SELECT * FROM scrap_":                  "there are runs, steps, agents, parameters",
		"SELEC 1":                               "syntax error",
		"SELECT max(1,2,3) FROM runs WHERE x y": "syntax error",
	} {
		if _, err := x.Query(t.Context(), query); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", query, err, want)
		}
	}
}

// A query without an end is ended.
func TestQueryEnds(t *testing.T) {
	x, _ := open(t, aStore(t, 1))
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c"
	if _, err := x.Query(ctx, endless); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if _, err := x.Query(t.Context(), "SELECT 1"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// The queries of docs/runs.md work, and it lists the columns that there are.
func TestDocumentedQueries(t *testing.T) {
	text, err := os.ReadFile("../../docs/runs.md")
	if err != nil {
		t.Fatal(err)
	}
	store := aStore(t, 200)
	for i := range 20 {
		value := codec.Raw(`{"state":"` + []string{"ok", "critical"}[i%2] + `","value":3}`)
		if _, err := runstest.MakeScrap(store, start, 200+i, runs.CheckPrefix+"disk", value); err != nil {
			t.Fatal(err)
		}
	}
	x, _ := open(t, store)
	queries := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllSubmatch(text, -1)
	if len(queries) < 10 {
		t.Errorf("%d queries, want 10", len(queries))
	}
	for _, q := range queries {
		if table, err := x.Query(t.Context(), string(q[1])); err != nil {
			t.Errorf("%s: %v", q[1], err)
		} else if len(table.Rows) == 0 {
			t.Errorf("%s: no rows", q[1])
		}
	}
	for _, view := range index.Views {
		table, err := x.Query(t.Context(), "SELECT * FROM "+view+" LIMIT 1")
		if err != nil {
			t.Fatal(err)
		}
		_, section, found := strings.Cut(string(text), "\n### "+view+"\n")
		section, _, _ = strings.Cut(section, "\n#")
		for _, column := range table.Columns {
			if !found || !strings.Contains(section, "| `"+column+"` |") {
				t.Errorf("docs/runs.md: %s has no row of %s", view, column)
			}
		}
		if rows := strings.Count(section, "\n| `"); rows != len(table.Columns) {
			t.Errorf("docs/runs.md: %s has %d rows, and the view %d columns", view, rows, len(table.Columns))
		}
	}
}

// Numbers that a shell recorded are texts, and are compared as numbers.
func TestNumbersOfShells(t *testing.T) {
	c, err := index.ParseCondition("loss < 0.2")
	if err != nil || c != (index.Condition{Name: "loss", Op: "<", Value: "0.2"}) {
		t.Errorf("%+v, %v", c, err)
	}
}
