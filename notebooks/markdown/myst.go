package markdown

import (
	"bytes"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
)

// MyST writes ```{code-cell} python, and its options before the code: lines ":key: value", or a block of YAML
// between lines of "---".

var mystSyntax = syntax{
	form: notebooks.FormMyST,
	info: func(in *info, h head) bool {
		if h.word != "code-cell" {
			return false
		}
		in.lang = strings.ToLower(strings.TrimSpace(h.behind))
		return true
	},
	runs:     func(_ *parser, _ *blocks.Fence, in *info) bool { return in.active() },
	options:  mystOptions,
	apply:    applyMyST,
	language: mystLanguage,
	labels:   true,
}

// mystOptions finds the options at the head of the code.
func mystOptions(code []byte) options {
	if bytes.HasPrefix(code, []byte("---\n")) {
		for at := 4; at < len(code); {
			end := blocks.LineEnd(code, at)
			if bytes.Equal(bytes.TrimRight(code[at:end], " \t\n"), []byte("---")) {
				return options{length: end, yaml: code[4:at], skip: 4}
			}
			at = end
		}
		return options{}
	}
	o := options{mark: ":", pad: 1}
	for o.length < len(code) && code[o.length] == ':' {
		end := blocks.LineEnd(code, o.length)
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
func applyMyST(r *parser, s *notebooks.Step, a attr) bool {
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

// mystLanguage finds the language of a code-cell: the header's kernel knows it best, because the word after the brace
// is often the name of a lexer (ipython3).
func mystLanguage(r *parser, s *notebooks.Step, f *blocks.Fence) {
	typed := s.Lang
	s.Lang = notebooks.KernelLanguage(typed)
	if r.header.lang != "" && (typed == "" || s.Lang != typed) {
		s.Lang = r.header.lang
	}
	if s.Lang == "" {
		s.Lang = "python" // as Jupytext does
		if !r.guessed {
			r.guessed = true
			r.warn(f.Tick, s.ID, "the cell names no language, and the front matter no kernel: it is read as python",
				"write ```{code-cell} python")
		}
	}
}
