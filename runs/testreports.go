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
