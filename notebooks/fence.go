package notebooks

// Fence is a fenced block of code of a Markdown notebook, in no list and no quote.
type Fence struct {
	Span Span // the whole fence, from the head of its opening line, its newline included
	Info string
	Form Form   // how the info string is spelled; "" for a bare language
	Lang string // as typed, in lower case
	Code []byte // without the indentation of the fence, option lines included; lines end with \n
	Step *Step  // that the fence is; nil for prose and for a block that declares parameters
}

// Options returns the options at the head of the code, as YAML, and how many bytes of the code they take.
func (f *Fence) Options() (length int, yaml []byte) {
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

func optionLines(form Form, code []byte) options {
	switch form {
	case FormQuarto:
		return quartoOptions(code)
	case FormMyST:
		return mystOptions(code)
	}
	return options{}
}

// QuartoOptions returns the option lines at the head of the code of a cell of Quarto: how many bytes they take, the
// YAML in them, and the mark that each line begins with.
func QuartoOptions(code []byte) (length int, yaml []byte, mark string) {
	lines := quartoOptions(code)
	return lines.length, lines.yaml, lines.mark
}
