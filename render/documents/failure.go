package documents

import (
	"slices"
	"strings"

	"markmill/notebooks/lazyregexp"
)

const tracebackHead = "Traceback (most recent call last)"

var (
	raisedWords = lazyregexp.New(`^([\pL_][\pL\pN_.]*)(?:: ?(.*))?$`)
	ruledHead   = lazyregexp.New(`^([\pL_][\pL\pN_.]*) +Traceback \(most recent call last\)$`)
	chainWords  = lazyregexp.New(`^(?:During handling of the above exception, another exception occurred|The above ` +
		`exception was the direct cause of the following exception):$`)
)

// exception is an exception in a block of errors.
type exception struct {
	name, value string
	traceback   []string
}

// failure adds a block of errors: standard error, then the exception at its end.
func (r *cellReader) failure(text string) {
	before, raised := readException(text, r.raised)
	if before != "" {
		r.cell.Stream("stderr", before)
	}
	if raised != nil {
		r.cell.Raised(raised.name, raised.value, raised.traceback)
	}
}

// readException finds the traceback at the end of a text, as Python or IPython prints it, or any interpreter whose
// exception name is known. If there is none, found is nil and before is the whole text.
func readException(text, name string) (before string, found *exception) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	start, from := -1, 0 // the first line, and where the words of the exception may begin
	for i, line := range lines {
		m := ruledHead.FindStringSubmatch(line)
		if m == nil && line != tracebackHead+":" {
			continue
		}
		if start < 0 || !continues(lines[from:i]) {
			start = i
			if m != nil && i > 0 && lines[i-1] != "" && strings.Trim(lines[i-1], "-") == "" {
				start--
			}
		}
		if from = i + 1; m != nil {
			name = m[1]
		}
	}
	if start < 0 && name != "" {
		for i, line := range lines {
			if strings.HasPrefix(line, name+":") && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "    at ") {
				start, from = i, i
			}
		}
	}
	if start < 0 {
		return text, nil
	}
	ruled := slices.ContainsFunc(lines[start:from], ruledHead.MatchString) // as IPython's tracebacks begin
	for i := from; i < len(lines); i++ {
		m := raisedWords.FindStringSubmatch(lines[i])
		if m == nil || ruled && m[1] != name {
			continue
		}
		value := []string{m[2]}
		for _, line := range lines[i+1:] {
			if strings.HasPrefix(line, "    at ") {
				break
			}
			value = append(value, line)
		}
		before = strings.Join(lines[:start], "\n")
		if before != "" {
			before += "\n"
		}
		return before, &exception{m[1], strings.TrimRight(strings.Join(value, "\n"), "\n"), lines[start:]}
	}
	return text, nil
}

// continues reports whether the lines before a traceback link it to the previous one.
func continues(lines []string) bool {
	for _, line := range slices.Backward(lines) {
		if line != "" {
			return chainWords.MatchString(line)
		}
	}
	return false
}
