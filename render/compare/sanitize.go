package compare

import (
	"fmt"
	"regexp"
	"strings"

	"markmill/notebooks"
)

// Sanitize reads the file of nbval's --nbval-sanitize-with: pairs of lines,
//
//	regex: \d{2}:\d{2}
//	replace: TIME
//
// with whatever else between them (sections, comments). The expressions are Python's: one that RE2 cannot read,
// and one that reaches over a line's end, is an error that names its line.
func Sanitize(file string, text []byte) ([]notebooks.Normalize, error) {
	var rules []notebooks.Normalize
	var errs notebooks.ErrorList
	bad := func(line int, msg, hint string) {
		errs = append(errs, &notebooks.Error{Kind: notebooks.KindOption, File: file, Line: line, Msg: msg, Hint: hint})
	}
	lines := strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	for i, line := range lines {
		pattern, ok := strings.CutPrefix(line, "regex: ")
		if !ok {
			if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "regex:") ||
				strings.HasPrefix(trimmed, "regex=") || strings.HasPrefix(trimmed, "regex =") {
				bad(i+1, "nbval does not read this line", "write it at the left margin as regex: EXPRESSION")
			}
			continue
		}
		replace, ok := "", false
		if i+1 < len(lines) {
			replace, ok = strings.CutPrefix(lines[i+1], "replace: ")
			if !ok && lines[i+1] == "replace:" {
				bad(i+2, "nbval does not read an empty replace without the space behind the colon",
					"write replace: and a space")
				continue
			}
		}
		if !ok {
			bad(i+1, "a regex without a replace in the next line, which nbval passes over",
				"write replace: TEXT below it")
			continue
		}
		if pattern == "" {
			bad(i+1, "the expression is empty, which matches between all characters",
				"write what is to be replaced behind regex: and a space")
			continue
		}
		if strings.Contains(pattern, `\n`) || strings.Contains(pattern, "(?s") {
			bad(i+1, fmt.Sprintf("the expression %q reaches over the end of a line, and rules "+
				"see one line at a time", pattern),
				"write one expression for each line, or mark the step volatile")
			continue
		}
		pattern = strings.ReplaceAll(pattern, `\Z`, `\z`)
		if why := notRE2(pattern); why != "" {
			bad(i+1, fmt.Sprintf("the expression %q is Python's and not RE2's: %s", pattern, why),
				"write it without look-around and back references")
			continue
		}
		to, err := template(replace)
		if err != nil {
			bad(i+2, err.Error(), "")
			continue
		}
		rules = append(rules, notebooks.Normalize{Name: fmt.Sprintf("%s:%d", file, i+1), Pattern: pattern, Replace: to})
	}
	if len(errs) > 0 {
		return nil, errs
	}
	if len(rules) == 0 {
		bad(1, "no regex: line is in it",
			"write pairs of lines, regex: EXPRESSION and replace: TEXT, as nbval reads them")
		return nil, errs
	}
	return rules, nil
}

// notRE2 returns why RE2 cannot read an expression, "" if it can.
func notRE2(pattern string) string {
	for _, head := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.Contains(pattern, head) {
			return "it looks around"
		}
	}
	if _, err := regexp.Compile(pattern); err != nil {
		return err.Error()
	}
	return ""
}

// template converts a replacement of Python's re.sub to one of Go's regexp.
func template(python string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(python); i++ {
		switch c := python[i]; {
		case c == '$':
			out.WriteString("$$")
		case c != '\\' || i+1 == len(python):
			out.WriteByte(c)
		default:
			i++
			switch c := python[i]; {
			case c >= '1' && c <= '9':
				end := i + 1
				if end < len(python) && python[end] >= '0' && python[end] <= '9' {
					end++
				}
				out.WriteString("${" + python[i:end] + "}")
				i = end - 1
			case c == 'g':
				name, _, ok := strings.Cut(strings.TrimPrefix(python[i+1:], "<"), ">")
				if !ok || !strings.HasPrefix(python[i+1:], "<") {
					return "", fmt.Errorf(`\g without <group> in the replacement %q`, python)
				}
				out.WriteString("${" + name + "}")
				i += len(name) + 2
			case c == 't':
				out.WriteByte('\t')
			case c == '\\':
				out.WriteByte('\\')
			case c == 'n' || c == 'r':
				return "", fmt.Errorf("the replacement %q would break the line", python)
			default:
				out.WriteByte('\\')
				out.WriteByte(c)
			}
		}
	}
	return out.String(), nil
}
