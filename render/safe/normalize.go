package safe

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
	"markmill/render/plain"
	"markmill/runs"
)

// rule replaces text that varies from run to run. Patterns are RE2, and see one line at a time.
type rule struct {
	pattern *regexp.Regexp
	replace string
	of      func(line string) string // instead of a pattern
}

// Raw is the rule that turns off what is replaced without being asked for.
const Raw = "raw"

// always is what varies and nobody printed on purpose: how long runners and builders took, where an object stands in
// memory, and names of temporary files.
var always = rule{of: func(line string) string {
	line = runs.WithoutTimes(line)
	if strings.Contains(line, "0x") {
		line = address.ReplaceAllString(line, "${1}<address>")
	}
	if strings.Contains(line, "tmp") {
		line = temporary.ReplaceAllString(line, "<tmp>")
	}
	return line
}}

var (
	// of Python's objects, and of Go's values in a trace
	address = lazyregexp.New(`( at )0x[0-9a-fA-F]{6,16}\b|\b0xc[0-9a-f]{9}\b`)
	// as mktemp, Python's tempfile, pytest and Go name them
	temporary = lazyregexp.New(`(?:<tmp>|(?:/var)?/tmp)/(?:tmp[a-z0-9_]{8}|tmp\.[A-Za-z0-9]{6,12}|` +
		`pytest-of-\w+/pytest-\d+|go-build\d+)\b`)
)

// builtin is one built-in rule; a new one is one line in the table below.
type builtin struct {
	name    string
	pattern string
	replace string
}

// The order matters where patterns overlap: dates must come after UUIDs and times, durations after times.
var builtins = []builtin{
	{"uuids", `\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b`, "<uuid>"},
	// 2026-11-21T10:11:12.5Z · 2026-11-21 10:11:12 +0100 · Sat Nov 21 10:11:12 UTC 2026 · Sat, 21 Nov 2026 10:11:12 GMT
	// · 10:11:12.345
	{"times", `\b\d{4}[-/]\d{2}[-/]\d{2}[T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?( ?(Z|UTC|GMT|[+-]\d{2}:?\d{2}))?\b` +
		`|\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) ` +
		`[ \d]\d \d{2}:\d{2}:\d{2}( ` +
		`[A-Z]{2,5})? \d{4}\b` +
		`|\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{1,2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} ` +
		`\d{2}:\d{2}:\d{2}( [A-Z]{1,5}| [+-]\d{4})?\b` +
		`|\b\d{1,2}:\d{2}:\d{2}([.,]\d+)?\b`, "<time>"},
	{"dates", `\b\d{4}[-/]\d{2}[-/]\d{2}\b` +
		`|\b\d{1,2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* \d{4}\b` +
		`|\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* \d{1,2},? \d{4}\b`, "<date>"},
	// duration_ms 45.2 · 0.12s · 1m2.5s · 350 ms · 2 seconds · what `go test` prints in its place when it ran nothing
	{"durations", `\b(duration_ms[":= ]+)\d+(\.\d+)?\b|\b(\d+(\.\d+)?(h|m|min|ms|µs|μs|us|ns|s))+\b` +
		`|\b\d+(\.\d+)? ?(ns|µs|μs|us|ms|s|secs?|seconds?|mins?|minutes?|hours?|milliseconds?|microseconds?)\b` +
		`|\(cached\)`, "${1}<duration>"},
	{"addresses", `\b0x[0-9a-fA-F]{5,16}\b`, "<address>"},
	{"tmp-paths", `(<tmp>|/tmp|/var/tmp|(/private)?/var/folders)(/[\w.@%+~-]+)+`, "<tmp>/…"},
	// Sequences that a program printed as text ("\u001b[31m", "^[[0m"); real ones never get here.
	{"ansi", `(\\u001[bB]|\\x1[bB]|\\033|\\e|\^\[)\[[0-9;?]*[A-Za-z]`, ""},
}

// NormalizeNames lists the built-in rules, in the order of their table.
func NormalizeNames() []string {
	names := make([]string, len(builtins))
	for i, b := range builtins {
		names[i] = b.name
	}
	return names
}

// CheckNormalize returns an error for each unknown rule, and each pattern that RE2 cannot read.
func CheckNormalize(nb *notebooks.Notebook) error {
	const hint = "name a built-in rule, or give name, pattern (RE2) and replace in the front matter"
	var errs notebooks.ErrorList
	book := NewRuleBook(nb)
	check := func(name string, line int, step notebooks.StepID) {
		if name == Raw {
			return
		}
		if _, err := book.find(name); err != nil {
			errs = append(errs, &notebooks.Error{Kind: notebooks.KindOption, File: nb.Name, Line: line, Step: step,
				Msg: err.Error(), Hint: hint})
		}
	}
	for _, n := range nb.Front.Normalize {
		check(n.Name, 1, "")
	}
	for _, s := range nb.Steps {
		for _, name := range s.Normalize {
			check(name, s.Line, s.ID)
		}
	}
	if len(errs) > 0 {
		return errs
	}
	return nil
}

// Rules mask varying text.
type Rules []rule

// Line masks one line.
func (r Rules) Line(line string) string {
	for _, one := range r {
		if one.of != nil {
			line = one.of(line)
		} else if one.pattern.MatchString(line) {
			line = one.pattern.ReplaceAllString(line, one.replace)
		}
	}
	return line
}

// RuleBook holds the rules of a notebook by name, each compiled once.
type RuleBook struct {
	own      []notebooks.Normalize
	compiled map[string]rule
}

// NewRuleBook begins the rules of a notebook.
func NewRuleBook(nb *notebooks.Notebook) *RuleBook {
	return &RuleBook{nb.Front.Normalize, map[string]rule{}}
}

// Of returns the rules for a step: those that were asked for, then what is replaced always, unless Raw is among them.
func (b *RuleBook) Of(step *notebooks.Step) (Rules, error) {
	rules, err := b.Asked(step)
	raw := slices.Contains(step.Normalize, Raw) ||
		slices.ContainsFunc(b.own, func(n notebooks.Normalize) bool { return n.Name == Raw })
	if err == nil && !raw {
		rules = append(rules, always)
	}
	return rules, err
}

// Asked returns the rules that were asked for: those of the front matter, then those of the step, without duplicates.
// Outputs of Jupyter notebooks have no others, because programs read them.
func (b *RuleBook) Asked(step *notebooks.Step) (Rules, error) {
	var names []string
	for _, n := range b.own {
		names = append(names, n.Name)
	}
	names = append(names, step.Normalize...)
	var rules Rules
	for i, name := range names {
		if name == Raw || slices.Contains(names[:i], name) {
			continue
		}
		r, err := b.find(name)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// NewRules returns the rules of a list like that of the front matter. It returns an error for an unknown name, and
// for a pattern that RE2 cannot read.
func NewRules(list []notebooks.Normalize) (Rules, error) {
	return NewRuleBook(&notebooks.Notebook{Front: notebooks.Front{Normalize: list}}).Asked(&notebooks.Step{})
}

// find returns a rule by name. The notebook's own rules override built-in ones.
func (b *RuleBook) find(name string) (rule, error) {
	if r, ok := b.compiled[name]; ok {
		return r, nil
	}
	var pattern, replace string
	for _, r := range builtins {
		if r.name == name {
			pattern, replace = r.pattern, r.replace
		}
	}
	for _, n := range slices.Backward(b.own) {
		if n.Name == name && n.Pattern != "" {
			pattern, replace = n.Pattern, n.Replace
		}
	}
	if pattern == "" {
		return rule{}, fmt.Errorf("normalize rule %q is not known: there are %s, %s", name,
			strings.Join(NormalizeNames(), ", "), Raw)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return rule{}, fmt.Errorf("normalize rule %q: %w", name, err)
	}
	b.compiled[name] = rule{pattern: re, replace: replace}
	return b.compiled[name], nil
}

// Cleaner cleans the text of one step for display, and for comparison with the next run.
type Cleaner struct {
	Names Names
	Rules Rules
	// Replaced says that text was masked. The digest of the raw bytes then varies, and must not appear in an output
	// notebook.
	Replaced bool
}

// Line cleans one raw line: terminal effects, paths, rules, then escapes.
func (c *Cleaner) Line(raw []byte) (string, bool) {
	text := plain.Resolve(raw)
	named := c.Rules.Line(c.Names.Replace(text))
	if named != text {
		c.Replaced = true
	}
	return plain.Escape(named), true
}

// Text cleans text of several lines; it ends with a newline unless it is empty.
func (c *Cleaner) Text(s string) string { return Clean([]byte(s), c.Line) }

// OneLine cleans words that must stay on one line, and bounds their length in bytes.
func (c *Cleaner) OneLine(s string, limit int) string {
	s, _ = c.Line([]byte(strings.Join(strings.Fields(s), " ")))
	if len(s) > limit {
		return HeadOf(s, limit) + "…"
	}
	return s
}

// WithoutAddress drops the address of an object from the words that stand for a picture or another rich result: no
// author printed it, and it varies from run to run.
func WithoutAddress(words string) string { return objectAddress.ReplaceAllString(words, "") }

var objectAddress = lazyregexp.New(` at 0x[0-9a-fA-F]{4,16}\b`)
