package runs

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/lazyregexp"
)

// CountJUnit counts the cases of a report in JUnit's XML: by the cases themselves, since runners disagree about the
// sums in the attributes. It returns nil if the text is something else, or is cut off.
func CountJUnit(r io.Reader) *TestCounts {
	counts := &TestCounts{Runner: "junit", From: notebooks.Reported}
	d := xml.NewDecoder(r)
	root, result, depth := "", "", 0 // depth within a testcase
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && root != "" {
			return counts
		}
		if err != nil {
			return nil
		}
		switch e := token.(type) {
		case xml.StartElement:
			name := e.Name.Local
			if root == "" && name != "testsuites" && name != "testsuite" {
				return nil
			}
			root = "testsuites"
			switch {
			case depth > 0:
				if depth++; depth == 2 && (name == "failure" || name == "error" || name == "skipped" &&
					result == "passed") {
					result = name
				}
			case name == "testcase":
				depth, result = 1, "passed"
			}
		case xml.EndElement:
			if depth == 1 {
				counts.add(map[string]string{"failure": "failed"}[result], 1)
				counts.add(result, 1)
			}
			depth = max(0, depth-1)
		}
	}
}

// goEvent is a line of "go test -json" (go doc test2json).
type goEvent struct {
	Action, Package, Test string
}

// IsGoEvents reports whether the end of an output has lines of "go test -json".
func IsGoEvents(tail []byte) bool {
	for line := range bytes.Lines(tail) {
		if _, ok := goEventOf(line); ok {
			return true
		}
	}
	return false
}

func goEventOf(line []byte) (e goEvent, ok bool) {
	if !bytes.HasPrefix(line, []byte("{")) || !bytes.Contains(line, []byte(`"Action":"`)) {
		return e, false
	}
	return e, codec.Unmarshal(line, &e) == nil && e.Package != ""
}

// maxEvent bounds a line that is looked at: the result of a test is short, what it printed may not be.
const maxEvent = 64 << 10

// CountGoEvents counts the top-level tests in the output of "go test -json", without subtests. A test that was started
// and has no result makes the counts unknown.
func CountGoEvents(r io.Reader) *TestCounts {
	counts := &TestCounts{Runner: "go", From: notebooks.Reported}
	lines, open, any := bufio.NewReaderSize(r, maxEvent), map[goEvent]int{}, false
	for {
		line, err := lines.ReadSlice('\n')
		for whole := err; errors.Is(whole, bufio.ErrBufferFull); {
			_, whole = lines.ReadSlice('\n')
			line, err = nil, whole
		}
		if e, ok := goEventOf(line); ok && e.Test != "" && !strings.Contains(e.Test, "/") {
			action := e.Action
			e.Action = ""
			switch action {
			case "run":
				any = true
				open[e]++
			case "pass", "fail", "skip":
				if open[e]--; open[e] < 0 {
					return nil
				}
				counts.add(action, 1)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			for _, n := range open {
				if n > 0 {
					return nil
				}
			}
			if !any {
				return nil
			}
			return counts
		case err != nil:
			return nil
		}
	}
}

// Time stands for how long something took, in a line of a runner or builder.
const Time = "<time>"

// timed are the lines in which runners and builders say how long something took. The text of each group is replaced by
// Time. A group named slow is dropped, because the runner prints it for slow tests only; one that is named wide begins
// with the spaces that align it.
var timed = []struct {
	runner string
	words  []string // one of them is in each such line, so that other lines cost no search
	line   *lazyregexp.Regexp
}{
	{"go", []string{"ok", "FAIL"}, lazyregexp.New(`^(?:ok|FAIL)\s+\S+\s+(\d[\d.]*s|\(cached\))(?:\s|$)`)},
	{"go", []string{"--- "}, lazyregexp.New(`^\s*--- (?:PASS|FAIL|SKIP|BENCH): \S+ \(([\d.]+s)\)$`)},
	{"go", []string{"/op"}, lazyregexp.New(
		`^Benchmark\S+\s+(\d+\s+[\d.]+) ns/op(?:\s+([\d.]+) MB/s)?`)},
	{"pytest", []string{" in "}, lazyregexp.New(`^(?:=+ )?(?:\d+ (?:passed|failed|errors?|skipped|deselected|` +
		`xfailed|xpassed|warnings?|rerun|subtests passed)(?:, )?|no tests ran)+ in ([\d.]+s(?: \([\d:]+\))?)(?: =+)?$`)},
	{"pytest", []string{"s call", "s setup", "s teardown"}, lazyregexp.New(`^([\d.]+s) (?:call|setup|teardown) `)},
	{"unittest", []string{"Ran "}, lazyregexp.New(`^Ran \d+ tests? in ([\d.]+s)$`)},
	{"unittest", []string{"s  "}, lazyregexp.New(`^([\d.]+s)\s+\w+ \([\w.]+\)$`)}, // --durations
	{"node", []string{"duration_ms"}, lazyregexp.New(`^\s*(?:(?:ℹ|#) )?duration_ms:? ([\d.]+)$`)},
	{"node", []string{"ms)"}, lazyregexp.New(`^\s*[✔✖﹣▶] .* \((\d*\.\d+ms)\)(?: #.*)?$`)},
	{"jest", []string{"Time:"}, lazyregexp.New(`^Time: +(\d[\d.]* m?s(?:, estimated [\d.]+ m?s)?)$`)},
	{"jest, mocha", []string{"s)"}, lazyregexp.New(`^\s+[✓✔✕○] .*(?P<slow> \([\d.]+ ?m?s\))$`)},
	{"jest", []string{"PASS", "FAIL"}, lazyregexp.New(`^(?:PASS|FAIL) \S+(?P<slow> \([\d.]+ m?s\))$`)},
	{"mocha", []string{" passing ("}, lazyregexp.New(`^\s+\d+ passing \((\d+\w+)\)$`)},
	{"vitest", []string{"Duration", "Start at"}, lazyregexp.New(`^\s*(?:Duration  |Start at  ?)\s*(\d.*)$`)},
	{"vitest", []string{"✓", "❯", "×", "↓"}, lazyregexp.New(`^\s*[✓❯×↓] .*(?P<slow> \d[\d.]*m?s)$`)},
	{"cargo", []string{"finished in "}, lazyregexp.New(`^test result: .*; finished in ([\d.]+s)$`)},
	{"cargo", []string{"Finished "}, lazyregexp.New(`^\s*Finished .* in ((?:\d+m )?[\d.]+s)$`)},
	{"nextest", []string{"["}, lazyregexp.New(`^\s*(?:PASS|FAIL|SLOW|Summary) \[(?P<wide>\s*>?\s*[\d.]+s)\]`)},
	{"ctest", []string{" sec"}, lazyregexp.New(`^\s*\d+/\d+ Test\s+#\d+: .*\S(?P<wide>\s+[\d.]+) sec\s*$`)},
	{"ctest", []string{"Total Test time"}, lazyregexp.New(`^Total Test time \(real\) =(?P<wide>\s+[\d.]+) sec$`)},
	{"maven", []string{"Total time:", "Finished at:"}, lazyregexp.New(
		`^\[INFO\] (?:Total time: |Finished at:)\s*(\S.*)$`)},
	{"maven", []string{"Time elapsed:"}, lazyregexp.New(`Tests run: .*, Time elapsed: ([\d.]+ (?:s|sec))\b`)},
	{"gradle", []string{"BUILD "}, lazyregexp.New(`^BUILD (?:SUCCESSFUL|FAILED) in (.*s)$`)},
	{"tox", []string{"seconds)"}, lazyregexp.New(`^\s*(?:\S+: (?:OK|FAIL|SKIP|IGNORED FAIL)\b.*|.* :[()]) ` +
		`\(([\d.]+(?:=setup\[[\d.]+\](?:\+cmd\[[\d.,]+\])?)?) seconds\)$`)},
	{"nox", []string{"nox > "}, lazyregexp.New(`^nox > .* in ([\w .]+?)\.?$`)},
	{"uv", []string{" in "}, lazyregexp.New(
		`^(?:Resolved|Prepared|Installed|Uninstalled|Audited|Checked) \d+ packages? in ([\d.]+m?s)$`)},
	{"npm", []string{" in "}, lazyregexp.New(
		`^(?:added|changed|removed|up to date|audited)\b.* in ((?:\d+m )?[\d.]+m?s)$`)},
	{"rspec", []string{"Finished in "}, lazyregexp.New(
		`^Finished in ([\d.]+ (?:seconds?|minutes?.*?)) \(files took ([\d.]+ seconds?) to load\)$`)},
}

// padded is the summary of pytest, which fills its line up with signs: how many depends on the digits of the time.
var padded = lazyregexp.New(`^=+ (.* in <time>) =+$`)

// WithoutTimes replaces what a runner or builder says of how long it took. Other lines stay as they are.
func WithoutTimes(line string) string {
	for i := range timed {
		t := &timed[i]
		if !containsAny(line, t.words) {
			continue
		}
		at := t.line.FindStringSubmatchIndex(line)
		if at == nil {
			continue
		}
		var out strings.Builder
		from := 0
		for g, name := range t.line.SubexpNames() {
			if g == 0 || at[2*g] < 0 {
				continue
			}
			out.WriteString(line[from:at[2*g]])
			switch name {
			case "slow":
			case "wide":
				out.WriteString(" " + Time)
			default:
				out.WriteString(Time)
			}
			from = at[2*g+1]
		}
		return padded.ReplaceAllString(out.String()+line[from:], "===== $1 =====")
	}
	return line
}

func containsAny(line string, words []string) bool {
	for _, w := range words {
		if strings.Contains(line, w) {
			return true
		}
	}
	return false
}
