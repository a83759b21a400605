package index

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
