package sheet

import (
	"bytes"
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render/documents"
	"markmill/runs"
)

// ComparedRun is one run of a comparison. What is not known of it is nil or zero: an output notebook has no times.
type ComparedRun struct {
	Name       string                   `json:"name"` // id of the run, or path of the output notebook
	Run        string                   `json:"run_id,omitzero"`
	Notebook   string                   `json:"notebook"`
	Status     string                   `json:"status"`
	Reason     string                   `json:"reason,omitzero"` // why it did not pass
	Started    time.Time                `json:"started_at,omitzero"`
	Parameters map[string]codec.Raw     `json:"parameters"`
	Scraps     map[string]codec.Raw     `json:"scraps"`          // those that fit in a cell
	Tests      *notebooks.ManifestTests `json:"tests,omitempty"` // of all steps
	Change     *ChangeSize              `json:"change,omitempty"`
	Seconds    *float64                 `json:"seconds,omitempty"`
	// Of a run with an agent's step: who did it, whether only paths were changed that may be, and what it took.
	Backend string            `json:"backend,omitzero"`
	Paths   string            `json:"paths,omitzero"` // allowed, outside
	Usage   *runs.AgentTokens `json:"usage,omitempty"`
	// Of an attempt that is compared with others (markmill run --attempts).
	Attempt string `json:"attempt,omitzero"` // the backend, and a number
	Tree    string `json:"tree,omitzero"`    // a letter for each result tree
	Judged  string `json:"judged,omitzero"`  // once, twice, 3×; flaky: the tests that judge the same tree in two ways

	params, scraps []string // their names, in order
}

// ChangeSize is the size of what a run changed.
type ChangeSize struct {
	Files   int `json:"files"`
	Added   int `json:"added"` // lines
	Deleted int `json:"deleted"`
}

// OfRun makes a ComparedRun of a record.
func OfRun(run *runs.Run) *ComparedRun {
	c := newCompared(documents.RunScraps(run.Started.Notebook, run))
	c.Name, c.Started = string(run.ID), run.StartedAt
	if causes := run.Causes(); len(causes) > 0 {
		c.Reason = causes[0].Line()
	}
	for i := range run.Steps {
		if f := run.Steps[i].Finished; f != nil && f.Tests != nil {
			c.addTests(f.Tests.Passed, f.Tests.Failed, f.Tests.Skipped)
		}
	}
	if run.Diff != nil && run.Diff.Skipped == "" {
		c.Change = &ChangeSize{Files: len(run.Diff.Files)}
		for _, f := range run.Diff.Files {
			c.Change.Added, c.Change.Deleted = c.Change.Added+f.Added, c.Change.Deleted+f.Deleted
		}
	}
	if !run.FinishedAt.IsZero() {
		took := run.FinishedAt.Sub(run.StartedAt).Seconds()
		c.Seconds = &took
	}
	c.agents(run)
	return c
}

// agents adds what is of interest where an agent does a step.
func (c *ComparedRun) agents(run *runs.Run) {
	c.Backend, c.Usage = strings.Join(run.Backends(), "+"), run.Tokens()
	if c.Backend == "" {
		return
	}
	if s := run.Started.Sweep; s != nil && s.Attempt > 0 {
		c.Attempt = c.Backend + " " + strconv.Itoa(s.Attempt)
	}
	if run.Diff != nil && run.Diff.Skipped == "" {
		c.Paths = "outside"
		if run.Diff.AllowedPassed {
			c.Paths = "allowed"
		}
	}
}

// OfNotebook makes a ComparedRun of an output notebook; its manifest may be nil.
func OfNotebook(r *documents.Recorded, m *notebooks.Manifest) *ComparedRun {
	c := newCompared(r)
	if m == nil {
		return c
	}
	if len(m.Blockers) > 0 {
		c.Reason = m.Blockers[0].Code + ": " + m.Blockers[0].Message
	}
	for _, s := range m.Steps {
		if s.Tests != nil {
			c.addTests(s.Tests.Passed, s.Tests.Failed, s.Tests.Skipped)
		}
	}
	if m.Changes != nil && m.ChangesOmitted == 0 {
		c.Change = &ChangeSize{Files: len(m.Changes)}
		for _, f := range m.Changes {
			c.Change.Added, c.Change.Deleted = c.Change.Added+f.Added, c.Change.Deleted+f.Deleted
		}
	}
	return c
}

func newCompared(r *documents.Recorded) *ComparedRun {
	c := &ComparedRun{Name: r.Name, Run: r.Run, Notebook: r.Name, Status: r.Status, Parameters: map[string]codec.Raw{},
		Scraps: map[string]codec.Raw{}}
	for _, p := range r.Params {
		c.Parameters[p.Name], c.params = p.Value, append(c.params, p.Name)
	}
	for i := range r.Scraps {
		if s := &r.Scraps[i]; scalar(s) && len(s.Value) > 0 {
			c.Scraps[s.Name], c.scraps = s.Value, append(c.scraps, s.Name)
		}
	}
	return c
}

func (c *ComparedRun) addTests(passed, failed, skipped int) {
	if c.Tests == nil {
		c.Tests = &notebooks.ManifestTests{}
	}
	c.Tests.Passed, c.Tests.Failed, c.Tests.Skipped = c.Tests.Passed+passed, c.Tests.Failed+failed,
		c.Tests.Skipped+skipped
}

func (c *ComparedRun) passed() bool { return runs.Status(c.Status).Passed() }

// Better says which values of a column are better.
type Better string

// Lower and Higher values are better, or nobody knows.
const (
	Lower   Better = "lower"
	Higher  Better = "higher"
	Unknown Better = ""
)

// words of names of scraps whose direction is usual. Those of lower go first: accuracy_loss is a loss.
var lowerWords, higherWords = []string{"loss", "error", "errors", "err", "mse", "rmse", "mae", "mape", "perplexity",
	"time",
	"seconds", "secs", "ms", "duration", "latency", "cost", "memory", "failures", "failed"},
	[]string{"accuracy", "acc", "score", "f1", "auc", "r2", "precision", "recall", "throughput", "coverage", "passed",
		"speedup"}

// BetterOf guesses from the name of a scrap which of its values are better.
func BetterOf(name string) Better {
	words := strings.FieldsFunc(strings.ToLower(name),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	isOne := func(of []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(of, w) })
	}
	switch {
	case isOne(lowerWords):
		return Lower
	case isOne(higherWords):
		return Higher
	}
	return Unknown
}

// Mark is what a cell of a comparison is in its column.
type Mark string

// Best and Worst stand where it is known which values are better, Lowest and Highest elsewhere.
const (
	Best    Mark = "best"
	Worst   Mark = "worst"
	Lowest  Mark = "lowest"
	Highest Mark = "highest"
)

// Signs are how the marks look.
var Signs = map[Mark]string{Best: "★", Worst: "▾", Lowest: "↓", Highest: "↑"}

// Compared is a table of runs, a row for each.
type Compared struct {
	Sheet
	Runs  []*ComparedRun
	Marks [][]Mark // of each cell; "" is none
	// Same are the parameters with the same value in all runs, which are no columns.
	Same     []notebooks.ManifestParam
	Headings []ComparedColumn // of the columns
	Note     string           // what a page says of all
}

// ComparedColumn is a column of a comparison.
type ComparedColumn struct {
	Name   string // as in the sheet
	Kind   string // run, parameter, scrap, tests, change, time or cost
	Better Better
	Marked bool // some cell of it has a mark
}

// Compare makes the table of some runs. better says which values of a scrap are better; nil is BetterOf. Best and worst
// are chosen among the runs that passed, where several have different numbers; others may be worst in scraps and tests.
func Compare(list []*ComparedRun, better func(scrap string) Better) *Compared {
	if better == nil {
		better = BetterOf
	}
	t := &Compared{Runs: list}
	for range list {
		t.Rows, t.Marks = append(t.Rows, nil), append(t.Marks, nil)
	}
	words := func(name, kind string, of func(*ComparedRun) string) {
		t.column(name, kind, Unknown, func(c *ComparedRun) codec.Raw { return text(of(c)) })
	}
	attempts := slices.ContainsFunc(list, func(c *ComparedRun) bool { return c.Attempt != "" })
	if attempts {
		words("attempt", "run", func(c *ComparedRun) string { return c.Attempt })
	} else {
		words("run", "run", func(c *ComparedRun) string { return c.Name })
	}
	notebook := func(c *ComparedRun) codec.Raw { return text(c.Notebook) }
	if differ(list, notebook) {
		t.column("notebook", "run", Unknown, notebook)
	}
	words("status", "run", func(c *ComparedRun) string { return c.Status })
	if !attempts {
		words("backend", "run", func(c *ComparedRun) string { return c.Backend })
	}
	for _, name := range namesOf(list, func(c *ComparedRun) []string { return c.params }) {
		value := func(c *ComparedRun) codec.Raw { return c.Parameters[name] }
		if len(list) > 1 && !differ(list, value) {
			t.Same = append(t.Same, notebooks.ManifestParam{Name: name, Value: value(list[0])})
			continue
		}
		t.column(name, "parameter", Unknown, value)
	}
	for _, name := range namesOf(list, func(c *ComparedRun) []string { return c.scraps }) {
		t.column(name, "scrap", better(name), func(c *ComparedRun) codec.Raw { return c.Scraps[name] })
	}
	count := func(name, kind string, better Better, of func(*ComparedRun) (int, bool)) {
		t.column(name, kind, better, func(c *ComparedRun) codec.Raw {
			if n, known := of(c); known {
				return codec.Raw(strconv.Itoa(n))
			}
			return nil
		})
	}
	tests := func(of func(*notebooks.ManifestTests) int) func(*ComparedRun) (int, bool) {
		return func(c *ComparedRun) (int, bool) {
			if c.Tests == nil {
				return 0, false
			}
			return of(c.Tests), true
		}
	}
	count("tests passed", "tests", Higher, tests(func(m *notebooks.ManifestTests) int { return m.Passed }))
	count("tests failed", "tests", Lower, tests(func(m *notebooks.ManifestTests) int { return m.Failed }))
	if slices.ContainsFunc(list, func(c *ComparedRun) bool { return c.Tests != nil && c.Tests.Skipped > 0 }) {
		count("tests skipped", "tests", Unknown, tests(func(m *notebooks.ManifestTests) int { return m.Skipped }))
	}
	words("judged", "tests", func(c *ComparedRun) string { return c.Judged })
	words("paths", "change", func(c *ComparedRun) string { return c.Paths })
	words("tree", "change", func(c *ComparedRun) string { return c.Tree })
	change := func(of func(*ChangeSize) int) func(*ComparedRun) (int, bool) {
		return func(c *ComparedRun) (int, bool) {
			if c.Change == nil {
				return 0, false
			}
			return of(c.Change), true
		}
	}
	count("files", "change", Unknown, change(func(c *ChangeSize) int { return c.Files }))
	count("added", "change", Unknown, change(func(c *ChangeSize) int { return c.Added }))
	count("deleted", "change", Unknown, change(func(c *ChangeSize) int { return c.Deleted }))
	t.column("seconds", "time", Lower, func(c *ComparedRun) codec.Raw {
		if c.Seconds == nil {
			return nil
		}
		return codec.Raw(strconv.FormatFloat(math.Round(*c.Seconds*1000)/1000, 'f', -1, 64))
	})
	used := func(of func(*runs.AgentTokens) float64) func(*ComparedRun) codec.Raw {
		return func(c *ComparedRun) codec.Raw {
			if c.Usage == nil || of(c.Usage) == 0 {
				return nil
			}
			return codec.Raw(strconv.FormatFloat(of(c.Usage), 'f', -1, 64))
		}
	}
	t.column("tokens", "cost", Lower, used(func(u *runs.AgentTokens) float64 { return float64(u.Input + u.Output) }))
	t.column("USD", "cost", Lower, used(func(u *runs.AgentTokens) float64 { return u.CostUSD }))
	if attempts {
		words("run", "run", func(c *ComparedRun) string { return c.Run })
	}
	words("reason", "run", func(c *ComparedRun) string { return c.Reason })
	for i := range t.Headings {
		t.Columns = append(t.Columns, t.Headings[i].Name)
	}
	return t
}

// column adds a column, unless all of it is empty.
func (t *Compared) column(name, kind string, better Better, of func(*ComparedRun) codec.Raw) {
	cells := make([]codec.Raw, len(t.Runs))
	for i, c := range t.Runs {
		cells[i] = of(c)
		if kind == "scrap" { // shells record numbers as text
			if n := codec.Raw(plainText(cells[i])); !math.IsNaN(Number(cells[i])) &&
				codec.Unmarshal(n, new(float64)) == nil {
				cells[i] = n
			}
		}
	}
	if !slices.ContainsFunc(cells, func(v codec.Raw) bool { return !empty(v) }) {
		return
	}
	taken := func(name string) bool {
		return slices.ContainsFunc(t.Headings, func(c ComparedColumn) bool { return c.Name == name })
	}
	// a parameter and a scrap of one name, or one called status
	if taken(name) && (kind == "parameter" || kind == "scrap") {
		name = kind + "." + name
	}
	for taken(name) {
		name += "_"
	}
	marks := marksOf(t.Runs, cells, kind, better)
	column := ComparedColumn{Name: name, Kind: kind, Better: better}
	for i := range t.Runs {
		t.Rows[i], t.Marks[i] = append(t.Rows[i], cells[i]), append(t.Marks[i], marks[i])
		column.Marked = column.Marked || marks[i] != ""
	}
	t.Headings = append(t.Headings, column)
}

// marksOf marks the cells of a column. A value of runs that did not pass is never the best, and their time says
// nothing.
func marksOf(list []*ComparedRun, cells []codec.Raw, kind string, better Better) []Mark {
	marks := make([]Mark, len(cells))
	if kind == "run" || kind == "parameter" {
		return marks
	}
	sign, first, last := 1.0, Best, Worst // of the signed values, the least is the first
	switch better {
	case Higher:
		sign = -1
	case Unknown:
		first, last = Lowest, Highest
	}
	signed := func(i int) float64 { // not a number: it does not count
		if (kind == "time" || kind == "cost") && !list[i].passed() {
			return math.NaN()
		}
		return sign * Number(cells[i])
	}
	leads := func(i int) bool { return first == Lowest || list[i].passed() }
	lead, least, most := math.Inf(1), math.Inf(1), math.Inf(-1)
	for i := range cells {
		n := signed(i)
		if math.IsNaN(n) {
			continue
		}
		if least, most = min(least, n), max(most, n); leads(i) {
			lead = min(lead, n)
		}
	}
	if !(least < most) {
		return marks
	}
	for i := range cells {
		switch n := signed(i); {
		case n == lead && leads(i):
			marks[i] = first
		case n == most:
			marks[i] = last
		}
	}
	return marks
}

// Number reads a cell that is a number, or a text that is one, as shells record them; NaN for another.
func Number(v codec.Raw) float64 {
	if len(v) == 0 || v.Kind() != '0' && v.Kind() != '"' {
		return math.NaN()
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(plainText(v)), 64)
	if err != nil || math.IsInf(n, 0) {
		return math.NaN()
	}
	return n
}

// differ reports whether the runs have different values, or some of them none.
func differ(list []*ComparedRun, of func(*ComparedRun) codec.Raw) bool {
	return slices.ContainsFunc(list, func(c *ComparedRun) bool { return !bytes.Equal(of(c), of(list[0])) })
}

// namesOf returns the names of all runs, in order of first appearance.
func namesOf(list []*ComparedRun, of func(*ComparedRun) []string) (names []string) {
	for _, c := range list {
		for _, name := range of(c) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// SameWords are the parameters that are the same in all runs, as NAME=VALUE.
func (t *Compared) SameWords() []string {
	var words []string
	for _, p := range t.Same {
		words = append(words, p.Name+"="+brief(p.Value, tableCell))
	}
	return words
}

// Legend explains the marks that the table has, "" if it has none.
func (t *Compared) Legend() string {
	var words []string
	for _, m := range []Mark{Best, Worst, Lowest, Highest} {
		if slices.ContainsFunc(t.Marks, func(row []Mark) bool { return slices.Contains(row, m) }) {
			words = append(words, Signs[m]+" "+string(m))
		}
	}
	return strings.Join(words, " · ")
}

// Write writes the table in one of Formats. For people, each cell that is best or worst has its mark.
func (t *Compared) Write(to io.Writer, format string) error {
	shown := t.Sheet
	if format == "table" || format == "markdown" {
		shown.marks = t.Marks
	}
	return shown.Write(to, format)
}

// mark is what stands behind a cell: nothing, or a sign, or room for one where the column has signs.
func (s *Sheet) mark(row, column int) string {
	if s.marks == nil || !slices.ContainsFunc(s.marks, func(m []Mark) bool { return m[column] != "" }) {
		return ""
	}
	return " " + cmp.Or(Signs[s.marks[row][column]], " ")
}
