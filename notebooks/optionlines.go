package notebooks

import "bytes"

// readOptionLines applies the options that Quarto and MyST write at the head of the code, and takes them off it.
func (r *parser) readOptionLines(s *Step, f *fence, spelled Form) {
	o := optionLines(spelled, s.Code)
	if o.length == 0 {
		return
	}
	first := s.CodeLine - 1 + bytes.Count(s.Code[:o.skip], []byte{'\n'}) // index of the line of the text's first line
	place := func(line, col int) int {
		index := first + line - 1
		if index < 0 || index >= len(r.nb.places.lines) {
			return f.tick
		}
		return min(r.nb.places.lines[index]+(f.tick-f.span.Start)+o.pad+col-1, len(r.nb.Source))
	}
	s.CodeLine += bytes.Count(s.Code[:o.length], []byte{'\n'})
	s.Code = s.Code[o.length:]
	node, line, col, msg := yamlMapping(o.yaml)
	if msg != "" {
		r.mistake(KindSyntax, place(line, col), s.ID, "the options of the step cannot be read: "+msg,
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

// mystLanguage finds the language of a code-cell: the header's kernel knows it best, because the word after the brace
// is often the name of a lexer (ipython3).
func (r *parser) mystLanguage(s *Step, f *fence) {
	typed := s.Lang
	s.Lang = kernelLanguage(typed)
	if r.header.lang != "" && (typed == "" || s.Lang != typed) {
		s.Lang = r.header.lang
	}
	if s.Lang == "" {
		s.Lang = "python" // as Jupytext does
		if !r.guessed {
			r.guessed = true
			r.warn(f.tick, s.ID, "the cell names no language, and the front matter no kernel: it is read as python",
				"write ```{code-cell} python")
		}
	}
}
