package markdown

import (
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
)

// syntax is a form of Markdown: how it spells a step. Of the functions only info and runs are required.
type syntax struct {
	form notebooks.Form

	// info reads an info string, and reports whether it is of the form.
	info func(in *info, h head) bool
	// runs reports whether a fence with such an info string is a step.
	runs func(r *parser, f *blocks.Fence, in *info) bool
	// options finds the options that stand at the head of the code.
	options func(code []byte) options
	// apply applies an option that only this form has, and reports whether it is one.
	apply func(r *parser, s *notebooks.Step, a attr) bool
	// language finds the language of a step.
	language func(r *parser, s *notebooks.Step, f *blocks.Fence)
	// labels says that the options label and id name a step.
	labels bool
}

// syntaxes is the one table of the forms of Markdown. The first that reads an info string has it.
var syntaxes = []syntax{
	mystSyntax,
	marimoSyntax,
	runmeSyntax,
	nativeSyntax,
	quartoSyntax,
	jupytextSyntax,
}

func syntaxOf(form notebooks.Form) syntax {
	for _, s := range syntaxes {
		if s.form == form {
			return s
		}
	}
	return syntax{}
}

// head is an info string, cut at its first word.
type head struct {
	text string // all of it
	base int    // its offset in the source

	// Of ```{word …} …:
	word   string // "" where the first word stands before any brace
	inner  string // behind the word, up to the closing brace
	at     int    // offset of inner in the source
	behind string // what stands behind the closing brace
	closed bool

	// Of ```language …: what stands behind the language, and its offset.
	rest   string
	restAt int
}

// parseInfo reads an info string at offset base.
func parseInfo(text string, base int) info {
	var in info
	h := head{text: text, base: base}
	if strings.HasPrefix(text, "{") {
		h.cutBraces()
	} else {
		end := strings.IndexAny(text+" ", " \t{")
		in.word = text[:end]
		in.lang = strings.ToLower(in.word)
		h.rest = strings.TrimLeft(text[end:], " \t")
		h.restAt = base + len(text) - len(h.rest)
		if h.rest == "" {
			return in
		}
	}
	for _, s := range syntaxes {
		if !s.info(&in, h) {
			continue
		}
		in.form = s.form
		if h.word != "" && !h.closed && s.form != notebooks.FormNative {
			in.wrong = append(in.wrong, slip{base, "the brace of the info string is never closed",
				"add } at the end of the line"})
		}
		break
	}
	return in
}

// cutBraces cuts ```{word inner} behind. {{word}} has no word: Quarto shows it, and does not run it.
func (h *head) cutBraces() {
	if strings.HasPrefix(h.text, "{{") {
		return
	}
	end := closingBrace(h.text)
	if h.closed = end >= 0; h.closed {
		h.behind = h.text[end+1:]
	} else {
		end = len(h.text)
	}
	inner := strings.TrimLeft(h.text[1:end], " \t")
	h.word = inner[:strings.IndexAny(inner+" ", " \t,}")]
	h.inner = inner[len(h.word):]
	h.at = h.base + end - len(h.inner)
}
