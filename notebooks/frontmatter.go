package notebooks

import (
	"bytes"
	"sort"
	"strings"
	"unicode/utf8"

	"markmill/notebooks/lazyregexp"

	"go.yaml.in/yaml/v4"
)

// matter is where the front matter is, and where the Markdown begins.
type matter struct {
	mark string // "---", "+++" or ""
	span Span   // with its two marks
	text Span   // between them
	body int    // offset of the first byte of Markdown
}

var (
	yamlKeyLine = lazyregexp.New(`(?m)^[\pL_][\pL\pN_.-]*:(?:[ \t\r]|$)`)
	tomlLine    = lazyregexp.New(`^(?:#|\[|[\w."'-]+[ \t]*=)`)
	foreignLine = lazyregexp.New(`(?m)^(?:jupyter|jupytext|kernelspec):`)
)

// findFrontMatter looks for a block between two lines of --- or +++ at the head of the file. A single --- is a rule,
// and so is a first one with an empty line after it and no key before the second; +++ is TOML only if it looks like it,
// because MyST separates cells with +++. A marker of a region ends the search, so that the text of a region never turns
// a rule of the source into front matter: Strip and Parse agree.
func findFrontMatter(src []byte) matter {
	var m matter
	if bytes.HasPrefix(src, utf8BOM) {
		m.body = len(utf8BOM)
	}
	first := lineEnd(src, m.body)
	mark := string(bytes.TrimRight(src[m.body:first], " \t\r\n"))
	if mark != "---" && mark != "+++" {
		return m
	}
	for at := first; at < len(src); {
		end := lineEnd(src, at)
		line := bytes.TrimRight(src[at:end], " \t\r\n")
		if bytes.HasPrefix(line, []byte(markerHead)) {
			return m
		}
		if string(line) == mark || mark == "---" && string(line) == "..." {
			text := src[first:at]
			if mark == "---" && startsBlank(text) && !yamlKeyLine.Match(text) ||
				mark == "+++" && !tomlLine.Match(bytes.TrimLeft(text, " \t\r\n")) {
				return m
			}
			return matter{mark, Span{m.body, end}, Span{first, at}, end}
		}
		at = end
	}
	return m
}

func startsBlank(text []byte) bool {
	return len(bytes.TrimSpace(text[:lineEnd(text, 0)])) == 0 && len(bytes.TrimSpace(text)) > 0
}

// header is what the keys of other tools say about the file.
type header struct {
	form     Form
	jupytext bool   // every fence of a language is a cell
	lang     string // of the kernel
	node     *yaml.Node
	magics   bool  // Jupytext has commented out what only IPython reads
	invalid  *slip // the YAML cannot be read
}

// readHeader reads the front matter as YAML, and from it which tool's file this is.
func (r *parser) readHeader(m matter) {
	switch m.mark {
	case "+++":
		r.warn(m.span.Start, "", "TOML front matter is left alone: nothing in it has an effect",
			"write YAML between lines of ---")
		return
	case "":
		return
	}
	r.nb.Front.Span = m.span
	src := r.nb.Source
	text := src[m.text.Start:m.text.End]
	node, line, col, msg := yamlMapping(text)
	if msg != "" {
		at := r.offset(m.text.Start, line, col)
		r.header.invalid = &slip{at, "the front matter cannot be read: " + msg, "write it as YAML, key: value"}
		// Jupytext puts a raw cell, whatever is in it, before its own keys.
		own := foreignLine.FindIndex(text)
		if own == nil {
			return
		}
		if node, _, _, msg = yamlMapping(text[own[0]:]); msg != "" {
			r.header.form = FormJupytext
			return
		}
		r.header.read(node)
		return
	}
	r.header.node = node
	r.header.read(node)
}

// offset is the place of a line and column (from 1) of a text that begins at base, which is the head of a line.
func (r *parser) offset(base, line, col int) int {
	src := r.nb.Source
	first := sort.SearchInts(r.nb.places.lines, base+1) - 1
	at := r.nb.places.lines[min(first+line-1, len(r.nb.places.lines)-1)]
	for ; col > 1 && at < len(src) && src[at] != '\n'; col-- {
		_, size := utf8.DecodeRune(src[at:])
		at += size
	}
	return at
}

// read finds the form and the kernel's language.
func (h *header) read(node *yaml.Node) {
	jupyter, jupytext := lookup(node, "jupyter"), lookup(node, "jupytext")
	spec := lookup(node, "kernelspec")
	format := scalar(lookup(lookup(jupytext, "text_representation"), "format_name"))
	if format == "" {
		format = scalar(lookup(lookup(lookup(jupyter, "jupytext"), "text_representation"), "format_name"))
	}
	h.magics = format == "rmarkdown"
	switch {
	case format == "myst" || format == "" && jupyter == nil && spec != nil:
		h.form = FormMyST
	case format == "rmarkdown" || format == "quarto":
		h.form = FormQuarto
	case jupyter != nil && jupyter.Kind == yaml.ScalarNode: // jupyter: python3 is Quarto's
		h.form = FormQuarto
	case jupyter != nil || jupytext != nil:
		h.form, h.jupytext = FormJupytext, true
	case lookup(node, "runme") != nil:
		h.form = FormRunme
	case lookup(node, "execute") != nil || lookup(node, "format") != nil ||
		lookup(node, "output") != nil && !ownOutput(lookup(node, "output")) || lookup(node, "engine") != nil:
		h.form = FormQuarto
	}
	if spec == nil {
		spec = lookup(jupyter, "kernelspec")
	}
	h.lang = kernelLanguage(strings.TrimSpace(scalar(lookup(spec, "language"))))
	if h.lang == "" && spec != nil {
		if name := scalar(lookup(spec, "name")); strings.HasPrefix(name, "python") {
			h.lang = "python"
		}
	}
}

// lookup finds the value of a key; nil without one, or without a mapping.
func lookup(node *yaml.Node, key string) *yaml.Node {
	node = resolve(node)
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return resolve(node.Content[i+1])
		}
	}
	return nil
}

func resolve(node *yaml.Node) *yaml.Node {
	for node != nil && node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

func scalar(node *yaml.Node) string {
	if node == nil || node.Kind != yaml.ScalarNode {
		return ""
	}
	return node.Value
}
