package kernel

import (
	"strings"

	"markmill/notebooks/lazyregexp"
)

// Colours of IPython's tracebacks, by their codes.
const (
	red, green, cyan, plainColor = "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[39m"
	tracebackWidth               = 75
	tracebackHead                = "Traceback (most recent call last)"
)

var (
	frameLine = lazyregexp.New(`^  File "(.*)", line (\d+)(, in (.*))?$`)
	raisedAs  = lazyregexp.New(`^[\pL_][\pL\pN_.]*`)
	chained   = lazyregexp.New(`^(During handling of the above exception, another exception occurred|` +
		`The above exception was the direct cause of the following exception):$`)
)

// jupyterTraceback is a traceback of Python's in the shape in which Jupyter's kernel of Python sends one: a rule, a
// line with the name of the exception, a text for each frame, and the exception, in colour. Without the colours the
// frames are as Python has them. What is no such traceback is given by its lines.
func jupyterTraceback(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if lines[0] != tracebackHead+":" && !frameLine.MatchString(lines[0]) {
		return lines
	}
	out := []string{red + strings.Repeat("-", tracebackWidth) + plainColor}
	for i := 0; i < len(lines); {
		switch line := lines[i]; {
		case line == tracebackHead+":":
			name := raisedName(lines[i+1:])
			pad := strings.Repeat(" ", max(1, tracebackWidth-len([]rune(name))-len(tracebackHead)))
			out = append(out, red+name+plainColor+pad+tracebackHead)
			i++
		case frameLine.MatchString(line):
			end := i + 1
			for end < len(lines) && strings.HasPrefix(lines[end], " ") && !frameLine.MatchString(lines[end]) {
				end++
			}
			out = append(out, frame(line)+"\n"+strings.Join(lines[i+1:end], "\n"))
			i = end
		case chained.MatchString(line):
			out = append(out, "\n"+line+"\n")
			i++
		case line == "":
			i++
		default: // the exception; what it says may have any lines
			end := i + 1
			for end < len(lines) && lines[end] != tracebackHead+":" && !chained.MatchString(lines[end]) {
				end++
			}
			name := raisedAs.FindString(line)
			text := strings.TrimRight(strings.Join(lines[i:end], "\n"), "\n")
			out = append(out, red+name+plainColor+strings.TrimPrefix(text, name))
			i = end
		}
	}
	return out
}

// raisedName is the exception that ends the frames.
func raisedName(lines []string) string {
	for _, line := range lines {
		if line != "" && !strings.HasPrefix(line, " ") {
			return raisedAs.FindString(line)
		}
	}
	return ""
}

func frame(line string) string {
	m := frameLine.FindStringSubmatch(line)
	text := "  " + cyan + "File" + plainColor + " " + green + `"` + m[1] + `", line ` + m[2] + plainColor
	if m[3] != "" {
		text += ", in " + cyan + m[4] + plainColor
	}
	return text
}
