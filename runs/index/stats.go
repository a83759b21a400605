package index

import (
	"cmp"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"markmill/runs"
)

// Stats say how the runs of one notebook went. Times are in seconds. A percentile is the nearest rank: a value that was
// measured, never one between two.
type Stats struct {
	Notebook  string         `json:"notebook"`
	Runs      int            `json:"runs"`
	Statuses  map[string]int `json:"statuses"`           // how many runs ended how
	PassRate  *float64       `json:"pass_rate"`          // of those that passed or failed; null if none did
	P50       float64        `json:"p50"`                // of the time of a run
	P95       float64        `json:"p95"`                // of the time of a run
	LastGreen *RunTime       `json:"last_green"`         // the newest that passed; null if none did
	Slowest   []RunTime      `json:"slowest"`            // at most five
	Steps     []StepStats    `json:"steps"`              // in the order of the newest run's plan
	Flaky     []Flaky        `json:"flaky"`              // most failures first
	Bytes     int64          `json:"disk_use,omitempty"` // bytes of the records, where it was asked for
	IDs       []runs.RunID   `json:"-"`
}

// RunTime is a run and how long it took.
type RunTime struct {
	Run     runs.RunID `json:"run_id"`
	Started time.Time  `json:"started_at"`
	Seconds float64    `json:"seconds"`
}

// StepStats are those of one step, where it ran. Steps that were carried over from another run are left out.
type StepStats struct {
	Step   string  `json:"step"`
	Runs   int     `json:"runs"`
	Failed int     `json:"failed"` // failed, or ran out of time
	P50    float64 `json:"p50"`
	P95    float64 `json:"p95"`
	Most   float64 `json:"max"`

	times []float64
}

// Flaky are runs with the same source, base commit and parameters, some of which passed and some failed.
type Flaky struct {
	Inputs string     `json:"inputs"` // of the view runs
	Passed int        `json:"passed"`
	Failed int        `json:"failed"`
	Newest runs.RunID `json:"newest_failed"`
}

// slowest is how many runs Stats names.
const slowest = 5

// Stats counts the runs that a filter chooses, by notebook, those with the most runs first. Sort and Limit are not
// looked at.
func (x *Index) Stats(f Filter) ([]*Stats, error) {
	f.Sort, f.Limit = nil, 0
	where, args, err := x.chosen(f)
	if err != nil {
		return nil, err
	}
	by := map[string]*counter{}
	var order []*counter
	err = exec(x.conn, "SELECT coalesce(notebook,''), run_id, status, started_ns, seconds, inputs FROM run WHERE "+
		where+" ORDER BY started_ns DESC, run_id DESC", args, func(s *sqlite.Stmt) error {
		name := s.ColumnText(0)
		c := by[name]
		if c == nil {
			c = &counter{Stats: Stats{Notebook: name, Statuses: map[string]int{}}, inputs: map[string]*Flaky{}}
			by[name], order = c, append(order, c)
		}
		c.run(RunTime{runs.RunID(s.ColumnText(1)), timeOf(s, 3), s.ColumnFloat(4)}, runs.Status(s.ColumnText(2)),
			!s.ColumnIsNull(4), s.ColumnText(5))
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = exec(x.conn, "SELECT coalesce(notebook,''), step, s.status, s.seconds FROM run CROSS JOIN step s USING(n) "+
		"WHERE s.n IN (SELECT n FROM run WHERE "+where+") AND s.seconds IS NOT NULL AND NOT carried AND "+
		"s.status<>'skip' ORDER BY started_ns DESC, position", args, func(s *sqlite.Stmt) error {
		by[s.ColumnText(0)].step(s.ColumnText(1), runs.StepStatus(s.ColumnText(2)), s.ColumnFloat(3))
		return nil
	})
	if err != nil {
		return nil, err
	}
	stats := make([]*Stats, len(order))
	for i, c := range order {
		stats[i] = c.done()
	}
	slices.SortStableFunc(stats, func(a, b *Stats) int { return b.Runs - a.Runs })
	return stats, nil
}

// counter collects Stats.
type counter struct {
	Stats
	times  []RunTime
	inputs map[string]*Flaky
}

// run counts a run; the newest come first.
func (c *counter) run(one RunTime, status runs.Status, ended bool, inputs string) {
	c.Runs++
	c.Statuses[string(status)]++
	c.IDs = append(c.IDs, one.Run)
	if ended && status != runs.Blocked {
		c.times = append(c.times, one)
	}
	if status == runs.Pass && c.LastGreen == nil {
		c.LastGreen = &one
	}
	if inputs == "" || !status.Passed() && status != runs.Fail {
		return
	}
	if c.inputs[inputs] == nil {
		c.inputs[inputs] = &Flaky{Inputs: inputs}
	}
	same := c.inputs[inputs]
	if status.Passed() {
		same.Passed++
		return
	}
	if same.Failed++; same.Newest == "" {
		same.Newest = one.Run
	}
}

func (c *counter) step(name string, status runs.StepStatus, seconds float64) {
	at := slices.IndexFunc(c.Steps, func(s StepStats) bool { return s.Step == name })
	if at < 0 {
		at = len(c.Steps)
		c.Steps = append(c.Steps, StepStats{Step: name})
	}
	s := &c.Steps[at]
	s.Runs++
	s.times = append(s.times, seconds)
	if status == runs.StepFailed || status == runs.StepTimeout {
		s.Failed++
	}
}

func (c *counter) done() *Stats {
	passed := c.Statuses[string(runs.Pass)] + c.Statuses[string(runs.Partial)]
	if verdicts := passed + c.Statuses[string(runs.Fail)]; verdicts > 0 {
		rate := float64(passed) / float64(verdicts)
		c.PassRate = &rate
	}
	slices.SortStableFunc(c.times, func(a, b RunTime) int { return cmp.Compare(b.Seconds, a.Seconds) })
	c.Slowest = append([]RunTime{}, c.times[:min(slowest, len(c.times))]...)
	times := make([]float64, len(c.times))
	for i, t := range c.times {
		times[i] = t.Seconds
	}
	c.P50, c.P95 = percentile(times, 50), percentile(times, 95)
	c.Steps = append([]StepStats{}, c.Steps...)
	for i := range c.Steps {
		s := &c.Steps[i]
		s.P50, s.P95, s.Most = percentile(s.times, 50), percentile(s.times, 95), percentile(s.times, 100)
	}
	c.Flaky = []Flaky{}
	for _, same := range c.inputs {
		if same.Passed > 0 && same.Failed > 0 {
			c.Flaky = append(c.Flaky, *same)
		}
	}
	slices.SortFunc(c.Flaky, func(a, b Flaky) int {
		if a.Failed != b.Failed {
			return b.Failed - a.Failed
		}
		return cmp.Compare(a.Inputs, b.Inputs)
	})
	return &c.Stats
}

// percentile is the smallest value that at least p of a hundred values do not exceed; 0 of none. It sorts the values.
func percentile(values []float64, p int) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[(len(values)*p+99)/100-1]
}

// BackendRate says how the runs went of which an agent did a step, or was to do it. A run whose steps of agents were
// all carried from another run does not count: nobody was asked anything.
type BackendRate struct {
	Backend  string   `json:"backend"`
	Model    string   `json:"model,omitzero"`
	Runs     int      `json:"runs"`
	Passed   int      `json:"passed"`
	Failed   int      `json:"failed"`
	Blocked  int      `json:"blocked"`
	PassRate *float64 `json:"pass_rate"` // of those that passed or failed; null if none did
	P50      float64  `json:"p50"`       // seconds of a run that passed or failed
	P95      float64  `json:"p95"`
	Tokens   float64  `json:"mean_tokens"` // input and output of a run that reports them; 0 if none does
	CostUSD  float64  `json:"cost_usd"`    // of all runs, as far as the backend tells

	times   []float64
	counted int // runs with tokens
}

// BackendRates counts the runs that a filter chooses, by backend and model, by name. Sort and Limit are not looked at.
func (x *Index) BackendRates(f Filter) ([]*BackendRate, error) {
	f.Sort, f.Limit = nil, 0
	where, args, err := x.chosen(f)
	if err != nil {
		return nil, err
	}
	rates := []*BackendRate{}
	err = exec(x.conn, "SELECT backend, model, run.status, run.seconds, sum(input_tokens+output_tokens), "+
		"sum(cost_usd) FROM run JOIN agent USING(n) WHERE NOT carried AND n IN (SELECT n FROM run WHERE "+where+
		") GROUP BY backend, model, n ORDER BY backend, model", args, func(s *sqlite.Stmt) error {
		name, model := s.ColumnText(0), s.ColumnText(1)
		if n := len(rates); n == 0 || rates[n-1].Backend != name || rates[n-1].Model != model {
			rates = append(rates, &BackendRate{Backend: name, Model: model})
		}
		r := rates[len(rates)-1]
		r.Runs++
		switch status := runs.Status(s.ColumnText(2)); {
		case status.Passed():
			r.Passed++
			r.times = append(r.times, s.ColumnFloat(3))
		case status == runs.Fail:
			r.Failed++
			r.times = append(r.times, s.ColumnFloat(3))
		case status == runs.Blocked:
			r.Blocked++
		}
		if !s.ColumnIsNull(4) {
			r.Tokens += s.ColumnFloat(4)
			r.counted++
		}
		r.CostUSD += s.ColumnFloat(5)
		return nil
	})
	for _, r := range rates {
		if n := r.Passed + r.Failed; n > 0 {
			rate := float64(r.Passed) / float64(n)
			r.PassRate = &rate
		}
		if r.counted > 0 {
			r.Tokens /= float64(r.counted)
		}
		slices.Sort(r.times)
		r.P50, r.P95 = percentile(r.times, 50), percentile(r.times, 95)
	}
	return rates, err
}
