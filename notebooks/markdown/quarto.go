package markdown

import (
	"bytes"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
)

// Quarto and R Markdown write ```{python label, key=value} with R values, and lines "#| key: value" before the code.

var quartoSyntax = syntax{
	form: notebooks.FormQuarto,
	info: func(in *info, h head) bool {
		if !notebooks.IsLanguage(h.word) {
			return false
		}
		in.lang = strings.ToLower(h.word)
		text := h.inner
		if in.lang == "wolfram" { // Jupytext's name of it is wolfram language
			text = strings.TrimPrefix(text, " language")
		}
		in.readKnitr(text, h.at+len(h.inner)-len(text))
		return true
	},
	runs:    func(_ *parser, _ *blocks.Fence, in *info) bool { return in.active() },
	options: quartoOptions,
	apply:   applyQuarto,
	labels:  true,
}

// readKnitr reads what follows the language inside the braces.
func (in *info) readKnitr(text string, base int) {
	t := tokens{text: text}
	for first := true; ; first = false {
		t.skip(" \t,")
		if t.done() {
			return
		}
		at := base + t.pos
		switch t.peek() {
		case '#':
			t.pos++
			in.id = mark{t.until(" \t,"), at + 1}
			continue
		case '.':
			t.pos++
			in.tags = append(in.tags, mark{t.until(" \t,"), at + 1})
			continue
		case '"', '\'':
			if first {
				in.attrs = append(in.attrs, attr{key: "label", val: unquote(t.bracketed(" \t,")), at: at})
				continue
			}
		}
		key := t.until(" \t,=")
		t.skip(" \t")
		if t.done() || t.peek() != '=' {
			if first {
				in.attrs = append(in.attrs, attr{key: "label", val: key, at: at})
			} else {
				in.bare = append(in.bare, mark{key, at})
			}
			continue
		}
		t.pos++
		t.skip(" \t")
		start := t.pos
		value := t.bracketed(" \t,")
		if t.pos == start && !t.done() && t.peek() != ',' {
			t.pos++
		}
		if key == "" {
			continue
		}
		in.attrs = append(in.attrs, rAttr(key, value, at))
	}
}

// rAttr reads an R value: TRUE, "text", c("a", "b"). Other expressions stay as they are typed.
func rAttr(key, value string, at int) attr {
	a := attr{key: key, val: value, at: at}
	switch value {
	case "TRUE", "T":
		a.val = "true"
	case "FALSE", "F":
		a.val = "false"
	}
	if inner, ok := strings.CutPrefix(value, "c("); ok && strings.HasSuffix(inner, ")") {
		a.list = []string{}
		t := tokens{text: strings.TrimSuffix(inner, ")")}
		for t.skip(" \t,"); !t.done(); t.skip(" \t,") {
			a.list = append(a.list, unquote(t.bracketed(",")))
		}
		return a
	}
	a.val = unquote(a.val)
	return a
}

func unquote(s string) string {
	t := tokens{text: strings.TrimSpace(s)}
	if v, ok := t.value(""); ok && t.done() {
		return v
	}
	return s
}

// quartoOptions finds the option lines at the head of the code.
func quartoOptions(code []byte) (o options) {
	for _, mark := range []string{"#|", "//|", "--|", "%|"} {
		if !bytes.HasPrefix(code, []byte(mark)) {
			continue
		}
		o.mark, o.pad = mark, len(mark)+1
		for o.length < len(code) && bytes.HasPrefix(code[o.length:], []byte(mark)) {
			end := blocks.LineEnd(code, o.length)
			o.yaml = append(o.yaml, bytes.TrimPrefix(code[o.length+len(mark):end], []byte(" "))...)
			o.length = end
		}
		return o
	}
	return o
}

// applyQuarto applies an option of Quarto or knitr; false when it is not one.
func applyQuarto(r *parser, s *notebooks.Step, a attr) bool {
	is := strings.ToLower(a.val)
	switch a.key {
	case "eval":
		switch is {
		case "false":
			addTag(s, notebooks.TagSkip)
		case "true":
		default:
			r.warn(a.at, s.ID, "eval="+a.val+" is an expression, which is not read; the step runs", "use if= instead")
		}
	case "echo":
		if is == "false" {
			addTag(s, notebooks.TagHideInput)
		}
	case "include":
		if is == "false" {
			addTag(s, notebooks.TagHideInput)
			addTag(s, notebooks.TagHideOutput)
		}
	case "output", "results":
		if is == "false" || is == "hide" {
			addTag(s, notebooks.TagHideOutput)
		}
	case "error":
		if is == "true" {
			addTag(s, notebooks.TagAllowFailure)
		}
	case "engine.opts", "cache":
		if a.key == "engine.opts" || a.val == "true" {
			r.warn(a.at, s.ID, a.key+" has no effect here: the step always runs, by its kernel", "")
		}
	case "purl", "warning", "message", "freeze": // these only change how a chunk is shown
	default:
		return isQuartoKey(a.key)
	}
	return true
}

// isQuartoKey reports whether an option only changes how the chunk is shown.
func isQuartoKey(key string) bool {
	_, ok := quartoKeys[key]
	return ok || hasAnyPrefix([]byte(key), "fig-", "fig.", "tbl-", "tbl.", "lst-", "out.", "code-", "tab.", "attr.",
		"class.", "dev.", "layout-", "cap-", "htmlwidgets")
}

var quartoKeys = setOf(
	"animation.hook", "autodep", "aniopts", "background", "cap", "child", "classes", "code", "collapse", "column",
	"comment", "crop", "dependson", "dev", "dpi", "external", "fullscreen", "highlight", "indent", "interval", "layout",
	"lines", "location", "opts.label", "panel", "prompt", "resize.height", "resize.width", "sanitize", "size", "split",
	"strip.white", "tidy", "title", "subcap", "renderings", "render", "slideshow", "collapsed", "scrolled",
)
