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

// readOptionLines applies the options that Quarto and MyST write at the head of the code, and takes them off it.
func (r *parser) readOptionLines(s *notebooks.Step, f *blocks.Fence, spelled notebooks.Form) {
	o := optionLines(spelled, s.Code)
	if o.length == 0 {
		return
	}
	first := s.CodeLine - 1 + bytes.Count(s.Code[:o.skip], []byte{'\n'}) // index of the line of the text's first line
	place := func(line, col int) int {
		return min(r.nb.LineStart(first+line)+(f.Tick-f.Span.Start)+o.pad+col-1, len(r.nb.Source))
	}
	s.CodeLine += bytes.Count(s.Code[:o.length], []byte{'\n'})
	s.Code = s.Code[o.length:]
	node, line, col, msg := YAMLMapping(o.yaml)
	if msg != "" {
		r.mistake(notebooks.KindSyntax, place(line, col), s.ID, "the options of the step cannot be read: "+msg,
			"write them as YAML, key: value")
		return
	}
	if node == nil {
		return
	}
	var attrs []attr
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		attrs = append(attrs, yamlAttr(key, node.Content[i+1], place(key.Line, key.Column)))
	}
	r.applyAll(s, attrs, spelled)
}

// Options returns the options at the head of the code, as YAML, and how many bytes of the code they take.
func Options(f *notebooks.Part) (length int, yaml []byte) {
	lines := optionLines(f.Form, f.Code)
	return lines.length, lines.yaml
}

// options are the options that Quarto and MyST write at the head of the code of a step.
type options struct {
	length int    // in bytes of the code
	yaml   []byte // their text
	skip   int    // bytes of the code before that text
	mark   string // the prefix of each of its lines
	pad    int    // bytes before each line of the text, mark included
}

func optionLines(form notebooks.Form, code []byte) options {
	if find := syntaxOf(form).options; find != nil {
		return find(code)
	}
	return options{}
}

// QuartoOptions returns the option lines at the head of the code of a cell of Quarto: how many bytes they take, the
// YAML in them, and the mark that each line begins with.
func QuartoOptions(code []byte) (length int, yaml []byte, mark string) {
	lines := quartoOptions(code)
	return lines.length, lines.yaml, lines.mark
}
