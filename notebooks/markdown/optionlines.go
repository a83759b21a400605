package markdown

import (
	"bytes"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
)

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
