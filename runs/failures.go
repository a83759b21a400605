package runs

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"io"
	"slices"
	"strings"

	"markmill/notebooks/codec"
	"markmill/notebooks/lazyregexp"
)

// FailedTest is a test that a runner names as failed. The unit is the test function: its parameters and subtests are
// not told apart.
type FailedTest struct {
	Name  string // as its runner has it: TestRanges, Ranges::test_open_end, "opens an end"
	File  string // that the runner names, or a module or class; "" if it names none
	Line  int    // in File; 0 if the runner names none
	Words string // the first line of what went wrong
	// Load says that nothing of File ran: it does not load or compile.
	Load bool
}

// FailedTests returns the tests that a runner printed as failed in its output, each once.
func FailedTests(output []byte) []FailedTest {
	text := string(output)
	if IsGoEvents(output) {
		text = goEventsText(output)
	}
	lines := strings.Split(ansi.ReplaceAllString(text, ""), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\r")
	}
	for _, runner := range runners {
		if runner.failed == nil {
			continue
		}
		if list := runner.failed(lines); len(list) > 0 {
			return eachOnce(list)
		}
	}
	return nil
}

func eachOnce(list []FailedTest) (out []FailedTest) {
	for _, t := range list {
		if !slices.ContainsFunc(out, func(o FailedTest) bool {
			return o.Name == t.Name && o.File == t.File && o.Load == t.Load
		}) {
			out = append(out, t)
		}
	}
	return out
}

// goEventsText is what the tests of "go test -json" printed.
func goEventsText(output []byte) string {
	var b strings.Builder
	for line := range bytes.Lines(output) {
		var e struct{ Output string }
		if codec.UnmarshalForeign(bytes.TrimSpace(line), &e) == nil {
			b.WriteString(e.Output)
		} else {
			b.Write(line)
		}
	}
	return b.String()
}

var pytestFailed = lazyregexp.New(`^(?:FAILED|ERROR|SUBFAILED(?:\(.*\)|\[.*\])?) (\S+?\.\w+)(?:::(.+?))?(?: - (.*))?$`)

func failedPytest(lines []string) (out []FailedTest) {
	for i, line := range lines {
		m := pytestFailed.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name, _, _ := strings.Cut(m[2], "[")
		t := FailedTest{File: m[1], Name: name, Words: m[3], Load: m[2] == ""}
		if t.Load && t.Words == "" {
			t.Words = collectError(lines[:i], t.File)
		}
		out = append(out, t)
	}
	return out
}

// collectError is what pytest prints of a file that does not load.
func collectError(lines []string, file string) string {
	for i, line := range lines {
		if !strings.Contains(line, " ERROR collecting "+file+" ") {
			continue
		}
		end := i + 1
		for end < len(lines) && !strings.HasPrefix(lines[end], "___") && !strings.HasPrefix(lines[end], "===") {
			end++
		}
		return lastError(lines[i:end])
	}
	return ""
}

var pythonError = lazyregexp.New(`^(?:E +)?(\w*(?:Error|Exception|Failed|Warning)\b.*)$`)

// lastError is the last line that names an exception of Python.
func lastError(lines []string) string {
	for _, line := range slices.Backward(lines) {
		if m := pythonError.FindStringSubmatch(line); m != nil {
			return m[1]
		}
	}
	return ""
}

var unittestFailed = lazyregexp.New(`^(?:FAIL|ERROR): (\w+) \(([\w.<>]+)\)`)

func failedUnittest(lines []string) (out []FailedTest) {
	for i, line := range lines {
		m := unittestFailed.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		end := i + 1
		for end < len(lines) && !strings.HasPrefix(lines[end], "=====") && !unittestRan.MatchString(lines[end]) {
			end++
		}
		t := FailedTest{Name: m[1], Words: lastError(lines[i:end])}
		if strings.HasPrefix(m[2], "unittest.loader.") {
			t.Load, t.File, t.Name = true, m[1], ""
		} else {
			class := strings.TrimSuffix(m[2], "."+m[1]) // since 3.11 it ends with the function
			if at := strings.LastIndexByte(class, '.'); at >= 0 {
				t.File, t.Name = class[:at], class[at+1:]+"::"+m[1]
			}
		}
		out = append(out, t)
	}
	return out
}

var (
	goFailed  = lazyregexp.New(`^\s*--- FAIL: ([^\s/]+)(?:/.*)? \([0-9.]+s\)$`)
	goSays    = lazyregexp.New(`^\s+\S+\.go:\d+: (.+)$`)
	goCompile = lazyregexp.New(`^(?:vet: )?(\S+\.go):(\d+):(?:\d+:)? (.+)$`)
	goPackage = lazyregexp.New(`^FAIL\s+(\S+)(?:\s+[0-9.]+s| \[(?:build|setup) failed\])$`)
)

func failedGo(lines []string) (out []FailedTest) {
	var open []FailedTest
	compiling := false
	for i, line := range lines {
		switch {
		case goFailed.MatchString(line):
			t := FailedTest{Name: goFailed.FindStringSubmatch(line)[1]}
			for _, next := range lines[i+1:] {
				if m := goSays.FindStringSubmatch(next); m != nil {
					t.Words = m[1]
				}
				if !strings.HasPrefix(strings.TrimSpace(next), "--- FAIL") {
					break
				}
			}
			open = append(open, t)
		case strings.HasPrefix(line, "# "):
			compiling = true
		case compiling && goCompile.MatchString(line):
			m := goCompile.FindStringSubmatch(line)
			out = append(out, FailedTest{File: m[1], Line: atoi(m[2]), Words: m[3], Load: true})
		case goPackage.MatchString(line): // which names the tests before it
			compiling = false
			for _, t := range open {
				t.File = goPackage.FindStringSubmatch(line)[1]
				out = append(out, t)
			}
			open = nil
		}
	}
	return append(out, open...)
}

var (
	nodeAt     = lazyregexp.New(`^test at (.+?):(\d+):\d+$`)
	nodeFailed = lazyregexp.New(`^\s*✖ (.+?) \([0-9.]+ms\)(?: # .*)?$`)
	tapFailed  = lazyregexp.New(`^\s*not ok \d+(?: - | )([^#]+?)(?: # .*)?$`)
	nodeThrown = lazyregexp.New(`^(?:# )?(\w*Error: .+)$`)
	tapError   = lazyregexp.New(`^\s*error: ['"]?(.+?)['"]?$`)
	tapAt      = lazyregexp.New(`^\s*location: '?(.+?):(\d+):\d+'?$`)
	scriptName = lazyregexp.New(`\.(?:[cm]?[jt]sx?)$`)
)

// failedNode reads "node --test", whose list at the end has the places, and TAP, with its suites left out.
func failedNode(lines []string) (out []FailedTest) {
	for i, line := range lines {
		var t FailedTest
		if m := nodeFailed.FindStringSubmatch(line); m != nil && i > 0 {
			at := nodeAt.FindStringSubmatch(lines[i-1])
			if at == nil {
				continue
			}
			t = FailedTest{Name: m[1], File: at[1], Line: atoi(at[2]), Words: nextText(lines[i+1:])}
		} else if m := tapFailed.FindStringSubmatch(line); m != nil {
			suite := false
			t.Name = m[1]
			for _, next := range lines[i+1 : min(len(lines), i+9)] {
				if at := tapAt.FindStringSubmatch(next); at != nil {
					t.File, t.Line = at[1], atoi(at[2])
				} else if e := tapError.FindStringSubmatch(next); e != nil {
					t.Words = e[1]
				} else if strings.TrimSpace(next) == "..." {
					break
				}
				suite = suite || strings.TrimSpace(next) == "type: 'suite'"
			}
			if suite {
				continue
			}
		}
		if t.Name == "" {
			continue
		}
		if scriptName.MatchString(t.Name) { // the file itself
			t.File, t.Name, t.Line, t.Load = t.Name, "", 0, true
			for _, before := range slices.Backward(lines[:i]) {
				if m := nodeThrown.FindStringSubmatch(before); m != nil {
					t.Words = m[1]
					break
				}
			}
		}
		out = append(out, t)
	}
	return out
}

var (
	jestFile    = lazyregexp.New(`^\s*FAIL\s+(?:\|[^|]*\| )?(\S+\.[cm]?[jt]sx?)(?: > (.+)| \[.*\]|(?: \([0-9.]+ m?s\))?)$`)
	jestFailed  = lazyregexp.New(`^  ● (.+)$`)
	mochaStart  = lazyregexp.New(`^  \d+\) (.+)$`)
	cargoPanic  = lazyregexp.New(`^thread '(.+?)'(?: \(\d+\))? panicked at (?:'(.*)', )?\S+:\d+:\d+:?$`)
	cargoAt     = lazyregexp.New(`^ *--> (\S+\.rs):(\d+):\d+$`)
	mavenFailed = lazyregexp.New(`^\[ERROR\] +(?:[\w.$]*\.)?(\w+)\.(\w+):(\d+)(?:->\S+)? (.*)$`)
	javac       = lazyregexp.New(`^\[ERROR\] (/\S+\.(?:java|kt|scala)):\[(\d+),\d+\] (.+)$`)
	gradle      = lazyregexp.New(`^(\w+)(?: > .+)? > (\w+)\(.*\)(?:\[\d+\])? FAILED$`)
	rspecFailed = lazyregexp.New(`^rspec '?(?:\./)?([^':\[\s]+)(?::(\d+)|\[[\d:]+\]'?) # (.+)$`)
)

// failedJest reads jest and vitest.
func failedJest(lines []string) (out []FailedTest) {
	file := ""
	for i, line := range lines {
		if m := jestFile.FindStringSubmatch(line); m != nil {
			file = m[1]
			switch {
			case m[2] != "": // vitest
				out = append(out, FailedTest{File: file, Name: leaf(m[2], " > "), Words: nextText(lines[i+1:])})
			case strings.HasSuffix(line, "]"):
				out = append(out, FailedTest{File: file, Load: true, Words: nextText(lines[i+1:])})
			}
		} else if m := jestFailed.FindStringSubmatch(line); m != nil && file != "" {
			t := FailedTest{File: file, Name: leaf(m[1], " › "), Words: nextText(lines[i+1:])}
			if m[1] == "Test suite failed to run" {
				t.Name, t.Load = "", true
			}
			out = append(out, t)
		}
	}
	return out
}

// leaf is the last part of a name.
func leaf(name, sep string) string {
	if at := strings.LastIndex(name, sep); at >= 0 {
		return name[at+len(sep):]
	}
	return name
}

// nextText is the next line that is not empty.
func nextText(lines []string) string {
	for _, line := range lines {
		if text := strings.TrimSpace(line); text != "" {
			return text
		}
	}
	return ""
}

// failedMocha reads the numbered list at the end: the suites, and on the last line before an empty one the test.
func failedMocha(lines []string) (out []FailedTest) {
	begin := slices.IndexFunc(lines, func(l string) bool { return strings.HasSuffix(l, " failing") })
	if begin < 0 {
		return nil
	}
	for i := begin; i < len(lines); i++ {
		m := mochaStart.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		name := m[1]
		for i++; i < len(lines) && strings.HasPrefix(lines[i], "       "); i++ {
			name = strings.TrimSpace(lines[i])
		}
		t := FailedTest{Name: strings.TrimSuffix(name, ":"), Words: nextText(lines[min(i, len(lines)):])}
		out = append(out, t)
	}
	return out
}

// failedCargo reads the list at the end of each program of tests, what their threads said, and errors of the compiler.
func failedCargo(lines []string) (out []FailedTest) {
	words, said, listed := "", map[string]string{}, false
	for i, line := range lines {
		name, inList := strings.CutPrefix(line, "    ")
		listed = line == "failures:" || listed && inList
		if m := cargoPanic.FindStringSubmatch(line); m != nil {
			said[m[1]] = cmp.Or(m[2], nextText(lines[i+1:]))
		} else if listed && inList {
			out = append(out, FailedTest{Name: leaf(name, "::"), Words: said[name]})
		} else if m := cargoAt.FindStringSubmatch(line); m != nil && strings.HasPrefix(words, "error") {
			out = append(out, FailedTest{File: m[1], Line: atoi(m[2]), Words: words, Load: true})
		} else if strings.HasPrefix(line, "error") || strings.HasPrefix(line, "warning") {
			words = line
		}
	}
	return out
}

// failedJUnit reads what Maven and Gradle print of JUnit.
func failedJUnit(lines []string) (out []FailedTest) {
	for _, line := range lines {
		if m := mavenFailed.FindStringSubmatch(line); m != nil {
			out = append(out, FailedTest{File: m[1], Name: m[1] + "::" + m[2], Line: atoi(m[3]), Words: m[4]})
		} else if m := javac.FindStringSubmatch(line); m != nil {
			out = append(out, FailedTest{File: m[1], Line: atoi(m[2]), Words: m[3], Load: true})
		} else if m := gradle.FindStringSubmatch(line); m != nil {
			out = append(out, FailedTest{File: m[1], Name: m[1] + "::" + m[2]})
		}
	}
	return out
}

func failedRSpec(lines []string) (out []FailedTest) {
	for _, line := range lines {
		if m := rspecFailed.FindStringSubmatch(line); m != nil {
			out = append(out, FailedTest{File: m[1], Line: atoi(m[2]), Name: m[3]})
		}
	}
	return out
}

// FailedInJUnit returns the failed tests of a report in JUnit's XML.
func FailedInJUnit(report io.Reader) (out []FailedTest) {
	type problem struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	d := xml.NewDecoder(report)
	for {
		token, err := d.Token()
		if err != nil {
			return eachOnce(out)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "testcase" {
			continue
		}
		var c struct {
			Name    string    `xml:"name,attr"`
			Class   string    `xml:"classname,attr"`
			File    string    `xml:"file,attr"`
			Failure []problem `xml:"failure"`
			Error   []problem `xml:"error"`
		}
		if d.DecodeElement(&c, &start) != nil || len(c.Failure)+len(c.Error) == 0 {
			continue
		}
		name, _, _ := strings.Cut(c.Name, "[")
		name, _, _ = strings.Cut(name, "(")
		t := FailedTest{Name: name, File: c.File, Words: append(c.Failure, c.Error...)[0].Message}
		if at := strings.LastIndexByte(c.Class, '.'); t.File == "" {
			if t.File = c.Class; at >= 0 && c.Class[at+1:] != strings.ToLower(c.Class[at+1:]) {
				t.File, t.Name = c.Class[:at], c.Class[at+1:]+"::"+name // a class in a module or package
			}
		}
		out = append(out, t)
	}
}
