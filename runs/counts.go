package runs

import (
	"strconv"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
)

// TestCounts are the counts of a test runner.
type TestCounts struct {
	Runner string `json:"runner"`
	// notebooks.Printed, Reported; "" in older records, which knew only text
	From    string       `json:"from,omitzero"`
	Passed  int          `json:"passed"`
	Failed  int          `json:"failed"`
	Skipped int          `json:"skipped"`
	Reports []StreamData `json:"reports,omitempty"` // files of the record that they were counted in
}

// CountTests reads the counts that a test runner printed at the end of its output. It returns nil if no known runner
// gave counts: plain "go test" says "ok" of a package, and not how many tests that was. The counts of a runner that
// ran several times are added up; of several runners the first in the table counts. Only TAP counts as reported.
//
// Most runners end with a summary, so that the tail of an output is enough. Of "go test -v" and of TAP every line
// counts: a tail that visibly begins in the middle of one gives nil.
func CountTests(tail []byte) *TestCounts {
	lines := strings.Split(ansi.ReplaceAllString(string(tail), ""), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\r")
	}
	for _, runner := range runners {
		if runner.count == nil {
			continue
		}
		if counts := runner.count(lines); counts != nil {
			counts.Runner = runner.name
			if counts.From == "" {
				counts.From = notebooks.Printed
			}
			return counts
		}
	}
	return nil
}

var ansi = lazyregexp.New(`\x1b\[[0-9;?]*[ -/]*[@-~]`)

// runners is in order of how unmistakable their output is. A runner without count or failed prints no such thing that
// is known.
var runners = []struct {
	name   string
	count  func(lines []string) *TestCounts
	failed func(lines []string) []FailedTest
}{
	{"cargo", summed(cargoSummary), failedCargo},
	{"go", countGo, failedGo},
	{"pytest", summed(pytestSummary), failedPytest},
	{"unittest", countUnittest, failedUnittest},
	{"jest", summed(jestSummary), failedJest},
	{"node", countNode, failedNode},
	{"tap", countTAP, nil},
	{"vitest", summed(vitestSummary), nil},
	{"mocha", summed(mochaSummary), failedMocha},
	{"maven", ran(mavenSummary), failedJUnit},
	{"rspec", ran(rspecSummary), failedRSpec},
	{"plain", summed(plainSummary), nil},
}

// kinds maps the words of runners to the counts; a word that is not here counts nothing.
var kinds = map[string]string{
	"passed": "passed", "xpassed": "passed", "pass": "passed", "passing": "passed",
	"failing": "failed",
	"failed":  "failed", "error": "failed", "errors": "failed", "fail": "failed", "cancelled": "failed",
	"skipped": "skipped", "skip": "skipped", "xfailed": "skipped", "ignored": "skipped", "todo": "skipped",
	"pending": "skipped",
}

func (c *TestCounts) add(word string, n int) {
	switch kinds[word] {
	case "passed":
		c.Passed += n
	case "failed":
		c.Failed += n
	case "skipped":
		c.Skipped += n
	}
}

var countedWord = lazyregexp.New(`(\d+) ([a-z]+)`)

// addAll adds every "<number> <word>" in a summary.
func (c *TestCounts) addAll(summary string) {
	for _, match := range countedWord.FindAllStringSubmatch(summary, -1) {
		c.add(match[2], atoi(match[1]))
	}
}

func atoi(digits string) int {
	n, _ := strconv.Atoi(digits) // of \d+; one that overflows is no count of tests
	return n
}

// summed returns a function that sums up the lines that match a pattern, whose first group is "<number> <word>"s.
func summed(pattern *lazyregexp.Regexp) func(lines []string) *TestCounts {
	return func(lines []string) (counts *TestCounts) {
		for _, line := range lines {
			match := pattern.FindStringSubmatch(line)
			if match == nil {
				continue
			}
			if counts == nil {
				counts = &TestCounts{}
			}
			counts.addAll(match[1])
		}
		return counts
	}
}

// ran returns a function that sums up the lines that match a pattern: of its groups, the tests that ran, which of them
// failed, ended with an error and were skipped, and errors beside them.
func ran(pattern *lazyregexp.Regexp) func(lines []string) *TestCounts {
	return func(lines []string) (counts *TestCounts) {
		for _, line := range lines {
			m := pattern.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			if counts == nil {
				counts = &TestCounts{}
			}
			failed, skipped := atoi(m[2])+atoi(m[3]), atoi(m[4])
			counts.Passed += max(0, atoi(m[1])-failed-skipped)
			counts.Failed += failed + atoi(m[5])
			counts.Skipped += skipped
		}
		return counts
	}
}

var (
	cargoSummary  = lazyregexp.New(`^test result: (?:ok|FAILED)\. (\d+ passed; \d+ failed; \d+ ignored);`)
	pytestSummary = lazyregexp.New(`^=* ?((?:\d+ [a-z]+(?:, )?)+|no tests ran) in [0-9.]+s(?: \([0-9:]+\))? ?=*$`)
	jestSummary   = lazyregexp.New(`^Tests: +((?:\d+ [a-z]+, )+)\d+ total$`)
	vitestSummary = lazyregexp.New(`^ *Tests  ((?:\d+ [a-z]+(?: \| )?)+) \(\d+\)$`)
	mochaSummary  = lazyregexp.New(`^  (\d+ (?:passing|failing|pending))(?: \(.*\))?$`)
	mavenSummary  = lazyregexp.New(`^(?:\[\w+\] )?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)()$`)
	rspecSummary  = lazyregexp.New(`^(\d+) examples?, (\d+) failures?()(?:, (\d+) pending)?` +
		`(?:, (\d+) errors? occurred outside of examples)?$`)
	plainSummary = lazyregexp.New(`^(?:\w+: )?(\d+ passed, \d+ failed(?:, \d+ skipped)?)$`)
)

var (
	goStart  = lazyregexp.New(`^=== RUN   ([^/\s]+)$`)
	goResult = lazyregexp.New(`^--- (PASS|FAIL|SKIP): (\S+) \([0-9.]+s\)$`)
	goKinds  = map[string]string{"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}
)

// countGo counts the top-level tests of "go test -v", without subtests. A test that was started and has no result (its
// own output without a newline hides it, or the process died) makes the counts unknown.
func countGo(lines []string) *TestCounts {
	var counts TestCounts
	started := map[string]int{} // the same name may stand in several packages
	for _, line := range lines {
		if match := goStart.FindStringSubmatch(line); match != nil {
			started[match[1]]++
		}
		if match := goResult.FindStringSubmatch(line); match != nil {
			if started[match[2]]--; started[match[2]] < 0 {
				return nil // not -v, or the beginning is not there
			}
			counts.add(goKinds[match[1]], 1)
		}
	}
	for _, open := range started {
		if open > 0 {
			return nil
		}
	}
	if len(started) == 0 {
		return nil
	}
	return &counts
}

var (
	unittestRan    = lazyregexp.New(`^Ran (\d+) tests? in [0-9.]+s$`)
	unittestResult = lazyregexp.New(`^(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$`)
	unittestCount  = lazyregexp.New(`([a-z ]+)=(\d+)`)
)

// countUnittest reads "Ran N tests", and the line after it that says how many of them did not pass.
func countUnittest(lines []string) *TestCounts {
	var counts *TestCounts
	ran := -1
	for _, line := range lines {
		if match := unittestRan.FindStringSubmatch(line); match != nil {
			ran = atoi(match[1])
			continue
		}
		match := unittestResult.FindStringSubmatch(line)
		if match == nil || ran < 0 {
			continue
		}
		if counts == nil {
			counts = &TestCounts{}
		}
		for _, part := range unittestCount.FindAllStringSubmatch(match[1], -1) {
			n := atoi(part[2])
			switch strings.TrimSpace(part[1]) {
			case "failures", "errors", "unexpected successes":
				counts.Failed += n
			case "skipped", "expected failures":
				counts.Skipped += n
			default:
				continue
			}
			ran -= n
		}
		counts.Passed += max(0, ran) // an error outside a test is counted and was not run
		ran = -1
	}
	return counts
}

var nodeCount = lazyregexp.New(`^(ℹ|#) (tests|suites|pass|fail|cancelled|skipped|todo) (\d+)$`)

// countNode reads the counts at the end of "node --test", one per line. Its TAP has them as comments.
func countNode(lines []string) *TestCounts {
	var counts TestCounts
	seen := map[string]bool{}
	for _, line := range lines {
		if match := nodeCount.FindStringSubmatch(line); match != nil {
			seen[match[2]] = true
			counts.add(match[2], atoi(match[3]))
			if match[1] == "#" {
				counts.From = notebooks.Reported
			}
		}
	}
	if !seen["tests"] || !seen["pass"] || !seen["fail"] {
		return nil
	}
	return &counts
}

var (
	tapPlan   = lazyregexp.New(`^1\.\.(\d+)(?: *#.*)?$`)
	tapResult = lazyregexp.New(`^(not )?ok\b[^#]*(?:# *((?i:skip|todo)))?`)
)

// countTAP counts the results of the top level; they must be as many as the plan says.
func countTAP(lines []string) *TestCounts {
	counts := TestCounts{From: notebooks.Reported}
	planned, results := -1, 0
	for _, line := range lines {
		if match := tapPlan.FindStringSubmatch(line); match != nil {
			planned = max(planned, 0) + atoi(match[1])
			continue
		}
		match := tapResult.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		results++
		switch {
		case match[2] != "":
			counts.Skipped++
		case match[1] != "":
			counts.Failed++
		default:
			counts.Passed++
		}
	}
	if planned < 0 || results != planned {
		return nil
	}
	return &counts
}
