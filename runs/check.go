package runs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// ScrapCheck is the type of the scraps that the command check records. Their names begin with CheckPrefix, so that a
// check and a value can have one name.
const (
	ScrapCheck  = "check"
	CheckPrefix = "check:"
)

// CheckState is what a check found, from good to bad.
type CheckState string

const (
	CheckOK       CheckState = "ok"
	CheckWarn     CheckState = "warn"
	CheckCritical CheckState = "critical"
	CheckError    CheckState = "error" // the check itself did not work
)

// CheckStates are all states, from good to bad.
var CheckStates = []CheckState{CheckOK, CheckWarn, CheckCritical, CheckError}

// Failing reports whether a run with a check in this state does not pass.
func (s CheckState) Failing() bool { return s == CheckCritical || s == CheckError }

// Check is what a step tagged check reported under a name.
type Check struct {
	Name string           `json:"name"`
	Step notebooks.StepID `json:"step"`
	CheckData
}

// CheckData is the value of a scrap of type check.
type CheckData struct {
	State   CheckState `json:"state"`
	Value   codec.Raw  `json:"value,omitzero"` // a number
	Unit    string     `json:"unit,omitzero"`
	Message string     `json:"message,omitzero"`
}

// Words describe what was found: "critical: 93 %, 4 GB are left".
func (d CheckData) Words() string {
	measured := strings.TrimSpace(string(d.Value) + " " + d.Unit)
	words := string(d.State)
	for _, part := range []string{measured, d.Message} {
		if part != "" {
			words += map[bool]string{true: ": ", false: ", "}[words == string(d.State)] + part
		}
	}
	return words
}

// Scrap is the scrap that records a check.
func (d CheckData) Scrap(name string) (ScrapData, error) {
	scrap := ScrapData{Name: CheckPrefix + name, Type: ScrapCheck}
	if err := d.valid(name); err != nil {
		return scrap, err
	}
	var err error
	scrap.Value, err = codec.Marshal(d)
	return scrap, err
}

func (d CheckData) valid(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a check has no name")
	case !slices.Contains(CheckStates, d.State):
		return fmt.Errorf("check %q has the state %q; the states are %s", name, d.State, stateWords())
	case len(d.Value) > 0 && d.Value.Kind() != '0':
		return fmt.Errorf("the value of check %q is %s, which is no number", name, d.Value)
	}
	return nil
}

func stateWords() string {
	words := make([]string, len(CheckStates))
	for i, s := range CheckStates {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}

// CheckOf reads a scrap of type check: its name and its value.
func CheckOf(scrap string, value codec.Raw) (c Check, err error) {
	name, found := strings.CutPrefix(scrap, CheckPrefix)
	if !found {
		return c, fmt.Errorf("scrap %q is of type check, and its name does not begin with %s", scrap, CheckPrefix)
	}
	c.Name = name
	if err := codec.Unmarshal(value, &c.CheckData); err != nil {
		return c, fmt.Errorf("check %q is no object with a state: %w", name, err)
	}
	return c, c.valid(name)
}

// Checks returns every check of the run with what it reported last, in the order in which the names came first.
func (r *Run) Checks() []Check {
	var checks []Check
	for i := range r.Steps {
		for k := range r.Steps[i].Scraps {
			scrap := &r.Steps[i].Scraps[k]
			if scrap.Type != ScrapCheck {
				continue
			}
			c, err := CheckOf(scrap.Name, scrap.Value)
			if err != nil { // of a journal that somebody else wrote
				c.State, c.Message = CheckError, err.Error()
			}
			c.Step = r.Steps[i].Planned.ID
			if at := slices.IndexFunc(checks, func(o Check) bool { return o.Name == c.Name }); at >= 0 {
				checks[at] = c
			} else {
				checks = append(checks, c)
			}
		}
	}
	return checks
}

// CheckCounts says how many checks are in which state, the worst first: "1 critical, 1 warn, 6 ok"; "" without checks.
func CheckCounts[C any](checks []C, state func(C) CheckState) string {
	count := map[CheckState]int{}
	for _, c := range checks {
		count[state(c)]++
	}
	var words []string
	for _, s := range slices.Backward(CheckStates) {
		if n := count[s]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, cmp.Or(string(s), "unknown")))
		}
	}
	return strings.Join(words, ", ")
}
