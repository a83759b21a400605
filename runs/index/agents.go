package index

import (
	"slices"

	"zombiezen.com/go/sqlite"

	"markmill/runs"
)

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
