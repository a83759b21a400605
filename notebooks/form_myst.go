package notebooks

import (
	"bytes"
	"strings"
)

// MyST writes ```{code-cell} python, and its options before the code: lines ":key: value", or a block of YAML
// between lines of "---".

// mystOptions finds the options at the head of the code.
func mystOptions(code []byte) options {
	if bytes.HasPrefix(code, []byte("---\n")) {
		for at := 4; at < len(code); {
			end := lineEnd(code, at)
			if bytes.Equal(bytes.TrimRight(code[at:end], " \t\n"), []byte("---")) {
				return options{length: end, yaml: code[4:at], skip: 4}
			}
			at = end
		}
		return options{}
	}
	o := options{mark: ":", pad: 1}
	for o.length < len(code) && code[o.length] == ':' {
		end := lineEnd(code, o.length)
		key, value, ok := bytes.Cut(code[o.length+1:end], []byte(":"))
		if !ok || len(key) == 0 || bytes.ContainsAny(key, " \t\n") {
			break
		}
		o.yaml = append(append(append(o.yaml, key...), ": "...), bytes.TrimLeft(value, " \t")...)
		o.length = end
	}
	return o
}

// applyMyST applies an option of MyST's; false when it is not one.
func (r *parser) applyMyST(s *Step, a attr) bool {
	if a.key == "load" {
		r.warn(a.at, s.ID, "load has no effect: the code is what stands in the fence", "put the code into the fence")
		return true
	}
	_, ok := mystKeys[a.key]
	return ok || strings.HasPrefix(a.key, "mystnb") || strings.HasPrefix(a.key, ".") // .class: Jupytext's
}

// mystKeys only tell how a cell is shown.
var mystKeys = setOf(
	"align", "caption", "class", "collapsed", "emphasize-lines", "figure", "filename", "format", "height", "image",
	"label-prefix",
	"lineno-start", "linenos", "number-source-lines", "placeholder", "render", "scrolled", "slideshow", "width",
)
