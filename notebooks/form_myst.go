package notebooks

import (
	"bytes"
	"strings"
)

// MyST writes ```{code-cell} python, and its options before the code: lines ":key: value", or a block of YAML
// between lines of "---".

// mystOptions finds the options at the head of the code: how long they are, and their YAML. skip is the length of
// what stands before the YAML text in the code, width what stands before each of its lines.
func mystOptions(code []byte) (length int, text []byte, skip, width int) {
	if bytes.HasPrefix(code, []byte("---\n")) {
		for at := 4; at < len(code); {
			end := lineEnd(code, at)
			if bytes.Equal(bytes.TrimRight(code[at:end], " \t\n"), []byte("---")) {
				return end, code[4:at], 4, 0
			}
			at = end
		}
		return 0, nil, 0, 0
	}
	for length < len(code) && code[length] == ':' {
		end := lineEnd(code, length)
		key, value, ok := bytes.Cut(code[length+1:end], []byte(":"))
		if !ok || len(key) == 0 || bytes.ContainsAny(key, " \t\n") {
			break
		}
		text = append(append(append(text, key...), ": "...), bytes.TrimLeft(value, " \t")...)
		length = end
	}
	return length, text, 0, 1
}

// applyMyST applies an option of MyST's; false when it is not one.
func (r *reading) applyMyST(s *Step, a attr) bool {
	if a.key == "load" {
		r.warn(a.at, s.ID, "load has no effect: the code is what stands in the fence", "put the code into the fence")
		return true
	}
	_, ok := mystKeys[a.key]
	return ok || strings.HasPrefix(a.key, "mystnb") || strings.HasPrefix(a.key, ".") // .class: Jupytext's
}

// mystKeys only tell how a cell is shown.
var mystKeys = setOf(
	"align", "caption", "class", "collapsed", "emphasize-lines", "figure", "filename", "format", "height", "image", "label-prefix",
	"lineno-start", "linenos", "number-source-lines", "placeholder", "render", "scrolled", "slideshow", "width",
)
